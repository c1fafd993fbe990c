/** Playbooks on a server: deployed as text, started by name, executed by a worker with tools in this process. */
import { expect } from 'vitest'
import { makeStepHandler } from '../../../src/notations/playbook/runtime/handler.ts'
import { stepTypes } from '../../../src/notations/playbook/runtime/program.ts'
import { Tools } from '../../../src/tools/tools.ts'
import { Handlers } from '../../../src/worker/handlers.ts'
import { Worker } from '../../../src/worker/worker.ts'
import { deploy } from '../native/stage.ts'
import { type Serving, until } from '../serving.ts'

export function playbook(name: string, sections: string): string {
  return `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: ${name} }\n${sections}`
}

export async function worker(s: Serving, tools: Tools = Tools.standard()): Promise<Worker> {
  const handlers = new Handlers()
  const handler = makeStepHandler({ tools, secrets: { env: ['PETREL_TEST_*'] } })
  for (const type of stepTypes(tools.kinds())) handlers.add(type, handler)
  return Worker.start(s.engine.workers, { handlers })
}

/** Deploys it and starts it by its name. */
export async function start(s: Serving, name: string, sections: string, input?: unknown): Promise<string> {
  const deployed = await deploy(s, playbook(name, sections))
  expect([deployed.status, deployed.body.error]).toEqual([201, undefined])
  const { status, body } = await s.post('/v1/instances', { workflow: name, ...(input === undefined ? {} : { input }) })
  expect([status, body.error]).toEqual([201, undefined])
  return body.id
}

/** Polls until the execution is in this state. */
export async function standing(s: Serving, id: string, ...statuses: readonly string[]): Promise<any> {
  const look = async () => (await s.get(`/v1/instances/${id}`)).body
  const found = await until(look, ({ execution }) => statuses.includes(execution.status), 30_000)
  expect(statuses).toContain(found.execution.status)
  return found
}

/** The whole log, page by page. */
export async function log(s: Serving, id: string, limit = 1000, more = ''): Promise<readonly any[]> {
  const events: any[] = []
  for (let after = ''; ; ) {
    const { status, body } = await s.get(`/v1/instances/${id}/execution-events?limit=${limit}${after}${more}`)
    expect(status).toBe(200)
    events.push(...body.events)
    if (!body.has_more) return events
    after = `&after=${body.next_after}`
  }
}
