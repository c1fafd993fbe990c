import { expect, it } from 'vitest'
import type { RunRow } from '../../src/model/rows.ts'
import { aLeasedRun, aLimit, anInstance, aRun, aStep, aWorker, newId, T0 } from './rows.ts'
import { ids, load, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

export function leaseTopic(current: Current): void {
  it('registers a session by its first heartbeat and keeps it alive by the next', async () => {
    const { store } = current()
    const worker = aWorker({ tenant: 'acme' })
    expect(await store.sweep.beat({ worker, ttlMs: 10_000 })).toEqual({ state: 'running', stop: [] })
    const [first] = await store.read.workers()
    expect({ ...first, heartbeatAt: 0, expiresAt: 0 }).toEqual({ ...worker, heartbeatAt: 0, expiresAt: 0 })
    expect(first!.expiresAt - first!.heartbeatAt).toBe(10_000)
    await setClock(store, 8_000)
    await store.sweep.beat({ worker, ttlMs: 10_000 })
    const [second] = await store.read.workers()
    expect(second!.expiresAt).toBeGreaterThanOrEqual(T0 + 18_000)
    await setClock(store, 15_000)
    expect(await store.sweep.lostRuns({ limit: 10 })).toEqual([])
    expect((await store.read.workers())[0]!.state).toBe('running')
  })

  it("passes the operator's directive to a session, and heartbeats do not overwrite it", async () => {
    const { store } = current()
    const worker = aWorker()
    await store.sweep.beat({ worker, ttlMs: 10_000 })
    for (const state of ['quiet', 'terminate', 'running'] as const) {
      const [row] = await store.read.workers()
      await put(store, { workers: { put: [{ ...row!, state }] } })
      expect((await store.sweep.beat({ worker, ttlMs: 10_000 })).state).toBe(state)
      expect((await store.sweep.beat({ worker: { ...worker, state: 'quiet' }, ttlMs: 10_000 })).state).toBe(state)
    }
  })

  it('lists the runs of a session that must stop', async () => {
    const { store } = current()
    const worker = aWorker()
    await store.sweep.beat({ worker, ttlMs: 10_000 })
    const wanted = aLeasedRun({ sessionId: worker.id, cancelRequestedAt: T0 })
    const others = [
      aLeasedRun({ sessionId: worker.id }),
      aLeasedRun({ sessionId: newId(), cancelRequestedAt: T0 }),
      aRun({ status: 'cancelled', cancelRequestedAt: T0, settledAt: T0, finishedAt: T0 }),
    ]
    await put(store, { runs: { insert: [wanted, ...others] } })
    expect(await store.sweep.beat({ worker, ttlMs: 10_000 })).toEqual({ state: 'running', stop: [wanted.id] })
  })

  it('asks the held runs of an instance to stop, but none that the same delta inserts', async () => {
    const { store } = current()
    const worker = aWorker()
    await store.sweep.beat({ worker, ttlMs: 60_000 })
    const [instance, other] = [anInstance(), anInstance()]
    const held = (node: string, given: Partial<RunRow> = {}, of = instance) => ({
      ...aLeasedRun({ ...aStep(of, node), sessionId: worker.id, status: 'leased' }),
      ...given,
    })
    const [before, asked, elsewhere] = [held('a'), held('b', { cancelRequestedAt: T0 - 5 }), held('a', {}, other)]
    const waiting = aStep(instance, 'c')
    await put(store, {
      instances: { insert: [instance, other] },
      runs: { insert: [before, asked, elsewhere, waiting] },
    })
    const born = held('d')
    await put(store, { signal: [instance.id], runs: { insert: [born], update: [{ ...before, reportId: 'r1' }] } })
    const all = [before, asked, born, elsewhere, waiting]
    const loaded = await load(store, { runs: ids(all) })
    const stops = all.map((run) => loaded.runs.get(run.id)!.cancelRequestedAt)
    expect([stops[0]! >= T0, stops[1], ...stops.slice(2)]).toEqual([true, T0 - 5, null, null, null])
    const { stop } = await store.sweep.beat({ worker, ttlMs: 60_000 })
    expect([...stop].sort()).toEqual(ids([before, asked]).sort())
  })

  it('removes expired sessions and returns their runs, until none is held', async () => {
    const { store } = current()
    const [dead, alive] = [aWorker(), aWorker()]
    await store.sweep.beat({ worker: dead, ttlMs: 10_000 })
    await store.sweep.beat({ worker: alive, ttlMs: 60_000 })
    const instance = anInstance()
    const lost = [
      aLeasedRun({ sessionId: dead.id }),
      aLeasedRun({ ...aStep(instance, 'a'), sessionId: dead.id, status: 'leased' }),
    ]
    const kept = aLeasedRun({ sessionId: alive.id })
    await put(store, { instances: { insert: [instance] }, runs: { insert: [...lost, kept] } })
    expect(await store.sweep.lostRuns({ limit: 10 })).toEqual([])
    await setClock(store, 15_000)
    const found = await store.sweep.lostRuns({ limit: 10 })
    expect(ids(found).sort()).toEqual(ids(lost).sort())
    expect(found.find((run) => run.id === lost[1]!.id)).toEqual({
      id: lost[1]!.id,
      rootId: instance.id,
      instanceId: instance.id,
    })
    expect(await store.sweep.lostRuns({ limit: 1 })).toHaveLength(1)
    const states = new Map((await store.read.workers()).map((row) => [row.id, row.state]))
    expect([states.get(dead.id), states.get(alive.id)]).toEqual(['dead', 'running'])
    const back = lost.map((run) => ({ ...run, status: 'pending' as const, sessionId: null, leasedBy: null, epoch: 2 }))
    await put(store, { runs: { update: back } })
    expect(await store.sweep.lostRuns({ limit: 10 })).toEqual([])
  })

  it('a dead session cannot return', async () => {
    const { store } = current()
    const worker = aWorker()
    await store.sweep.beat({ worker, ttlMs: 1_000 })
    await setClock(store, 5_000)
    await store.sweep.lostRuns({ limit: 10 })
    expect((await store.sweep.beat({ worker, ttlMs: 60_000 })).state).toBe('dead')
    expect((await store.read.workers())[0]!.state).toBe('dead')
  })

  it('records a start only for the epoch that holds the run, and only the first', async () => {
    const { store } = current()
    const held = aLeasedRun({ sessionId: newId(), epoch: 3, timeoutMs: 5_000 })
    const retried = aLeasedRun({
      sessionId: newId(),
      epoch: 3,
      timeoutMs: 5_000,
      timeoutPer: 'node',
      firstStartedAt: T0 - 2_000,
    })
    const untimed = aLeasedRun({ sessionId: newId(), epoch: 3 })
    const done = aRun({ status: 'succeeded', epoch: 3, settledAt: T0, finishedAt: T0 })
    await put(store, { runs: { insert: [held, retried, untimed, done] } })
    await setClock(store, 10_000)
    const report = (at: number, epoch: number, ...runs: { readonly id: string }[]) =>
      store.sweep.started({ runs: runs.map(({ id }) => ({ id, epoch, at })) })
    expect(await report(T0 + 50, 2, held)).toEqual([])
    expect((await store.read.run(held.id))!.startedAt).toBeNull()
    expect([...(await report(T0 + 100, 3, held, retried, untimed, done, { id: newId() }))].sort()).toEqual(
      ids([held, retried, untimed]).sort(),
    )
    expect(await report(T0 + 200, 3, held)).toEqual([held.id])
    const [first, second, third] = await store.read.runs({ ids: ids([held, retried, untimed]) })
    expect(first).toMatchObject({ startedAt: T0 + 100, firstStartedAt: T0 + 100, timeoutAt: T0 + 5_100 })
    expect(second).toMatchObject({ startedAt: T0 + 100, firstStartedAt: T0 - 2_000, timeoutAt: T0 + 3_000 })
    expect(third).toMatchObject({ startedAt: T0 + 100, timeoutAt: null })
  })

  it('records no start before its lease, however slow the clock of the worker', async () => {
    const { store } = current()
    const run = aLeasedRun({ sessionId: newId(), leasedAt: T0 })
    await put(store, { runs: { insert: [run] } })
    await store.sweep.started({ runs: [{ id: run.id, epoch: 1, at: T0 - 60_000 }] })
    expect((await store.read.run(run.id))!.startedAt).toBe(T0)
  })

  it('records no start in the future, however fast the clock of the worker', async () => {
    const { store } = current()
    const run = aLeasedRun({ sessionId: newId(), leasedAt: T0, timeoutMs: 5_000 })
    await put(store, { runs: { insert: [run] } })
    await setClock(store, 10_000)
    await store.sweep.started({ runs: [{ id: run.id, epoch: 1, at: T0 + 3_600_000 }] })
    const { startedAt, timeoutAt } = (await store.read.run(run.id))!
    expect(startedAt).toBeGreaterThanOrEqual(T0 + 10_000)
    expect(startedAt).toBeLessThan(T0 + 3_600_000)
    expect(timeoutAt! - startedAt!).toBe(5_000)
  })

  it('saves checkpoints under the epoch, numbering them, across attempts', async () => {
    const { store } = current()
    const run = aLeasedRun({ sessionId: newId(), epoch: 1 })
    await put(store, { runs: { insert: [run] } })
    const save = (epoch: number, state: string) => store.sweep.checkpoint({ runId: run.id, epoch, state })
    expect(await store.read.checkpoint(run.id)).toBeNull()
    expect(await store.sweep.progress({ runId: run.id, epoch: 1, value: '0.1' })).toBe(true)
    expect(await store.read.checkpoint(run.id)).toBeNull()
    expect(await save(1, '{"page":1}')).toBe(1)
    expect(await save(1, '{"page":2}')).toBe(2)
    expect(await save(9, '{"page":9}')).toBeNull()
    await put(store, { runs: { update: [{ ...run, epoch: 2 }] } })
    expect(await save(1, '{"page":3}')).toBeNull()
    expect(await save(2, '{"page":4}')).toBe(3)
    const saved = await store.read.checkpoint(run.id)
    expect({ ...saved, state: JSON.parse(saved!.state) }).toEqual({ state: { page: 4 }, sequence: 3 })
    expect(await store.sweep.progress({ runId: run.id, epoch: 1, value: '0.5' })).toBe(false)
    expect(await store.sweep.progress({ runId: run.id, epoch: 2, value: '0.5' })).toBe(true)
    expect((await store.read.checkpoint(run.id))!.sequence).toBe(3)
  })

  it('recounts limits from the runs that hold a place under them', async () => {
    const { store } = current()
    const limits = ['queue:mail', 'key:stripe', 'key:none', 'queue:other'].map((key) =>
      aLimit(key, { inUse: 9, windowUsed: 3 }),
    )
    const held = (given: Partial<RunRow>) => ({ ...aLeasedRun({ sessionId: newId() }), ...given })
    await put(store, {
      limits,
      runs: {
        insert: [
          held({ queue: 'mail', limitKey: 'stripe' }),
          held({ queue: 'mail' }),
          held({ queue: 'x', limitKey: 'mail' }),
          aRun({ queue: 'mail', limitKey: 'stripe' }),
          // Foreign clients take no place; a run ended by one of them releases its place when it is settled.
          aRun({ queue: 'mail', status: 'leased', leasedBy: 'go-1', leaseUntil: T0 }),
          held({ queue: 'mail', status: 'cancelled', finishedAt: T0 }),
          aRun({ queue: 'mail', status: 'leased', leasedBy: 'w', leaseUntil: T0, leaseMs: 1000 }),
          aRun({ queue: 'mail', status: 'leased', leasedBy: 'w', leasedAt: T0, deferred: true }),
          aRun({ queue: 'mail', status: 'succeeded', finishedAt: T0 }),
        ],
      },
    })
    await store.sweep.recountLimits({ keys: ['queue:mail', 'key:stripe', 'key:none', 'key:unknown'] })
    const counts = (await store.read.limits()).map((limit) => [limit.key, limit.inUse, limit.windowUsed])
    expect(counts).toEqual([
      ['key:none', 0, 3],
      ['key:stripe', 1, 3],
      ['queue:mail', 5, 3],
      ['queue:other', 9, 3],
    ])
  })
}
