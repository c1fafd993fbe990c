import { expect, it } from 'vitest'
import { MAX_SUMMED_MINUTES } from '../../src/model/queries/overview.ts'
import type { EventQuery, InstanceQuery, RunQuery } from '../../src/model/queries/queries.ts'
import { HELD_AT, type RunRow, type TotalRow } from '../../src/model/rows.ts'
import { aLeasedRun, anEvent, anInstance, aRun, aSchedule, aStep, newId, T0 } from './rows.ts'
import { ids, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const RUNS: RunQuery = {
  status: null,
  queue: null,
  type: null,
  deadLetter: null,
  tenant: null,
  limit: 100,
  before: null,
}
const INSTANCES: InstanceQuery = {
  states: null,
  name: null,
  dialect: null,
  tenant: null,
  rootsOnly: false,
  limit: 100,
  before: null,
}

export function listTopic(current: Current): void {
  /** One run for each sub-state of pending, and a leased one. */
  const parts = (queue: string): Record<string, RunRow> => ({
    available: aRun({ queue, runAt: T0 - 1 }),
    scheduled: aRun({ queue, runAt: T0 + 100_000 }),
    retryable: aRun({ queue, runAt: T0 + 100_000, attempt: 1 }),
    held: aRun({ queue, runAt: HELD_AT }),
    leased: aLeasedRun({ queue, sessionId: newId() }),
  })

  it('distinguishes the sub-states of pending', async () => {
    const { store } = current()
    const rows = parts('q')
    await put(store, { runs: { insert: Object.values(rows) } })
    const list = async (query: Partial<RunQuery>) => ids(await store.read.listRuns({ ...RUNS, ...query }))
    for (const part of ['available', 'scheduled', 'retryable', 'held'] as const) {
      expect(await list({ wait: [part] })).toEqual([rows[part]?.id])
    }
    expect((await list({ wait: ['available', 'held'], status: ['leased'] })).sort()).toEqual(
      ids([rows['available'], rows['held'], rows['leased']] as RunRow[]).sort(),
    )
    expect(await list({ wait: [] })).toEqual([])
    expect((await store.read.run((rows['held'] as RunRow).id))?.runAt).toBe(HELD_AT)
    await setClock(store, 200_000)
    expect(await list({ wait: ['scheduled', 'retryable'] })).toEqual([])
    expect(await list({ wait: ['available'] })).toHaveLength(3)
  })

  it('lists runs of an instance or its whole tree, pages by offset, and counts up to a bound', async () => {
    const { store } = current()
    const root = anInstance()
    const child = anInstance({ rootId: root.id, parentId: root.id, parentNode: 'a' })
    const steps = [aStep(root, 'a'), aStep(root, 'b'), aStep(child, 'c')]
    await put(store, { instances: { insert: [root, child] }, runs: { insert: [...steps, aRun()] } })
    const list = async (query: Partial<RunQuery>) => ids(await store.read.listRuns({ ...RUNS, ...query }))
    const [a, b, c] = ids(steps)
    expect(await list({ instanceId: root.id })).toEqual([b, a])
    expect(await list({ rootId: root.id })).toEqual([c, b, a])
    expect(await list({ rootId: root.id, limit: 1, offset: 1 })).toEqual([b])
    expect(await list({ instanceId: 'no id' })).toEqual([])
    expect(await store.read.countListedRuns({ ...RUNS, rootId: root.id, limit: 1 }, 1000)).toBe(3)
    expect(await store.read.countListedRuns(RUNS, 2)).toBe(2)
    expect(await store.read.countListedInstances({ ...INSTANCES, rootsOnly: true }, 10)).toBe(1)
  })

  it('lists instances by the kind of their net', async () => {
    const { store } = current()
    const net = (hash: string, kind?: string) => ({
      hash,
      name: 'n',
      dialect: 'ojs',
      net: JSON.stringify({ version: 1, ...(kind === undefined ? {} : { kind }) }),
    })
    const [chain, batch, plain] = [
      anInstance({ netHash: 'h-chain' }),
      anInstance({ netHash: 'h-batch' }),
      anInstance({ netHash: 'h-plain' }),
    ]
    await put(store, {
      nets: [net('h-chain', 'chain'), net('h-batch', 'batch'), net('h-plain')],
      instances: { insert: [chain, batch, plain] },
    })
    const list = async (kind: string | null) => ids(await store.read.listInstances({ ...INSTANCES, kind }))
    expect(await list('chain')).toEqual([chain.id])
    expect(await list('batch')).toEqual([batch.id])
    expect(await list('group')).toEqual([])
    expect(await list(null)).toHaveLength(3)
    expect(await store.read.countListedInstances({ ...INSTANCES, kind: 'chain' }, 10)).toBe(1)
  })

  it('counts pending and held runs by queue, for all kinds of holders', async () => {
    const { store } = current()
    const deferred = aRun({ queue: 'q', status: 'leased', leasedBy: 'w', leasedAt: T0, deferred: true })
    const own = aRun({
      queue: 'q',
      status: 'leased',
      leasedBy: 'w',
      leaseUntil: T0 + 9000,
      leaseMs: 9000,
      leasedAt: T0,
    })
    const gone = aRun({ queue: 'q', deletedAt: T0 })
    const rows = [...Object.values(parts('q')), ...Object.values(parts('r')), deferred, own, gone]
    await put(store, { runs: { insert: rows } })
    const one = { available: 1, scheduled: 1, retryable: 1, held: 1 }
    const q = { queue: 'q', ...one, leased: 3 }
    expect(await store.read.queueCounts({ queue: null })).toEqual([q, { queue: 'r', ...one, leased: 1 }])
    expect(await store.read.queueCounts({ queue: 'q' })).toEqual([q])
    expect(await store.read.queueCounts({ queue: 'none' })).toEqual([])
  })

  it('adds up totals by queue and minute', async () => {
    const { store } = current()
    const minute = T0 - (T0 % 60_000)
    const total = (given: Partial<TotalRow>): TotalRow => ({
      queue: 'q',
      minute,
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      retried: 0,
      ...given,
    })
    await store.sweep.addTotals({ totals: [] })
    await store.sweep.addTotals({ totals: [total({ succeeded: 2 }), total({ queue: 'r', failed: 1 })] })
    await store.sweep.addTotals({ totals: [total({ succeeded: 3, retried: 1 })] })
    await store.sweep.addTotals({ totals: [total({ minute: minute - 120_000, cancelled: 4 })] })
    expect(await store.read.totals({ queue: 'q', since: minute - 120_000 })).toEqual([
      total({ minute: minute - 120_000, cancelled: 4 }),
      total({ succeeded: 5, retried: 1 }),
    ])
    expect(await store.read.totals({ queue: null, since: minute })).toEqual([
      total({ minute: 0, cancelled: 4 }),
      total({ succeeded: 5, retried: 1 }),
      total({ queue: 'r', failed: 1 }),
    ])
  })

  it('sums what passed through all queues by minute, the latest minutes up to a bound', async () => {
    const { store } = current()
    const minute = T0 - (T0 % 60_000)
    const ended = (queue: string, minutesAgo: number) => ({
      queue,
      minute: minute - minutesAgo * 60_000,
      succeeded: 1,
      failed: 0,
      cancelled: 0,
      retried: 0,
      busyMs: 30,
      runTimes: [0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    })
    const add = (totals: readonly ReturnType<typeof ended>[]) => store.sweep.addTotals({ totals })
    const read = async () => {
      const { rows, cut } = await store.read.overview.minutes({ since: minute - 3_600_000 })
      return [rows.map((row) => [(minute - row.minute) / 60_000, row.succeeded, row.busyMs, row.runTimes[1]]), cut]
    }
    await add([ended('idle', 30), ended('a', 1), ended('b', 1), ended('old', 61)])
    expect(await read()).toEqual([
      [
        [30, 1, 30, 1],
        [1, 2, 60, 2],
      ],
      false,
    ])
    const many = Array.from({ length: MAX_SUMMED_MINUTES - 1 }, (_, n) => ended(`q${n}`, 0))
    await add(many)
    expect(await read()).toEqual([
      [
        [1, 1, 30, 1],
        [0, many.length, many.length * 30, many.length],
      ],
      true,
    ])
  })

  it('returns the errors of many runs since they were created or redriven, the newest ones', async () => {
    const { store } = current()
    const [a, b, c] = [aRun(), aRun(), aRun()]
    const at = (n: number) => T0 + n * 10
    const failed = (run: RunRow, code: string, n: number, type = 'retried') =>
      anEvent({
        runId: run.id,
        type,
        at: at(n),
        data: JSON.stringify({
          attempt: n,
          error: { code },
          ...(type === 'retried' ? { run_at: iso(at(n) + 500) } : {}),
        }),
      })
    await put(store, {
      runs: { insert: [a, b, c] },
      events: [
        anEvent({ runId: a.id, type: 'created' }),
        failed(a, 'forgotten', 1, 'failed'),
        anEvent({ runId: a.id, type: 'redriven', at: at(2) }),
        failed(a, 'one', 3),
        failed(a, 'two', 4),
        failed(a, 'three', 5, 'failed'),
        failed(b, 'other', 6, 'returned'),
        anEvent({ runId: c.id, type: 'succeeded', data: '{"attempt":1}' }),
      ],
    })
    const runIds = [...ids([a, b, c]), newId(), 'no id']
    const errors = await store.read.errorsOf({ runIds, limit: 2 })
    expect([...errors.keys()].sort()).toEqual(ids([a, b]).sort())
    expect(errors.get(a.id)?.map((e) => ({ ...e, error: JSON.parse(e.error) }))).toEqual([
      { at: at(4), type: 'retried', attempt: 4, error: { code: 'two' }, runAt: at(4) + 500 },
      { at: at(5), type: 'failed', attempt: 5, error: { code: 'three' }, runAt: null },
    ])
    expect(errors.get(b.id)).toHaveLength(1)
    expect((await store.read.errorsOf({ runIds, limit: 10 })).get(a.id)).toHaveLength(3)
    const histories = await store.read.histories({ runIds })
    expect([...histories.keys()].sort()).toEqual(ids([a, b, c]).sort())
    for (const run of [a, b, c]) expect(histories.get(run.id)).toEqual(await store.read.runHistory(run.id))
  })

  it('pages through the global feed with filters', async () => {
    const { store } = current()
    const [mail, bill] = [
      aRun({ queue: 'mail', type: 'mail.send' }),
      aRun({ queue: 'bill', type: 'bill.pay', tenant: 'acme' }),
    ]
    const instance = anInstance()
    expect(await store.read.feedStart()).toBe(0)
    const before = await store.read.feedEnd()
    await put(store, {
      runs: { insert: [mail, bill] },
      instances: { insert: [instance] },
      events: [
        anEvent({ runId: mail.id, type: 'created' }),
        anEvent({ runId: bill.id, type: 'created', tenant: 'acme' }),
        anEvent({ instanceId: instance.id, type: 'instance.created', seq: 1 }),
        anEvent({ runId: mail.id, type: 'started' }),
        anEvent({ runId: mail.id, type: 'succeeded' }),
      ],
    })
    const [start, end] = [await store.read.feedStart(), await store.read.feedEnd()]
    expect([start > before, end - start]).toEqual([true, 4])
    const page = async (query: Partial<EventQuery>) => {
      const { events, ...rest } = await store.read.events({ afterId: 0, limit: 10, ...query })
      return [events.map((e) => e.type), rest] as const
    }
    const all = { cursor: end, more: false }
    expect(await page({})).toEqual([['created', 'created', 'instance.created', 'started', 'succeeded'], all])
    expect(await page({ types: ['succeeded', 'started'] })).toEqual([['started', 'succeeded'], all])
    expect(await page({ queues: ['bill'] })).toEqual([['created'], all])
    expect(await page({ runTypes: ['mail.send'] })).toEqual([['created', 'started', 'succeeded'], all])
    expect(await page({ tenant: 'acme' })).toEqual([['created'], all])
    expect(await page({ runId: bill.id })).toEqual([['created'], all])
    expect(await page({ instanceId: instance.id })).toEqual([['instance.created'], all])
    expect(await page({ types: ['failed'] })).toEqual([[], all])
    expect(await page({ limit: 2 })).toEqual([['created', 'created'], { cursor: start + 1, more: true }])
    expect(await page({ afterId: start + 1, limit: 3 })).toEqual([['instance.created', 'started', 'succeeded'], all])
    expect(await page({ afterId: end })).toEqual([[], all])
  })

  it('finds the events of one run however many others came before them', async () => {
    const { store } = current()
    const others = Array.from({ length: 21_000 }, () => anEvent({ type: 'queue.paused' }))
    const run = aRun()
    await put(store, { runs: { insert: [run] }, events: others })
    await put(store, { events: [anEvent({ runId: run.id, type: 'created' })] })
    const page = await store.read.events({ afterId: 0, limit: 10, runId: run.id })
    expect([page.events.map(({ type }) => type), page.more]).toEqual([['created'], false])
  })

  it('reports that there is more when a full page ends at the previous end of the feed', async () => {
    const { store } = current()
    const events = (n: number) => Array.from({ length: n }, () => anEvent({ type: 'queue.paused' }))
    await put(store, { events: events(2) })
    const end = await store.read.feedEnd()
    await put(store, { events: events(1) })
    const page = await store.read.events({ afterId: 0, limit: 2 })
    expect([page.events.length, page.cursor, page.more]).toEqual([2, end, true])
    const rest = await store.read.events({ afterId: page.cursor, limit: 2 })
    expect([rest.events.length, rest.more]).toEqual([1, false])
  })

  it('is empty after a reset, and event numbers continue', async () => {
    const { store } = current()
    const instance = anInstance({ netHash: 'kept' })
    await put(store, {
      nets: [{ hash: 'kept', name: 'n', dialect: 'd', net: '{}' }],
      instances: { insert: [instance] },
      runs: { insert: [aStep(instance, 'a'), aRun({ idempotencyKey: 'k' })] },
      slots: { put: [{ instanceId: instance.id, key: 'in', value: '1' }] },
      queues: [{ name: 'q', paused: true }],
      schedules: { put: [aSchedule('s')] },
      events: [anEvent({ type: 'queue.paused' })],
    })
    const end = await store.read.feedEnd()
    await store.reset()
    expect(await store.read.listRuns(RUNS)).toEqual([])
    expect(await store.read.instance(instance.id)).toBeNull()
    expect([[...(await store.read.queuesPaused())], await store.read.schedules()]).toEqual([[], []])
    expect(await store.read.net('kept')).not.toBeNull()
    await put(store, {
      runs: { insert: [aRun({ idempotencyKey: 'k' })] },
      events: [anEvent({ type: 'queue.resumed' })],
    })
    expect((await store.read.feed({ afterId: end, limit: 10 })).map((e) => e.type)).toEqual(['queue.resumed'])
    expect(await store.read.doctor()).toEqual([])
  })
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
