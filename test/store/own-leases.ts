import { expect, it } from 'vitest'
import type { RunRow } from '../../src/model/rows.ts'
import { anEvent, aRun, aWorker, newId, T0 } from './rows.ts'
import { ids, load, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const FILTER = { types: null, tenant: null, runtime: null, skipQueues: [], skipLimitKeys: [], limit: 10 }

/** Held by a worker over HTTP since T0. */
function held(given: Partial<RunRow> = {}): RunRow {
  const times = { leasedAt: T0, startedAt: T0, firstStartedAt: T0 }
  return aRun({ status: 'leased', leasedBy: 'w1', leaseUntil: T0 + 5000, leaseMs: 5000, ...times, ...given })
}

export function ownLeaseTopic(current: Current): void {
  it('returns candidates queue by queue, on request', async () => {
    const { store } = current()
    const rows = [
      aRun({ queue: 'b', priority: 1, type: 'y' }),
      aRun({ queue: 'a', priority: 50 }),
      aRun({ queue: 'a', priority: 50, runAt: T0 - 10 }),
      aRun({ queue: 'a', priority: 7, type: 'y' }),
      aRun({ queue: 'c', priority: 0 }),
    ]
    const [b, late, early, urgent] = rows as [RunRow, RunRow, RunRow, RunRow, RunRow]
    await put(store, { runs: { insert: rows } })
    const ask = async (queues: string[] | null, inOrder: boolean, limit = 10) =>
      ids((await load(store, { candidates: { ...FILTER, queues, inOrder, limit } })).candidates)
    expect(await ask(['a', 'b'], true)).toEqual(ids([urgent, early, late, b]))
    expect(await ask(['b', 'a', 'b'], true)).toEqual(ids([b, urgent, early, late]))
    expect(await ask(['a', 'b'], true, 2)).toEqual(ids([urgent, early]))
    expect(await ask(['a', 'b'], false)).toEqual(ids([b, urgent, early, late]))
    expect((await ask(null, true))[0]).toBe(rows[4]?.id)
    const skip = { ...FILTER, queues: ['a', 'b'], inOrder: true, skipQueues: ['a'] }
    expect(ids((await load(store, { candidates: skip })).candidates)).toEqual([b.id])
  })

  it('renews leases that have not expired, for the previous or a given duration', async () => {
    const { store } = current()
    const [mine, theirs, over] = [held(), held({ leasedBy: 'w2' }), held({ leaseUntil: T0 - 1 })]
    const foreign = held({ leaseMs: null, leasedAt: null })
    const session = aRun({ status: 'leased', leasedBy: 'w1', sessionId: newId(), leasedAt: T0 })
    const ended = aRun({ status: 'succeeded', settledAt: T0, finishedAt: T0 })
    const all = [mine, theirs, over, foreign, session, ended, aRun()]
    await put(store, { runs: { insert: all } })
    const extend = (holder: string | null, leaseMs: number | null = null) =>
      store.sweep.extendLeases({ holder, runIds: [...ids(all), newId(), 'no id'], leaseMs })
    expect(await extend('w1')).toEqual([mine.id])
    const renewed = await store.read.run(mine.id)
    expect(renewed?.leaseUntil).toBeGreaterThanOrEqual(T0 + 5000)
    expect(renewed?.leaseUntil).toBeLessThan(T0 + 8000)
    expect([...(await extend(null, 60_000))].sort()).toEqual(ids([mine, theirs]).sort())
    expect(await store.read.run(theirs.id)).toMatchObject({ leaseMs: 60_000, epoch: theirs.epoch })
    expect((await store.read.runHistory(mine.id)).filter((e) => e.type === 'heartbeat')).toHaveLength(2)
    expect(await store.sweep.extendLeases({ holder: null, runIds: [], leaseMs: null })).toEqual([])
    await setClock(store, 120_000)
    expect(await extend(null)).toEqual([])
    expect(ids(await store.sweep.expiredLeases({ limit: 10 })).sort()).toEqual(
      ids([mine, theirs, over, foreign]).sort(),
    )
  })

  it('keeps a worker with heartbeats, ends its leases when it is silent, and lets it come back', async () => {
    const { store } = current()
    const worker = aWorker({ id: 'w1', name: 'w1', holds: 'lease', tenant: 'acme' })
    const beat = (state: 'running' | 'quiet' | 'terminate' = 'running') =>
      store.sweep.beatLease({ worker: { ...worker, state }, ttlMs: 10_000 })
    expect(await beat()).toBe('running')
    expect((await store.read.workers())[0]).toMatchObject({
      id: 'w1',
      holds: 'lease',
      tenant: 'acme',
      state: 'running',
    })
    const long = { leaseUntil: T0 + 900_000, leaseMs: 900_000 }
    const [mine, theirs] = [held(long), held({ ...long, leasedBy: 'w2' })]
    await put(store, { runs: { insert: [mine, theirs] } })
    await setClock(store, 8000)
    expect(await beat()).toBe('running')
    await setClock(store, 15_000)
    expect(await store.sweep.lostRuns({ limit: 10 })).toEqual([])
    expect(await store.sweep.expiredLeases({ limit: 10 })).toEqual([])
    await setClock(store, 30_000)
    expect(await store.sweep.lostRuns({ limit: 10 })).toEqual([])
    expect((await store.read.workers())[0]?.state).toBe('dead')
    expect(ids(await store.sweep.expiredLeases({ limit: 10 }))).toEqual([mine.id])
    expect(await beat()).toBe('running')
    expect(await beat('quiet')).toBe('quiet')
    expect(await beat()).toBe('quiet')
    expect(await beat('terminate')).toBe('terminate')
    expect(await beat()).toBe('terminate')
    const session = aWorker()
    await store.sweep.beat({ worker: session, ttlMs: 10_000 })
    // The name of a session cannot be used.
    expect(await store.sweep.beatLease({ worker: { ...worker, id: session.id }, ttlMs: 1 })).not.toBe('quiet')
    expect((await store.read.workers()).find((w) => w.id === session.id)?.holds).toBe('session')
  })

  it('records such a lease once, by the event of its start', async () => {
    const { store } = current()
    const run = held()
    const data = JSON.stringify({ leased_at: new Date(T0).toISOString(), leased_by: 'w1', worker_id: 'w1', attempt: 1 })
    await put(store, {
      runs: { insert: [run] },
      events: [anEvent({ runId: run.id, type: 'created' }), anEvent({ runId: run.id, type: 'started', data })],
    })
    const recorded = async () =>
      (await store.read.runHistory(run.id)).map((e) => [e.type, e.data && JSON.parse(e.data)])
    const begin = [
      ['created', null],
      ['leased', { worker_id: 'w1' }],
      ['started', { worker_id: 'w1', attempt: 1 }],
    ]
    expect(await recorded()).toEqual(begin)
    const done = { status: 'succeeded', leasedBy: null, leaseUntil: null, leaseMs: null, leasedAt: null } as const
    await put(store, {
      runs: { update: [{ ...run, ...done, settledAt: T0, finishedAt: T0 }] },
      events: [anEvent({ runId: run.id, type: 'succeeded', at: T0 + 1 })],
    })
    expect(await recorded()).toEqual([...begin, ['succeeded', null]])
  })
}
