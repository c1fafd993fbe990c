import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import type { EnqueueParams } from '../../src/model/enqueue.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { openStore } from '../../src/store/open.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { freshDatabase } from '../services.ts'
import { Drive, net, node, PLACES, run } from './drive.ts'

const FULL = process.env['PETREL_TEST_FULL'] !== undefined

describe.each(PLACES)('fair sharing between the keys of a queue on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(() => d.close())

  const enqueue = (key: string | null, count: number, rest: Partial<EnqueueParams> = {}) =>
    d.engine.enqueue(
      Array.from({ length: count }, () => ({
        type: 'x',
        payload: key,
        ...(key === null ? {} : { fairKey: key }),
        ...rest,
      })),
    )
  const keysOf = (runs: readonly Delivery[]) => runs.map(({ payload }) => JSON.parse(payload) as string)
  const claim = async (limit: number) => keysOf(await d.claim(limit))
  const weigh = (key: string, weight: number) =>
    d.engine.records.settings.putFairWeight({ queue: 'default', key, weight })

  it('serves a key that came late between the runs of one that came first', async () => {
    await enqueue('a', 1_000)
    await enqueue('b', 3)
    expect(await claim(8)).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'a', 'a'])
  })

  it('continues where the last claim stopped, whatever the size of the claims', async () => {
    for (const key of ['a', 'b', 'c']) await enqueue(key, 50)
    const served: string[] = []
    for (const limit of [1, 1, 2, 5, 1, 7, 4]) served.push(...(await claim(limit)))
    expect(served.join('')).toBe('abc'.repeat(7))
  })

  it('gives a key as many runs in its turn as it weighs, also in the middle of a turn', async () => {
    for (const key of ['a', 'b', 'c']) await enqueue(key, 50)
    await weigh('b', 3)
    const served: string[] = []
    for (const limit of [2, 1, 3, 10, 4]) served.push(...(await claim(limit)))
    expect(served.join('')).toBe('abbbc'.repeat(4))
    await weigh('b', 1)
    expect((await claim(6)).join('')).toBe('abcabc')
  })

  it('keeps priorities above keys, and the order of a key by due time', async () => {
    await enqueue('a', 3)
    await enqueue('b', 2, { priority: 1 })
    await enqueue('a', 1, { payload: 'a last' })
    expect(await claim(5)).toEqual(['b', 'b', 'a', 'a', 'a'])
    expect(await claim(5)).toEqual(['a last'])
  })

  it('shares across the types that a worker takes', async () => {
    await enqueue('a', 10)
    await enqueue('b', 2, { type: 'y' })
    expect((await claim(4)).join('')).toBe('abab')
    d.session = await d.newSession({ types: ['y'] })
    expect(await claim(4)).toEqual([])
  })

  it('a run without a key keeps the place that its due time gives it', async () => {
    await enqueue('a', 2)
    await enqueue(null, 1)
    await enqueue('a', 2)
    await enqueue('b', 1)
    expect((await claim(4)).map(String).sort()).toEqual(['a', 'a', 'b', 'null'])
    expect(await claim(4)).toEqual(['a', 'a'])
  })

  it('a run that is due later waits for its time, and holds no place before', async () => {
    await enqueue('a', 4)
    await enqueue('b', 2, { delayMs: 60_000 })
    expect((await claim(2)).join('')).toBe('aa')
    await d.pass(61_000)
    expect((await claim(4)).join('')).toBe('baba')
  })

  it('a returned run is the first of its key again; a retried one takes its turn when it is due', async () => {
    const retry = { initialMs: 1_000, jitter: 0 }
    await enqueue('a', 3, { retry })
    await enqueue('b', 3)
    const [first] = await d.claim(2)
    await d.session.settle({
      delivery: first as Delivery,
      reportId: 'back',
      startedAt: null,
      outcome: { kind: 'released' },
      wantNext: false,
    })
    const [again] = await d.claim(1)
    expect(again?.runId).toBe(first?.runId)
    await d.fail(again as Delivery, {})
    expect((await claim(4)).join('')).toBe('baba')
    await d.pass(1_500)
    const [retried] = await d.claim(1)
    expect(retried).toMatchObject({ runId: first?.runId })
  })

  it('a key at its limit is passed by without losing the turns of the others', async () => {
    await d.engine.setLimit({ key: 'key:one', maxConcurrent: 1, ratePer: null, periodMs: null })
    await enqueue('a', 5, { limitKey: 'one' })
    for (const key of ['b', 'c']) await enqueue(key, 5)
    expect((await claim(5)).toSorted().join('')).toBe('abbcc')
    expect((await claim(4)).toSorted().join('')).toBe('bbcc')
  })

  it('a limit of the queue below the size of claims starves no key', async () => {
    await d.engine.setLimit({ key: 'queue:default', maxConcurrent: 2, ratePer: null, periodMs: null })
    for (const key of ['a', 'b', 'c']) await enqueue(key, 20)
    const served: string[] = []
    for (let i = 0; i < 9; i++) {
      const runs = await d.claim(3)
      served.push(...keysOf(runs))
      for (const each of runs) await d.succeed(each)
    }
    expect(served.join('')).toBe('abc'.repeat(6))
  })

  it('hands out nothing of a paused queue, and continues with the same key afterwards', async () => {
    for (const key of ['a', 'b', 'c']) await enqueue(key, 5)
    expect(await claim(1)).toEqual(['a'])
    await d.engine.pauseQueue({ queue: 'default', paused: true, actor: null })
    expect(await claim(5)).toEqual([])
    await d.engine.pauseQueue({ queue: 'default', paused: false, actor: null })
    expect(await claim(2)).toEqual(['b', 'c'])
  })

  it('a step with a key is not handed to the worker of the step before while others wait for their turn', async () => {
    const work = (key: string) => ({ work: run('x', { fairKey: key }) })
    const chain = (key: string) => d.start({ net: net([node('one', ['two'], work(key)), node('two', [], work(key))]) })
    await chain('a')
    const [only] = await d.claim(10)
    const alone = await d.succeed(only as Delivery, null, true)
    expect(alone.next?.node).toBe('two')
    await d.succeed(alone.next as Delivery)
    await chain('a')
    const first = await d.claimOne()
    await enqueue('b', 1)
    expect((await d.succeed(first, null, true)).next).toBe(null)
    expect(await claim(1)).toEqual(['b'])
    expect((await d.claimOne()).node).toBe('two')
  })

  it('keys of two tenants are two keys', async () => {
    await enqueue('k', 4, { tenant: 'one' })
    await enqueue('k', 2, { tenant: 'two', payload: 'other' })
    expect(await claim(4)).toEqual(['k', 'other', 'k', 'other'])
  })

  it.each(['', 'x'.repeat(256), 7])('refuses %j as a key', async (fairKey) => {
    await expect(enqueue(fairKey as string, 1)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { path: 'enqueue[0].fairKey', problem: 'a text of 1 to 255 characters' },
    })
  })

  it('more keys with work for later than one claim visits do not hide the work that is due', async () => {
    const later = Array.from({ length: 2_100 }, (_, i) => ({
      ...{ type: 'x', payload: 'later', fairKey: `b${String(i).padStart(5, '0')}`, delayMs: 3_600_000 },
    }))
    await d.engine.enqueue(later)
    await enqueue('a', 1)
    expect(await claim(1)).toEqual(['a'])
    await enqueue('c', 2)
    expect(await claim(5)).toEqual(['c', 'c'])
  })

  /** Claims of any size, between arrivals; each key that always has work gets its share of every window of claims. */
  it('is a law: whatever arrives, every backlogged key has its share in every window', async () => {
    const arrival = fc.record({ key: fc.constantFrom('k1', 'k2', 'k3', 'k4'), count: fc.integer({ min: 1, max: 6 }) })
    const step = fc.oneof(
      fc.record({ arrive: arrival }),
      fc.record({ claim: fc.constantFrom(1, 2, 3, 7, 20), of: fc.integer({ min: 0, max: 3 }) }),
    )
    const weights = fc.record({ a: fc.integer({ min: 1, max: 4 }), b: fc.integer({ min: 1, max: 4 }) })
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), weights, async (steps, weight) => {
        const queue = `law-${round++}`
        const claimed: string[] = []
        const ids = new Set<string>()
        let put = 0
        const add = async (key: string, count: number) => {
          put += count
          await enqueue(key, count, { queue })
        }
        for (const key of ['a', 'b'] as const) {
          await d.engine.records.settings.putFairWeight({ queue, key, weight: weight[key] })
          await add(key, 200)
        }
        const sessions = await Promise.all([0, 1].map(() => d.newSession({ queues: [queue] })))
        const take = async (limit: number, of: number) => {
          const runs = await (sessions[of % 2] as typeof d.session).claim(limit)
          for (const { runId } of runs) ids.add(runId)
          claimed.push(...keysOf(runs))
          return runs.length
        }
        for (const one of steps) {
          if ('arrive' in one) await add(one.arrive.key, one.arrive.count)
          else expect(await take(one.claim, one.of)).toBe(one.claim)
          const left = ['a', 'b'].map((key) => 200 - claimed.filter((each) => each === key).length)
          if (Math.min(...left) < 40) break
        }
        // a and b always had work: in any window their numbers, by weight, differ by less than a turn of each.
        for (let from = 0; from < claimed.length; from += 3) {
          let [a, b] = [0, 0]
          for (const key of claimed.slice(from)) {
            if (key === 'a') a++
            if (key === 'b') b++
            expect(Math.abs(a / weight.a - b / weight.b)).toBeLessThanOrEqual(2)
          }
        }
        while ((await take(50, 0)) > 0);
        expect(claimed).toHaveLength(put)
        expect(ids.size).toBe(put)
        await Promise.all(sessions.map((session) => session.close()))
      }),
      { numRuns: FULL ? 100 : 12 },
    )
  })
})

describe.each(PLACES.filter(({ name }) => name === 'postgres'))('fair sharing between engines on $name', () => {
  it('two engines that claim at the same time take each run once, and every key has its share', async () => {
    const { url, drop } = await freshDatabase()
    const stores = await Promise.all([openStore(url), openStore(url)])
    await stores[0]?.migrate()
    const engines = await Promise.all(
      stores.map((store) =>
        Engine.open({ vocabularies: VOCABULARIES, store, sweep: false, random: () => 0.5, pollMs: 50 }),
      ),
    )
    const [one] = engines as [Engine, Engine]
    for (const key of ['a', 'b', 'c', 'd']) {
      await one.enqueue(Array.from({ length: 400 }, () => ({ type: 'x', payload: key, fairKey: key })))
    }
    const options = { runtime: 'node', queues: ['default'], types: null, concurrency: 100, tenant: null }
    const idle = { room: () => 0, deliver: () => {}, wake: () => {}, holding: () => [], stop: () => {} }
    const sessions = await Promise.all(
      [0, 1, 2, 3].map((n) => (engines[n % 2] as Engine).workers.open({ name: `w${n}`, ...options }, idle)),
    )
    const counts: Record<string, number> = { a: 0, b: 0, c: 0, d: 0 }
    const ids = new Set<string>()
    for (const limit of [100, 7, 33, 100]) {
      const claims = await Promise.all(sessions.map((session) => session.claim(limit)))
      for (const { runId, payload } of claims.flat()) {
        ids.add(runId)
        const key = JSON.parse(payload) as string
        counts[key] = (counts[key] ?? 0) + 1
      }
      const served = Object.values(counts)
      expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(1)
    }
    expect(ids.size).toBe(960)
    await Promise.all(sessions.map((session) => session.close()))
    await Promise.all(engines.map((engine) => engine.close()))
    await Promise.all(stores.map((store) => store.close()))
    await drop()
  })
})
