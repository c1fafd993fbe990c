/** Shared by the tests of the native API: workflows to start, and keys to send. */

import { expect } from 'vitest'
import type { Json } from '../../../src/net/net.ts'
import type { Scope } from '../../../src/operations/caller.ts'
import { keyOf } from '../keys.ts'
import type { Reply, Serving } from '../serving.ts'

export const MISSING = '01890000-0000-7000-8000-000000000000'

export const YAML = { 'content-type': 'application/yaml' }

export function key(
  s: Serving,
  subject: string,
  scopes: readonly Scope[],
  tenant: string | null = null,
): Promise<Record<string, string>> {
  return keyOf(s, subject, tenant, scopes)
}

/** A chain of steps such as `pay`, `ship`. A step called `ask` is a gate. */
export function workflow(
  name: string,
  more: { version?: string; trigger?: string; steps?: readonly string[] } = {},
): string {
  const { version, trigger, steps = ['pay', 'ship'] } = more
  return [
    'apiVersion: ioa.dev/v0.2',
    'kind: Workflow',
    `metadata: { name: ${name}${version === undefined ? '' : `, version: "${version}"`} }`,
    'spec:',
    '  timeout: 1h',
    ...(trigger === undefined ? [] : [`  trigger: ${trigger}`]),
    '  steps:',
    ...steps.map((step, i) => {
      const after = i === 0 ? '' : `, dependsOn: [${steps[i - 1]}]`
      const what = step === 'ask' ? 'approval: true, timeout: 1d' : `uses: ${name}.${step}, timeout: 1m`
      return `    - { name: ${step}, ${what}${after} }`
    }),
    '',
  ].join('\n')
}

export async function deploy(s: Serving, text: string, headers: Record<string, string> = {}): Promise<Reply> {
  return s.ask('POST', '/v1/definitions', { body: text, headers: { ...YAML, ...headers } })
}

/** Executes the due work of these types, once each, until nothing is left. */
export async function work(s: Serving, outcomes: { readonly [type: string]: Json | Error } = {}): Promise<string[]> {
  const done: string[] = []
  for (;;) {
    const runs = await s.engine.leases.fetch({
      queues: null,
      types: null,
      limit: 10,
      holder: 'hand',
      runtime: null,
      tenant: null,
      leaseMs: () => 60_000,
      waitMs: 0,
    })
    if (runs.length === 0) return done
    for (const run of runs) {
      const outcome = outcomes[run.type] ?? null
      done.push(run.type)
      await s.engine.leases.settle([
        {
          runId: run.id,
          holder: 'hand',
          attempt: null,
          outcome:
            outcome instanceof Error
              ? { kind: 'failed', how: 'discard', error: { code: 'broken', message: outcome.message } }
              : { kind: 'succeeded', result: outcome },
        },
      ])
    }
  }
}

/** Everything that the request could have changed. */
export async function everything(s: Serving): Promise<unknown> {
  const { read, definitions } = s.store
  const list = { tenant: null, name: null, dialect: null, limit: 1000, before: null }
  const instances = await read.listInstances({ ...list, states: null, rootsOnly: false })
  const histories = await Promise.all(
    instances.map(({ id }) => read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })),
  )
  return { instances, histories, definitions: await definitions.list(list) }
}

/** Starts `order`, sends a request that must be refused, and checks that nothing has changed. */
export function requests(serving: () => Serving): {
  start(body?: Record<string, unknown>): Promise<string>
  look(id: string): Promise<any>
  unchanged(ask: () => Promise<Reply>): Promise<Reply>
} {
  return {
    async start(body = {}) {
      const { status, body: made } = await serving().post('/v1/instances', { workflow: 'order', ...body })
      expect([status, made.error]).toEqual([201, undefined])
      return made.id
    },
    look: async (id) => (await serving().get(`/v1/instances/${id}`)).body,
    async unchanged(ask) {
      const before = await everything(serving())
      const reply = await ask()
      expect(await everything(serving())).toEqual(before)
      return reply
    },
  }
}
