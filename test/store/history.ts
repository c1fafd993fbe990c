import { expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { aLeasedRun, anEvent, anInstance, aRun, aWorker, newId, T0 } from './rows.ts'
import { put } from './subject.ts'
import type { Current } from './suite.ts'

const iso = (ms: number): string => new Date(ms).toISOString()

/** The history as [event, ms after T0]. */
async function story(store: Store, runId: string): Promise<[string, number][]> {
  return (await store.read.runHistory(runId)).map((event) => [event.type, event.at - T0])
}

export function historyTopic(current: Current): void {
  it('derives four events from two stored rows', async () => {
    const { store, sql } = current()
    const run = aRun({ status: 'succeeded', settledAt: T0 + 30, finishedAt: T0 + 30 })
    const recorded = { leased_at: iso(T0 + 10), leased_by: 'worker-1', started_at: iso(T0 + 20), attempt: 1 }
    await put(store, {
      runs: { insert: [run] },
      events: [
        anEvent({ type: 'created', runId: run.id, actor: 'ann', data: '{"source":"api"}' }),
        anEvent({ type: 'succeeded', runId: run.id, at: T0 + 30, actor: 'worker-1', data: JSON.stringify(recorded) }),
      ],
    })
    expect(await story(store, run.id)).toEqual([
      ['created', 0],
      ['leased', 10],
      ['started', 20],
      ['succeeded', 30],
    ])
    const history = await store.read.runHistory(run.id)
    const data = history.map((event) => (event.data === null ? null : JSON.parse(event.data)))
    expect(data).toEqual([{ source: 'api' }, { worker_id: 'worker-1' }, { worker_id: 'worker-1' }, { attempt: 1 }])
    expect(history.map((event) => event.actor)).toEqual(['ann', 'worker-1', 'worker-1', 'worker-1'])
    expect(await sql(`SELECT event_type FROM workflow_history WHERE workflow_id = '${run.id}'`)).toHaveLength(4)
  })

  it('shows a hand-off, a retry and the next lease', async () => {
    const { store } = current()
    const sessionId = newId()
    const run = aLeasedRun({ sessionId, leasedAt: T0 + 500, startedAt: T0 + 510, attempt: 1, epoch: 2 })
    const by = { leased_by: 'worker-1' }
    await put(store, {
      workers: { put: [aWorker({ id: sessionId })] },
      runs: { insert: [run] },
      events: [
        anEvent({ type: 'created', runId: run.id, data: JSON.stringify({ ...by, leased_at: iso(T0) }) }),
        anEvent({
          type: 'retried',
          runId: run.id,
          at: T0 + 90,
          data: JSON.stringify({ ...by, started_at: iso(T0 + 40), error: 'x' }),
        }),
      ],
    })
    expect(await story(store, run.id)).toEqual([
      ['created', 0],
      ['leased', 0],
      ['started', 40],
      ['retried', 90],
      ['leased', 500],
      ['started', 510],
    ])
  })

  it('shows an open lease once, also when a stored row has recorded it', async () => {
    const { store } = current()
    const sessionId = newId()
    const plain = aLeasedRun({ sessionId, leasedAt: T0 + 10 })
    const handed = aLeasedRun({ sessionId, leasedAt: T0 + 10, startedAt: T0 + 20 })
    const deferred = aLeasedRun({ sessionId: newId(), leasedAt: T0 + 10, startedAt: T0 + 20, deferred: true })
    const lease = { leased_at: iso(T0 + 10), leased_by: 'worker-1' }
    await put(store, {
      runs: { insert: [plain, handed, { ...deferred, sessionId: null }] },
      events: [
        anEvent({ type: 'created', runId: plain.id }),
        anEvent({ type: 'created', runId: handed.id, at: T0 + 10, data: JSON.stringify(lease) }),
        anEvent({ type: 'created', runId: deferred.id }),
        anEvent({
          type: 'deferred',
          runId: deferred.id,
          at: T0 + 30,
          data: JSON.stringify({ ...lease, started_at: iso(T0 + 20) }),
        }),
      ],
    })
    expect(await story(store, plain.id)).toEqual([
      ['created', 0],
      ['leased', 10],
    ])
    expect(await story(store, handed.id)).toEqual([
      ['created', 10],
      ['leased', 10],
      ['started', 20],
    ])
    expect(await story(store, deferred.id)).toEqual([
      ['created', 0],
      ['leased', 10],
      ['started', 20],
      ['deferred', 30],
    ])
  })

  it('does not mistake an earlier execution for the open one', async () => {
    const { store } = current()
    const run = aLeasedRun({ sessionId: newId(), leasedAt: T0 + 100, startedAt: T0 + 20 })
    const recorded = { leased_at: iso(T0 + 10), leased_by: 'worker-1', started_at: iso(T0 + 20) }
    await put(store, {
      runs: { insert: [run] },
      events: [
        anEvent({ type: 'created', runId: run.id }),
        anEvent({ type: 'retried', runId: run.id, at: T0 + 30, data: JSON.stringify(recorded) }),
      ],
    })
    expect(await story(store, run.id)).toEqual([
      ['created', 0],
      ['leased', 10],
      ['started', 20],
      ['retried', 30],
      ['leased', 100],
    ])
  })

  it('limits reported times to the span of the row that records them', async () => {
    const { store } = current()
    const run = aRun({ status: 'failed', settledAt: T0 + 30, finishedAt: T0 + 30 })
    const recorded = { leased_at: iso(T0 + 10), leased_by: 'w', started_at: iso(T0 + 99_000) }
    await put(store, {
      runs: { insert: [run] },
      events: [
        anEvent({ type: 'created', runId: run.id }),
        anEvent({ type: 'failed', runId: run.id, at: T0 + 30, data: JSON.stringify(recorded) }),
      ],
    })
    expect(await story(store, run.id)).toEqual([
      ['created', 0],
      ['leased', 10],
      ['started', 30],
      ['failed', 30],
    ])
  })

  it('begins with created, also for a run inserted by plain SQL', async () => {
    const { store, sql } = current()
    await sql(`INSERT INTO workflow_run (type, payload) VALUES ('a.v1', '{}')`)
    const [run] = await store.read.listRuns({
      status: null,
      queue: null,
      type: 'a.v1',
      deadLetter: null,
      tenant: null,
      limit: 1,
      before: null,
    })
    expect((await story(store, run!.id)).map(([type]) => type)).toEqual(['created'])
  })

  it('follows an instance by its own numbers', async () => {
    const { store } = current()
    const instance = anInstance({ eventSeq: 3 })
    const event = (seq: number | null, type: string) =>
      anEvent({ type, instanceId: instance.id, seq, node: 'a', tenant: 'acme' })
    await put(store, {
      instances: { insert: [instance] },
      events: [event(1, 'instance.started'), event(2, 'created'), event(null, 'heartbeat'), event(3, 'node.skipped')],
    })
    const follow = (afterSeq: number, limit = 10) =>
      store.read.instanceEvents({ instanceId: instance.id, afterSeq, limit })
    expect((await follow(0)).map((row) => [row.seq, row.type, row.node, row.tenant])).toEqual([
      [1, 'instance.started', 'a', 'acme'],
      [2, 'created', 'a', 'acme'],
      [3, 'node.skipped', 'a', 'acme'],
    ])
    expect((await follow(1, 1)).map((row) => row.seq)).toEqual([2])
  })

  it('returns all events in the order of their ids', async () => {
    const { store } = current()
    await put(store, {
      events: Array.from({ length: 40 }, (_, n) => anEvent({ type: 'cron.fired', data: `{"n":${n}}` })),
    })
    await put(store, { events: [anEvent({ type: 'queue.paused', actor: 'ann' })] })
    const all = await store.read.feed({ afterId: 0, limit: 100 })
    expect(all).toHaveLength(41)
    expect(all.slice(0, 40).map((event) => JSON.parse(event.data!).n)).toEqual(Array.from({ length: 40 }, (_, n) => n))
    expect(all[40]).toMatchObject({ type: 'queue.paused', actor: 'ann', data: null, runId: null, at: T0 })
    const page = await store.read.feed({ afterId: all[9]!.id, limit: 5 })
    expect(page.map((event) => event.id)).toEqual(all.slice(10, 15).map((event) => event.id))
  })
}
