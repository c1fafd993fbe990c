import { expect, it } from 'vitest'
import type { InstanceRow } from '../../src/model/rows.ts'
import { aLimit, anEndedInstance, anInstance, newId, T0 } from './rows.ts'
import { ids, load, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const KEY = 'workflow::order'
const OTHER = 'workflow:acme:order'

const queued = (queuedAt: number, given: Partial<InstanceRow> = {}): InstanceRow =>
  anInstance({ state: 'queued', open: 0, live: 0, startedAt: null, quotaKey: KEY, queuedAt: T0 + queuedAt, ...given })
const executing = (state: InstanceRow['state'], quotaKey = KEY): InstanceRow => anInstance({ state, quotaKey })

export function slotTopic(current: Current): void {
  it('returns the queue of a key in the order of entry, as far as slots are free', async () => {
    const { store } = current()
    const [third, first, second, same] = [queued(3), queued(1), queued(2), queued(3, { id: newId() })]
    const others = [
      queued(0, { quotaKey: OTHER }),
      executing('waiting'),
      anInstance({ state: 'idle', quotaKey: KEY }),
      anEndedInstance({ quotaKey: KEY, queuedAt: T0 }),
    ]
    await put(store, {
      instances: { insert: [third, first, second, same, ...others] },
      limits: [aLimit(KEY, { maxConcurrent: 3, inUse: 1 })],
    })
    const next = (limit: number) => store.sweep.nextQueued({ key: KEY, limit, skip: [] })
    expect(await next(10)).toEqual([first, second].map(({ id, netHash }) => ({ id, netHash })))
    expect(ids(await next(1))).toEqual([first.id])
    await put(store, { limits: [aLimit(KEY, { maxConcurrent: 1, inUse: 4 })] })
    expect(await next(10)).toEqual([])
    await put(store, { limits: [aLimit(KEY, { maxConcurrent: null, inUse: 4 })] })
    expect(ids(await next(10))).toEqual([first.id, second.id, ...[third.id, same.id].sort()])
    expect(ids(await next(3))).toHaveLength(3)
    expect(await store.sweep.nextQueued({ key: 'workflow::unknown', limit: 10, skip: [] })).toEqual([])
  })

  it('counts the instances queued before an instance', async () => {
    const { store } = current()
    const rows = [queued(1), queued(2), queued(2), queued(3), queued(0, { quotaKey: OTHER })]
    await put(store, { instances: { insert: rows } })
    const before = (row: InstanceRow, atMost = 100) =>
      store.read.queuedBefore({ quotaKey: KEY, queuedAt: row.queuedAt as number, id: row.id, atMost })
    const [first, , , last] = rows as [InstanceRow, InstanceRow, InstanceRow, InstanceRow]
    expect([await before(first), await before(last), await before(last, 2)]).toEqual([0, 3, 2])
    const twins = [await before(rows[1] as InstanceRow), await before(rows[2] as InstanceRow)]
    expect(twins.sort()).toEqual([1, 2])
  })

  it('finds the keys with a queue and a free slot, and no others', async () => {
    const { store } = current()
    const keys = ['full', 'free', 'empty', 'unlimited'].map((name) => `workflow::${name}`)
    const [full, free, empty, unlimited] = keys as [string, string, string, string]
    await put(store, {
      instances: {
        insert: [
          ...[full, free, unlimited].map((quotaKey) => queued(1, { quotaKey })),
          anInstance({ state: 'idle', quotaKey: empty }),
        ],
      },
      limits: [
        aLimit(full, { maxConcurrent: 2, inUse: 2 }),
        aLimit(free, { maxConcurrent: 2, inUse: 1 }),
        aLimit(empty, { maxConcurrent: 2, inUse: 0 }),
        aLimit(unlimited, { maxConcurrent: null, inUse: 9 }),
        aLimit('queue:mail'),
      ],
    })
    expect(await store.sweep.freeQuotas({ limit: 10 })).toEqual([free, unlimited])
    expect(await store.sweep.freeQuotas({ limit: 1 })).toEqual([free])
  })

  it('lists the keys under which instances are queued', async () => {
    const { store } = current()
    await put(store, { instances: { insert: [queued(1), executing('running', OTHER)] } })
    const { queuedUnder } = await load(store, { queuedUnder: [KEY, OTHER, 'workflow::none'] })
    expect([...queuedUnder].sort()).toEqual(
      [
        [KEY, true],
        [OTHER, false],
        ['workflow::none', false],
      ].sort(),
    )
  })

  it('locks a limit that does not exist yet: two that create it are serialised', async () => {
    const { store, second } = current()
    const other = await second()
    const take = (on: typeof store) =>
      on.transact({
        roots: [],
        wait: true,
        need: { heldLimits: [KEY] },
        decide: (loaded) => {
          const before = loaded.limits.get(KEY)?.inUse ?? 0
          return { delta: { limits: [aLimit(KEY, { maxConcurrent: 100, inUse: before + 1 })] }, result: before }
        },
      })
    const seen = await Promise.all([store, other, store, other, store, other].map(take))
    expect(seen.sort()).toEqual([0, 1, 2, 3, 4, 5])
    expect((await store.read.limits()).map((limit) => limit.inUse)).toEqual([6])
  })

  it('leaves no trace of a limit that was only locked', async () => {
    const { store } = current()
    await load(store, { heldLimits: [KEY] })
    expect(await store.read.limits()).toEqual([])
  })

  it('recounts the instances that execute under a limit: neither idle, nor queued, nor ended', async () => {
    const { store } = current()
    await put(store, {
      instances: {
        insert: [
          ...(['running', 'waiting', 'cancelling', 'compensating'] as const).map((state) => executing(state)),
          executing('running', OTHER),
          queued(1),
          anInstance({ state: 'idle', quotaKey: KEY }),
          anEndedInstance({ quotaKey: KEY }),
        ],
      },
      limits: [aLimit(KEY, { inUse: 9 }), aLimit(OTHER, { inUse: 0 })],
    })
    const wrong = (await store.read.doctor()).filter((finding) => finding.check === 'limit_in_use')
    expect(wrong.map(({ subject, finding }) => [subject, finding]).sort()).toEqual(
      [
        [KEY, 'counts 9 in use, but 4 instances execute under it'],
        [OTHER, 'counts 0 in use, but 1 instances execute under it'],
      ].sort(),
    )
    await store.sweep.recountLimits({ keys: [KEY, OTHER] })
    expect(new Map((await store.read.limits()).map((limit) => [limit.key, limit.inUse]))).toEqual(
      new Map([
        [KEY, 4],
        [OTHER, 1],
      ]),
    )
  })

  it('finds the deadline of a queued instance, and nothing due of an idle one', async () => {
    const { store } = current()
    const waits = queued(1, { deadlineAt: T0 + 5_000 })
    await put(store, {
      instances: { insert: [waits, anInstance({ state: 'idle', quotaKey: KEY })] },
      limits: [aLimit(KEY, { maxConcurrent: 1, inUse: 1 })],
    })
    expect(await store.sweep.nextDueAt()).toBe(T0 + 5_000)
    await setClock(store, 10_000)
    expect(ids(await store.sweep.overdueInstances({ limit: 10 }))).toEqual([waits.id])
  })

  it('doctor finds an instance queued under no limit, which would never begin', async () => {
    const { store } = current()
    const [lost, stray, fine] = [queued(1, { quotaKey: null }), queued(2, { quotaKey: OTHER }), queued(3)]
    await put(store, { instances: { insert: [lost, stray, fine] }, limits: [aLimit(KEY)] })
    const found = (await store.read.doctor()).map(({ check, subject }) => [check, subject])
    expect(found.sort()).toEqual(
      [
        ['queued_for_ever', lost.id],
        ['queued_for_ever', stray.id],
      ].sort(),
    )
  })
}
