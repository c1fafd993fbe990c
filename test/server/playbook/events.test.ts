/** The event log of playbooks: the documented words, stable ids, pages whose cost is proportional to their content. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Tools } from '../../../src/tools/tools.ts'
import type { Worker } from '../../../src/worker/worker.ts'
import { deploy } from '../native/stage.ts'
import { onBothStores, type Serving, until } from '../serving.ts'
import { log, playbook, standing, start, worker } from './stage.ts'

const SECRET = 'swordfish-4711-secret'

onBothStores('the event log', (stage) => {
  let s: Serving
  let hands: Worker
  let web: Server
  let url: string
  let asked = 0
  let hold: (() => void) | null = null
  beforeAll(async () => {
    web = createServer((request, response) => {
      asked++
      if (request.url === '/slow') {
        hold = () => response.end('{}')
        return
      }
      response.statusCode = request.url === '/busy' && asked < 3 ? 503 : 200
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ asked }))
    })
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
    s = await stage.serve()
    hands = await worker(s, Tools.standard({ allowPrivate: ['127.0.0.1'] }))
  }, 60_000)
  afterAll(async () => {
    await hands.stop()
    web.close()
  })

  const words = (events: readonly any[]) =>
    events.map(({ event_type: type, step, iteration }) =>
      [type, step, iteration].filter((part) => part !== null).join(' '),
    )

  it('shows a retried step attempt by attempt, and where its tokens went', async () => {
    asked = 0
    const id = await start(
      s,
      'retrying',
      `workflow:
  - step: fetch
    tool:
      - name: get
        kind: http
        url: ${url}/busy
        spec:
          policy:
            rules:
              - { when: "{{ output.http.status >= 500 }}", then: { do: retry, attempts: 5, delay: 0 } }
              - { else: { then: { do: continue } } }
    next: { arcs: [{ step: never, when: "{{ false }}" }, { step: route }] }
  - { step: never, tool: { kind: noop } }
  - { step: route, tool: { kind: noop } }
`,
    )
    await standing(s, id, 'success')
    const events = await log(s, id)
    expect(words(events)).toEqual([
      'playbook.execution.requested',
      'playbook.started',
      'workflow.started',
      'step.scheduled fetch',
      'step.started fetch',
      'task.started fetch',
      'task.attempt.started fetch',
      'task.attempt.failed fetch',
      'policy.task.evaluated fetch',
      'task.attempt.started fetch',
      'task.attempt.failed fetch',
      'policy.task.evaluated fetch',
      'task.attempt.started fetch',
      'task.attempt.done fetch',
      'policy.task.evaluated fetch',
      'task.done fetch',
      'step.done fetch',
      'next.evaluated fetch',
      'step.scheduled route',
      'step.started route',
      'step.done route',
      'workflow.finished',
      'playbook.finished',
    ])
    const of = (type: string) => events.filter(({ event_type }) => event_type === type)
    expect(of('task.attempt.failed')[0]).toMatchObject({
      source: 'worker',
      attempt: 1,
      status: 'error',
      payload: { kind: 'http', http: { status: 503 }, error: { kind: 'server_error', retryable: true } },
    })
    expect(of('task.attempt.done')[0]).toMatchObject({ attempt: 3, status: 'success' })
    expect(of('next.evaluated')[0]).toMatchObject({
      payload: { mode: 'exclusive', arcs: 2, selected: [1], steps: ['route'] },
    })
    const [scheduled] = of('step.scheduled')
    const ofStep = events.filter(({ step }) => step === 'fetch')
    expect(new Set(ofStep.map(({ step_run_id }) => step_run_id))).toEqual(new Set([scheduled.step_run_id]))
    for (const { timestamp } of events) expect(new Date(timestamp).toISOString()).toBe(timestamp)
  }, 60_000)

  it('shows a loop item by item; pages contain the same events with the same ids, and read little more than they show', async () => {
    const id = await start(
      s,
      'looping',
      `workload: { n: 120 }
workflow:
  - step: each
    loop: { in: "{{ range(workload.n) | list }}", iterator: i, spec: { mode: parallel, max_in_flight: 10 } }
    spec: { policy: { failure: { mode: best_effort } } }
    tool: { kind: shell, cmd: "test {{ iter.i }} -ne 7" }
`,
    )
    const { execution } = await standing(s, id, 'success')
    expect(execution.counts).toMatchObject({ steps: 1, failed: 1, succeeded: expect.any(Number) })
    const { body: steps } = await s.get(`/v1/instances/${id}/steps`)
    expect(steps.steps[0]).toMatchObject({
      name: 'each',
      kind: 'each',
      state: 'completed',
      loop: { total: 120, success: 119, failed: 1, open: 0 },
    })
    const whole = await log(s, id)
    const count = (type: string) => whole.filter(({ event_type }) => event_type === type).length
    expect([
      count('loop.started'),
      count('loop.iteration.scheduled'),
      count('loop.iteration.started'),
      count('loop.iteration.done'),
      count('loop.iteration.failed'),
      count('loop.done'),
      count('step.done'),
    ]).toEqual([1, 120, 120, 119, 1, 1, 1])
    expect(whole.find(({ event_type }) => event_type === 'loop.done').payload.stats).toEqual({
      total: 120,
      success: 119,
      failed: 1,
    })
    expect(new Set(whole.map(({ event_id }) => event_id)).size).toBe(whole.length)
    expect(await log(s, id, 7)).toEqual(whole)
    expect((await log(s, id, 5, '&types=loop.iteration.failed,loop.done')).map(({ iteration }) => iteration)).toEqual([
      7,
      null,
    ])
    let read = 0
    const { instanceEvents } = s.store.read
    s.store.read.instanceEvents = async (params) => {
      const lines = await instanceEvents.call(s.store.read, params)
      read += lines.length
      return lines
    }
    try {
      const { body } = await s.get(`/v1/instances/${id}/execution-events?limit=10&after=100`)
      expect(body.events).toHaveLength(10)
      expect(read).toBeLessThanOrEqual(50)
    } finally {
      s.store.read.instanceEvents = instanceEvents
    }
  }, 90_000)

  it('shows work in flight before it is in the log, with the id it will have there', async () => {
    const id = await start(s, 'slow', `workflow:\n  - { step: wait, tool: { kind: http, url: ${url}/slow } }\n`)
    const look = async () => (await s.get(`/v1/instances/${id}/execution-events`)).body
    const open = await until(look, ({ in_flight }) => in_flight.length > 0)
    expect(open.in_flight).toMatchObject([{ event_type: 'step.started', step: 'wait', status: 'in_progress' }])
    expect(words(open.events)).not.toContain('step.started wait')
    hold?.()
    await standing(s, id, 'success')
    const events = await log(s, id)
    const began = events.filter(({ event_type }) => event_type === 'step.started')
    expect(began.map(({ event_id }) => event_id)).toEqual([open.in_flight[0].event_id])
    expect((await look()).in_flight).toEqual([])
  }, 60_000)

  it('of a subplaybook is separate; that of its parent shows the step', async () => {
    const inner = await deploy(
      s,
      playbook('inner', 'workflow:\n  - { step: work, tool: { kind: shell, cmd: exit 5 } }\n'),
    )
    expect(inner.status).toBe(201)
    const id = await start(
      s,
      'outer',
      'workflow:\n  - { step: sub, tool: { kind: playbook, path: inner, return_step: work } }\n',
    )
    const { children } = await standing(s, id, 'failed')
    expect(words(await log(s, id))).toEqual([
      'playbook.execution.requested',
      'playbook.started',
      'workflow.started',
      'step.scheduled sub',
      'step.started sub',
      'step.failed sub',
      'workflow.finished',
      'playbook.finished',
    ])
    const child = await log(s, children[0].id)
    expect(child[0]).toMatchObject({ event_type: 'playbook.execution.requested', parent_id: id })
    expect(words(child)).toContain('step.failed work')
  }, 60_000)

  it('and all other output of the server keeps secrets hidden', async () => {
    process.env['PETREL_TEST_SECRET'] = SECRET
    const id = await start(
      s,
      'secretive',
      `keychain: [{ name: vault, kind: env, map: { token: PETREL_TEST_SECRET } }]
workflow:
  - step: leak
    tool:
      - name: tell
        kind: shell
        cmd: "echo {{ keychain.vault.token }}; echo {{ keychain.vault.token }} >&2; exit 3"
`,
    )
    await standing(s, id, 'failed')
    for (const path of ['', '/events', '/execution-events', '/steps', '/why', '/results/leak', '/net'])
      expect((await s.get(`/v1/instances/${id}${path}`)).text).not.toContain(SECRET)
    const { runs } = (await s.get(`/v1/instances/${id}`)).body
    for (const path of ['', '/events'])
      expect((await s.get(`/v1/runs/${runs[0].id}${path}`)).text).not.toContain(SECRET)
    delete process.env['PETREL_TEST_SECRET']
  }, 60_000)
})
