/** Two processes on one database go back at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engine/engine.ts'
import type { EachWork } from '../../src/net/net.ts'
import { net, node, ONCE, PLACES, run } from './drive.ts'
import { TwoEngines } from './two-engines.ts'

const SLOW = { ...ONCE, maxAttempts: 3, initialMs: 3_600_000, maxMs: 3_600_000 }

describe.each(PLACES)('two processes on one $name database', (place) => {
  let pair: TwoEngines
  let engines: readonly [Engine, Engine]
  beforeEach(async () => {
    pair = await TwoEngines.open(place)
    engines = pair.engines
  })
  afterEach(async () => {
    expect(await pair.store.read.doctor()).toEqual([])
    await pair.stop()
    await pair.drop()
  })

  async function fail(engine: Engine, id: string, how: 'retry' | 'discard'): Promise<void> {
    const outcome = { kind: 'failed', how, error: { code: 'broken', message: 'broken' } } as const
    const [settled] = await engine.leases.settle([{ runId: id, holder: null, attempt: null, outcome }])
    if (settled instanceof Error) throw settled
  }

  it('a retry from a step under one key starts once; what one process carries over, the other continues', async () => {
    const [a, b] = engines
    const flow = net([node('a', ['b']), node('b', ['c']), node('c', [], { retry: ONCE })])
    const [made] = await a.start([{ net: flow }])
    const id = made?.id as string
    for (const engine of [a, b]) await pair.succeed(engine, await pair.fetch(engine, 'w', 1, 0))
    await fail(b, (await pair.fetch(b, 'w', 1, 0))[0]?.id as string, 'discard')
    const asked = { id, actor: null, startKey: 'again', from: { step: 'b' }, args: null }
    const retries = await Promise.all([...engines, ...engines].map((engine) => engine.retryInstance(asked)))
    expect(new Set(retries.map((retry) => retry.id)).size).toBe(1)
    expect(retries.filter(({ created }) => created)).toHaveLength(1)
    const retry = retries[0]?.id as string
    const ran: (string | null)[] = []
    for (const engine of [b, a]) {
      const runs = await pair.fetch(engine, 'w', 10, 0)
      ran.push(...runs.map((row) => row.node))
      await pair.succeed(engine, runs)
    }
    expect(ran).toEqual(['b', 'c'])
    expect((await pair.store.read.instance(retry))?.state).toBe('completed')
  })

  it('a failed item is done again once, in whichever process it is asked for', async () => {
    const [a, b] = engines
    const work: EachWork = { kind: 'each', items: '[0, 1]', body: run('item'), maxInFlight: null, failFast: false }
    await a.start([{ net: net([node('l', [], { work, retry: ONCE })]) }])
    const [first, second] = await pair.fetch(b, 'w', 2, 0)
    const runId = first?.id as string
    await fail(b, runId, 'discard')
    const redriven = await Promise.allSettled(engines.map((engine) => engine.redrive({ runId, actor: null })))
    expect(redriven.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await pair.succeed(a, [second as never])
    await pair.succeed(b, await pair.fetch(b, 'w', 1, 0))
    expect(await pair.store.read.countInstances()).toEqual(new Map([['completed', 1]]))
  })

  it('a wait is cut short once', async () => {
    const [a] = engines
    await a.start([{ net: net([node('a', [], { retry: SLOW })]) }])
    const [held] = await pair.fetch(a, 'w', 1, 0)
    const id = held?.id as string
    await fail(a, id, 'retry')
    const due = await Promise.allSettled(engines.map((engine) => engine.retryNow({ id, actor: null })))
    expect(due.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect((await pair.store.read.runHistory(id)).filter(({ type }) => type === 'run.due_now')).toHaveLength(1)
  })
})
