/** Two engines on one database share a bulk operation. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sleep } from '../../src/kernel/sleep.ts'
import type { Operation } from '../../src/model/bulk/rows.ts'
import { net, node, PLACES } from '../engine/drive.ts'
import { TwoEngines } from '../engine/two-engines.ts'

const ORDER = { tenant: null, actor: 'ada', reason: null, target: 'instances', parameters: {} } as const
/** More than one page of the search, and many portions. */
const MANY = process.env['PETREL_TEST_FULL'] ? 10_000 : 700

describe.each(PLACES)('two engines and one bulk operation, on $name', (place) => {
  let pair: TwoEngines
  let byFirst: number
  beforeEach(async () => {
    byFirst = 0
    const probe = (point: string): void => {
      if (point === 'bulk-item') byFirst++
    }
    pair = await TwoEngines.open(place, { probe })
  })
  afterEach(async () => {
    await pair.stop()
    await pair.drop()
  })

  const once = net([node('pay')], { name: 'order' })
  const start = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 1_000) {
      await pair.engines[0].start(Array.from({ length: Math.min(left, 1_000) }, () => ({ net: once })))
    }
  }
  const get = async (id: string): Promise<Operation> => (await pair.engines[1].bulk.get(id)) as Operation

  it('each item is changed once, and both take part', async () => {
    await start(MANY)
    const { id } = await pair.engines[0].bulk.create({ ...ORDER, action: 'cancel', query: 'state:running', rate: null })
    const work = async (n: 0 | 1): Promise<void> => {
      while ((await get(id)).state === 'running') {
        await pair.engines[n].sweep()
        await sleep(1)
      }
    }
    await Promise.all([work(0), work(1)])
    expect(await get(id)).toMatchObject({ state: 'completed', matched: MANY, succeeded: MANY, refused: 0, failed: 0 })
    expect(await pair.store.read.countInstances()).toEqual(new Map([['cancelled', MANY]]))
    expect(byFirst).toBeGreaterThan(0)
    expect(byFirst).toBeLessThan(MANY)
  }, 300_000)

  it('the rate holds for both together', async () => {
    await start(5)
    const { id } = await pair.engines[0].bulk.create({ ...ORDER, action: 'cancel', query: 'state:running', rate: 1 })
    for (let minute = 1; minute <= 5; minute++) {
      await Promise.all(pair.engines.map((engine) => engine.sweep()))
      await Promise.all(pair.engines.map((engine) => engine.sweep()))
      expect((await get(id)).succeeded).toBe(minute)
      await pair.store.moveClock(minute * 60_000)
    }
    expect(await get(id)).toMatchObject({ state: 'completed', succeeded: 5 })
  })

  it('a stop by one stops the other', async () => {
    await start(3)
    const { id } = await pair.engines[0].bulk.create({ ...ORDER, action: 'cancel', query: 'state:running', rate: 1 })
    await pair.engines[1].sweep()
    await pair.engines[0].bulk.change({ id, state: 'stopped', actor: 'bob' })
    await pair.store.moveClock(600_000)
    await pair.engines[1].sweep()
    expect(await get(id)).toMatchObject({ state: 'stopped', succeeded: 1, pending: 2 })
    await pair.engines[1].bulk.change({ id, state: 'running', actor: 'bob' })
    await pair.engines[0].sweep()
    expect(await get(id)).toMatchObject({ state: 'running', succeeded: 2 })
  })
})
