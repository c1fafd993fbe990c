import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PetrelError } from '../../../src/kernel/errors.ts'
import type { LeaseBeat } from '../../../src/model/leases.ts'
import type { RunRow } from '../../../src/model/rows.ts'
import { PLACES } from '../drive.ts'
import { accepted, EXACT, HttpWorker, until } from './http-worker.ts'

describe.each(PLACES)('the end of an HTTP lease on $name', (place) => {
  let http: HttpWorker
  beforeEach(async () => {
    http = await HttpWorker.open(place)
  })
  afterEach(() => http.d.close())

  const errorOf = (run: RunRow) => JSON.parse(run.error as string) as { code: string; type?: string }

  it('makes the run claimable at once, with one attempt spent', async () => {
    const id = await http.enqueue({ retry: EXACT })
    await http.fetchOne({ leaseMs: () => 300_000 })
    await http.d.pass(200_000)
    expect((await http.get(id)).status).toBe('leased')
    await http.d.pass(100_100)
    const run = await http.get(id)
    expect(run).toMatchObject({ status: 'pending', attempt: 1, leasedBy: null, leaseUntil: null, leaseMs: null })
    expect(run.runAt).toBeLessThanOrEqual(await http.d.store.now())
    expect(errorOf(run)).toMatchObject({ code: 'visibility_timeout', type: 'visibility_timeout' })
    expect((await http.fetchOne({ holder: 'w2' })).attempt).toBe(1)
    expect(await http.history(id)).toEqual(['created', 'leased', 'started', 'retried', 'leased', 'started'])
  })

  it('ends the run by its policy when no attempt is left', async () => {
    const thrown = await http.enqueue({ retry: { ...EXACT, maxAttempts: 1 } })
    const kept = await http.enqueue({ retry: { ...EXACT, maxAttempts: 1, deadLetter: true } })
    await http.fetch({ leaseMs: () => 1000 })
    await http.d.pass(1001)
    expect(await http.get(thrown)).toMatchObject({ status: 'failed', deadLetter: false, attempt: 1 })
    expect(await http.get(kept)).toMatchObject({ status: 'failed', deadLetter: true, attempt: 1 })
    expect(await http.d.doctor()).toEqual([])
  })

  it('is seen by the next fetch, with or without a sweep', async () => {
    const id = await http.enqueue()
    await http.fetchOne({ leaseMs: () => 1000 })
    await http.d.store.moveClock(1001)
    expect((await http.fetch({ holder: 'w2' })).map((r) => [r.id, r.attempt, r.leasedBy])).toEqual([[id, 1, 'w2']])
  })

  it('ends it for its holder too: its report and its heartbeat change nothing', async () => {
    const id = await http.enqueue()
    await http.fetchOne({ leaseMs: () => 1000 })
    await http.d.store.moveClock(1001)
    expect(await http.engine.leases.extend({ holder: 'w1', runIds: [id], leaseMs: null })).toEqual([])
    expect(await http.ack(id, null, { holder: 'w1', attempt: 1 })).toMatchObject({
      code: 'conflict',
      details: { status: 'pending', wait: 'available' },
    })
    expect(await http.get(id)).toMatchObject({ status: 'pending', attempt: 1 })
    await http.fetchOne({ holder: 'w2' })
    expect(await http.ack(id, null, { holder: 'w1' })).toBeInstanceOf(PetrelError)
    expect(await http.ack(id, null, { attempt: 1 })).toBeInstanceOf(PetrelError)
    accepted(await http.ack(id, null, { holder: 'w2', attempt: 2 }))
  })

  it('is decided once when it coincides with the report', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await http.enqueue()
      await http.fetchOne({ leaseMs: () => 1 })
      const [answer] = await Promise.all([http.ack(id), http.engine.sweep(), http.engine.sweep()])
      const run = await http.get(id)
      if (answer instanceof PetrelError) expect(run).toMatchObject({ status: 'pending', attempt: 1 })
      else expect(run).toMatchObject({ status: 'succeeded', attempt: 0 })
      const ends = (await http.history(id)).filter((type) => type === 'succeeded' || type === 'retried')
      expect(ends).toHaveLength(1)
      await http.work()
    }
    expect(await http.d.doctor()).toEqual([])
  })

  it('comes with the timeout of the run, if that is earlier: retried by its policy', async () => {
    const id = await http.enqueue({ timeoutMs: 2000, retry: EXACT })
    const run = await http.fetchOne()
    await http.d.pass(2001)
    const after = await http.get(id)
    expect(after).toMatchObject({ status: 'pending', attempt: 1 })
    expect(errorOf(after).code).toBe('timeout')
    expect(after.runAt - (run.startedAt as number)).toBeGreaterThanOrEqual(3000)
    await http.d.pass(1000)
    await http.fetchOne({ leaseMs: () => 100 })
    await http.d.pass(5000)
    // Both are over by now; the lease ended first.
    expect(errorOf(await http.get(id)).code).toBe('visibility_timeout')
  })

  it('releases the places under limits', async () => {
    await http.engine.setLimit({ key: 'queue:default', maxConcurrent: 1, ratePer: null, periodMs: null })
    const id = await http.enqueue()
    await http.fetchOne({ leaseMs: () => 1000 })
    await http.d.pass(1001)
    expect((await http.d.store.read.limits())[0]?.inUse).toBe(0)
    expect((await http.fetchOne()).id).toBe(id)
  })

  describe('postponed by heartbeats', () => {
    it('renews for as long as before, or for the given time', async () => {
      const id = await http.enqueue()
      await http.fetchOne({ leaseMs: () => 3000 })
      const extend = (leaseMs: number | null, holder: string | null = 'w1') =>
        http.engine.leases.extend({ holder, runIds: [id], leaseMs })
      const left = async () => ((await http.get(id)).leaseUntil as number) - (await http.d.store.now())
      for (let i = 0; i < 3; i++) {
        await http.d.pass(2000)
        expect(await extend(null)).toEqual([id])
        expect(await left()).toBeGreaterThan(2000)
        expect(await left()).toBeLessThanOrEqual(3000)
      }
      expect(await extend(20_000, null)).toEqual([id])
      await http.d.pass(15_000)
      expect(await extend(null)).toEqual([id])
      expect(await left()).toBeGreaterThan(15_000)
      expect((await http.history(id)).filter((type) => type === 'heartbeat')).toHaveLength(5)
      accepted(await http.ack(id))
    })

    it('renews only what its holder holds', async () => {
      const [mine, theirs, waiting] = [await http.enqueue(), await http.enqueue(), await http.enqueue()]
      await http.fetchOne()
      await http.fetchOne({ holder: 'w2' })
      const other = await http.enqueue({ queue: 'sessions' })
      const session = await http.d.newSession({ queues: ['sessions'] })
      await session.claim(1)
      const runIds = [mine, theirs, waiting, other, 'nothing', '01900000-0000-7000-8000-000000000000']
      expect(await http.engine.leases.extend({ holder: 'w1', runIds, leaseMs: null })).toEqual([mine])
      const anybody = await http.engine.leases.extend({ holder: null, runIds, leaseMs: null })
      expect([...anybody].sort()).toEqual([mine, theirs].sort())
      await http.engine.cancelRun({ id: mine, actor: null })
      expect(await http.engine.leases.extend({ holder: 'w1', runIds: [mine], leaseMs: null })).toEqual([])
    })

    it('comes early for a worker whose heartbeats have stopped', async () => {
      const beat = (given: Partial<LeaseBeat> = {}) =>
        http.engine.leases.beat({
          holder: 'w1',
          host: 'box',
          pid: 7,
          runtime: 'python',
          queues: ['default'],
          types: [],
          concurrency: 4,
          state: 'running',
          tenant: null,
          runIds: [],
          leaseMs: null,
          ttlMs: 30_000,
          ...given,
        })
      const id = await http.enqueue({ retry: EXACT })
      const silent = await http.enqueue({ retry: EXACT })
      await http.fetchOne({ leaseMs: () => 1_800_000 })
      await http.fetchOne({ leaseMs: () => 1_800_000, holder: 'never-beats' })
      expect(await beat({ runIds: [id, silent] })).toEqual({ state: 'running', extended: [id] })
      expect((await http.d.store.read.workers()).find((w) => w.id === 'w1')).toMatchObject({
        holds: 'lease',
        host: 'box',
        runtime: 'python',
        state: 'running',
      })
      await http.d.pass(29_000)
      await beat({ runIds: [id] })
      await http.d.pass(29_000)
      expect((await http.get(id)).status).toBe('leased')
      await http.d.pass(2000)
      const lost = await http.get(id)
      expect(lost).toMatchObject({ status: 'pending', attempt: 1 })
      expect(errorOf(lost)).toMatchObject({ code: 'worker_death', type: 'worker_death' })
      expect((await http.get(silent)).status).toBe('leased')
      // It is alive again, but its runs are gone.
      expect(await beat({ runIds: [id] })).toEqual({ state: 'running', extended: [] })
      expect((await http.fetchOne()).id).toBe(id)
      // It asked to become quiet itself, and nothing reverts that.
      expect((await beat({ state: 'quiet' })).state).toBe('quiet')
      expect((await beat()).state).toBe('quiet')
      expect((await beat({ state: 'terminate' })).state).toBe('terminate')
      expect((await beat({ state: 'quiet' })).state).toBe('terminate')
      expect(await http.d.doctor()).toEqual([])
    })
  })

  it('comes within 200 ms of its time', async () => {
    const awake = await HttpWorker.open(place, { sweep: true, pollMs: 1000 })
    try {
      const lags: number[] = []
      // A busy machine may be late once.
      for (let round = 0; round < 5 && !lags.some((lag) => lag < 200); round++) {
        const id = await awake.enqueue({ queue: `q${round}` })
        const lease = await awake.fetchOne({ queues: [`q${round}`], leaseMs: () => 300 })
        await until(async () => (await awake.get(id)).status === 'pending', 'the lease runs out')
        const [error] = (await awake.d.store.read.errorsOf({ runIds: [id], limit: 1 })).get(id) ?? []
        lags.push((error?.at as number) - (lease.leaseUntil as number))

        const timed = await awake.enqueue({ queue: `t${round}`, timeoutMs: 300 })
        const started = await awake.fetchOne({ queues: [`t${round}`] })
        await until(async () => (await awake.get(timed)).status === 'pending', 'the timeout comes')
        const [timeout] = (await awake.d.store.read.errorsOf({ runIds: [timed], limit: 1 })).get(timed) ?? []
        lags.push((timeout?.at as number) - (started.timeoutAt as number))
      }
      expect(Math.min(...lags)).toBeGreaterThanOrEqual(0)
      expect(Math.min(...lags)).toBeLessThan(200)
    } finally {
      await awake.d.close()
    }
  })
})
