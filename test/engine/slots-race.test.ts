/**
 * Execution slots with several processes: the limit is never exceeded, no instance is forgotten, and no deadlock
 * occurs.
 */
import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { EngineOptions } from '../../src/engine/api.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { quotaKey } from '../../src/model/limits.ts'
import { net, node, PLACES } from './drive.ts'
import { TwoEngines } from './two-engines.ts'

const one = net([node('a')])
const KEY = quotaKey('test', null)

/** A process that dies as soon as it is about to start a queued instance. */
const DIES: Partial<EngineOptions> = {
  probe: (point) => {
    if (point === 'before-dequeue') throw new Error('killed')
  },
}

describe.each(PLACES)('execution slots of two processes on $name', (place) => {
  let pair: TwoEngines
  afterEach(() => pair.drop())

  const state = async (id: string): Promise<string | undefined> => (await pair.store.read.instance(id))?.state

  it('one dies between an end and the next start: the sweep of the other starts the next instance', async () => {
    pair = await TwoEngines.open(place, DIES)
    const [first, other] = pair.engines
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push(...(await first.start([{ net: one, slots: 1 }])).map(({ id }) => id))
    const [, second, third] = ids as [string, string, string]
    await pair.succeed(first, await pair.fetch(first, 'w', 1, 30_000))
    expect([await state(second), await pair.store.sweep.freeQuotas({ limit: 10 })]).toEqual(['queued', [KEY]])
    await other.sweep()
    expect([await state(second), await state(third)]).toEqual(['running', 'queued'])
    expect(await pair.store.sweep.freeQuotas({ limit: 10 })).toEqual([])
    expect(await pair.store.read.doctor()).toEqual([])
    await pair.stop()
  })

  it('a limit raised by one starts instances that the other has queued', async () => {
    pair = await TwoEngines.open(place)
    const [first, other] = pair.engines
    const started = await first.start(Array.from({ length: 4 }, () => ({ net: one, slots: 1 })))
    await other.setLimit({ key: KEY, maxConcurrent: 3 })
    const states = (): Promise<(string | undefined)[]> => Promise.all(started.map(({ id }) => state(id)))
    await vi.waitFor(async () => expect(await states()).toEqual(['running', 'running', 'running', 'queued']), 10_000)
    await pair.stop()
  })

  it('both start, work, cancel and admit at once: the limit is never exceeded, and every instance gets its turn', async () => {
    pair = await TwoEngines.open(place)
    // A limited queue as well: every transaction must lock both rows in the same order.
    await pair.engines[0].setLimit({ key: 'queue:default', maxConcurrent: 50 })
    expect(await race(pair, { instances: 80, slots: 3 })).toBe(3)
    const counts = await pair.store.read.countInstances()
    expect((counts.get('completed') ?? 0) + (counts.get('cancelled') ?? 0)).toBe(80)
    expect(await pair.store.read.doctor()).toEqual([])
    expect(new Map((await pair.store.read.limits()).map(({ key, inUse }) => [key, inUse]))).toEqual(
      new Map([
        ['queue:default', 0],
        [KEY, 0],
      ]),
    )
    await pair.stop()
    if (place.name === 'postgres') expect(await deadlocks(pair.url)).toBe(0)
  })

  it('the very first starts of a workflow, at the same moment in both, respect the limit', async () => {
    pair = await TwoEngines.open(place)
    const starts = Array.from({ length: 12 }, (_, i) => (pair.engines[i % 2] as Engine).start([{ net: one, slots: 1 }]))
    await Promise.all(starts)
    expect(await pair.store.read.countInstances()).toEqual(
      new Map([
        ['running', 1],
        ['queued', 11],
      ]),
    )
    expect(await pair.store.read.doctor()).toEqual([])
    await pair.stop()
  })
})

/** Both start and both work until all have ended; every tenth is cancelled, in any state. */
async function race(pair: TwoEngines, p: { readonly instances: number; readonly slots: number }): Promise<number> {
  let most = 0
  let over = false
  const look = async (engine: Engine): Promise<void> => {
    const counts = await engine.queries.countInstances()
    const executing = ['running', 'waiting', 'cancelling', 'compensating'].map((state) => counts.get(state) ?? 0)
    most = Math.max(
      most,
      executing.reduce((sum, n) => sum + n, 0),
    )
  }
  const work = async (engine: Engine, holder: string): Promise<void> => {
    while (!over) {
      const runs = await pair.fetch(engine, holder, 2, 50)
      await look(engine)
      await pair.succeed(engine, runs)
    }
  }
  const engineOf = (i: number): Engine => pair.engines[i % 2] as Engine
  const starts = Array.from({ length: p.instances }, async (_, i) => {
    const [started] = await engineOf(i).start([{ net: one, slots: p.slots }])
    const id = (started as { id: string }).id
    // It may have ended before.
    if (i % 10 === 9)
      await engineOf(i + 1)
        .cancelInstance({ id, actor: null })
        .catch(() => undefined)
    await engineOf(i).ended({ id, kind: 'instance' })
  })
  const working = pair.engines.flatMap((engine, i) => [work(engine, `a${i}`), work(engine, `b${i}`)])
  await Promise.all(starts)
  over = true
  await Promise.all(working)
  return most
}

async function deadlocks(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
    return Number(rows[0].deadlocks)
  } finally {
    await client.end()
  }
}
