/** Reports on queues: what waits, for how long, and what passes through, also of a queue too long to be counted at once. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_COUNTED_RUNS, type QueueReport } from '../../src/model/queries/queueing.ts'
import { Drive, PLACES } from './drive.ts'
import { TwoEngines } from './two-engines.ts'

const MINUTE = 60_000

describe.each(PLACES)('reports on queues on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 1e6 })
    // In the middle of a minute, so that moving by seconds stays in it.
    const now = await d.store.now()
    await d.pass(MINUTE + 10_000 - (now % MINUTE))
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })
  const report = (rest: Partial<Parameters<typeof d.engine.queueReport>[0]> = {}): Promise<QueueReport> =>
    d.engine.queueReport({ queue: 'q', minutes: 5, counted: false, ...rest })
  const enqueue = (count: number, rest: object = {}) =>
    d.engine.enqueue(Array.from({ length: count }, () => ({ type: 'work', payload: null, queue: 'q', ...rest })))
  const sum = ({ traffic }: QueueReport, of: 'arrived' | 'started' | 'succeeded' | 'retried' | 'waitMs' | 'busyMs') =>
    traffic.reduce((total, row) => total + row[of], 0)

  it('counts what waits, by when it is due', async () => {
    await enqueue(3)
    await enqueue(2, { delayMs: MINUTE })
    await enqueue(1, { type: 'other', priority: 1 })
    await enqueue(1, { queue: 'another' })
    await d.claim(1)
    const { depth, oldestDueAt, now, ...rest } = await report()
    expect(depth).toEqual({
      available: 3,
      scheduled: 2,
      retryable: 0,
      held: 0,
      active: 1,
      accuracy: 'exact',
      countedAt: now,
    })
    expect(now - (oldestDueAt as number)).toBeLessThan(5_000)
    expect(rest).toMatchObject({ name: 'q', paused: false, concurrency: 10, maxConcurrent: null })
  })

  it('the oldest run is the one that has been due longest, of any type and priority', async () => {
    await enqueue(1, { type: 'late', priority: 5 })
    const [first] = await d.store.read.listRuns({
      status: ['pending'],
      queue: 'q',
      type: 'late',
      deadLetter: null,
      tenant: null,
      limit: 1,
      before: null,
    })
    await d.pass(20_000)
    await enqueue(5, { priority: 1 })
    await enqueue(1, { delayMs: MINUTE, priority: 0 })
    expect((await report()).oldestDueAt).toBe(first?.runAt)
    await d.work()
    expect((await report()).oldestDueAt).toBeNull()
  })

  it('counts what arrives, starts and ends, and how long it waited and took', async () => {
    await enqueue(4)
    await d.pass(20_000)
    const [one, two] = await d.claim(2)
    await d.pass(40_000)
    await d.succeed(one as never)
    await d.fail(two as never)
    const found = await report()
    expect([sum(found, 'arrived'), sum(found, 'started'), sum(found, 'succeeded'), sum(found, 'retried')]).toEqual([
      4, 2, 1, 1,
    ])
    expect(sum(found, 'waitMs') / 2).toBeGreaterThanOrEqual(20_000)
    expect(sum(found, 'waitMs') / 2).toBeLessThan(25_000)
    // 15 to 60 seconds.
    expect(found.traffic.map(({ waits }) => waits[5]).reduce((a = 0, b = 0) => a + b, 0)).toBe(2)
    // The one that succeeded took as long as the clock moved; the one that is retried is counted too.
    const took = found.traffic.flatMap(({ runTimes }) =>
      runTimes.flatMap((count, at) => (count > 0 ? [[at, count]] : [])),
    )
    expect(took.reduce((total, [, count]) => total + (count as number), 0)).toBe(2)
    expect(took).toContainEqual([7, 1])
    expect(sum(found, 'busyMs')).toBeGreaterThanOrEqual(40_000)
    expect(found.depth).toMatchObject({ available: 2, retryable: 1, active: 0 })
  })

  it('traffic is of the minutes that were asked for', async () => {
    await enqueue(1)
    await d.pass(3 * MINUTE)
    await enqueue(2)
    expect(sum(await report({ minutes: 1 }), 'arrived')).toBe(2)
    expect(sum(await report({ minutes: 5 }), 'arrived')).toBe(3)
  })

  it('knows a pause, the limit, and the workers that take from the queue', async () => {
    await d.engine.setLimit({ key: 'queue:q', maxConcurrent: 4 })
    await d.engine.pauseQueue({ queue: 'q', paused: true, actor: null })
    await d.newSession({ queues: ['q', 'r'], name: 'own' })
    await d.newSession({ queues: ['r'], name: 'other' })
    expect(await report()).toMatchObject({ paused: true, concurrency: 20, maxConcurrent: 4 })
    expect(await report({ queue: 'none' })).toMatchObject({
      concurrency: 10,
      depth: { available: 0, accuracy: 'exact' },
    })
  })

  it('a long queue is counted once, and the count is carried forward', async () => {
    const extra = 200
    await enqueue(MAX_COUNTED_RUNS + extra)
    await enqueue(5, { delayMs: 60 * MINUTE })
    expect((await report()).depth).toMatchObject({ accuracy: 'at_least' })
    const counted = (await report({ counted: true })).depth
    expect(counted).toMatchObject({ available: MAX_COUNTED_RUNS + extra, scheduled: 5, accuracy: 'estimated' })
    const [run] = await d.claim(1)
    await d.succeed(run as never)
    await enqueue(10)
    const later = (await report()).depth
    expect(later).toMatchObject({ available: MAX_COUNTED_RUNS + extra + 9, active: 0, accuracy: 'estimated' })
    expect(later.countedAt).toBe(counted.countedAt)
    // Lists and metrics read no further than the bound either.
    await enqueue(3, { queue: 'short', type: 'other' })
    const stats = await d.engine.queueStats({ queue: null, minutes: 0 })
    expect(stats.map(({ name, available, accuracy }) => [name, available, accuracy])).toEqual([
      ['q', later.available, 'estimated'],
      ['short', 3, 'exact'],
    ])
    const depths = await d.store.read.typeDepths()
    expect(depths.toSorted((a, b) => (a.type < b.type ? -1 : 1))).toEqual([
      { type: 'other', status: 'pending', count: 3 },
      { type: 'work', status: 'pending', count: MAX_COUNTED_RUNS },
    ])
  }, 60_000)
})

describe.each(PLACES)('two processes and one queue on $name', (place) => {
  it('a report has what both have done', async () => {
    const two = await TwoEngines.open(place)
    const [a, b] = two.engines
    await a.enqueue([{ type: 'work', payload: null, queue: 'q' }])
    await b.enqueue([{ type: 'work', payload: null, queue: 'q' }])
    const runs = await two.fetch(b, 'w', 1, 0)
    await two.succeed(b, runs)
    // Each adds its counts when it is asked.
    await b.queueReport({ queue: 'q', minutes: 5, counted: false })
    const { depth, traffic } = await a.queueReport({ queue: 'q', minutes: 5, counted: false })
    expect(depth).toMatchObject({ available: 1, active: 0 })
    expect(traffic.reduce((sum, row) => sum + row.arrived, 0)).toBe(2)
    expect(traffic.reduce((sum, row) => sum + row.succeeded, 0)).toBe(1)
    await two.stop()
    await two.drop()
  })
})
