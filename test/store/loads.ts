import { expect, it } from 'vitest'
import { SLOT } from '../../src/net/slots.ts'
import { aGate, aLeasedRun, anEndedInstance, anInstance, aRun, aStep, aWorker, newId, T0 } from './rows.ts'
import { ids, load, put } from './subject.ts'
import type { Current } from './suite.ts'

export function loadTopic(current: Current): void {
  it('reads slots by key, by prefix and the highest under a prefix', async () => {
    const { store } = current()
    const instance = anInstance()
    const slot = (key: string) => ({ instanceId: instance.id, key, value: JSON.stringify(key) })
    const keys = ['c:a', 'c:b', 'c', 'd:1', 'u:000001', 'u:000002', 'u:000010', 'u_x', 'u%']
    const other = anInstance()
    await put(store, {
      instances: { insert: [instance, other] },
      slots: { put: [...keys.map(slot), { instanceId: other.id, key: 'c:z', value: '1' }] },
    })
    const at = instance.id
    const loaded = await load(store, {
      slots: [{ instanceId: at, keys: ['c:a', 'c:z'] }],
      slotsWith: ['c:', 'u_', 'u%', ''].map((prefix) => ({ instanceId: at, prefix })),
      topSlot: ['u:', 'd:', 'x:'].map((prefix) => ({ instanceId: at, prefix })),
    })
    expect(loaded.slots.get(`${at}/c:a`)).toBe('"c:a"')
    expect(loaded.slots.get(`${at}/c:z`)).toBeNull()
    expect(loaded.slotsWith.get(`${at}/c:`)).toEqual([slot('c:a'), slot('c:b')])
    expect(loaded.slotsWith.get(`${at}/u_`)).toEqual([slot('u_x')])
    expect(loaded.slotsWith.get(`${at}/u%`)).toEqual([slot('u%')])
    expect(loaded.slotsWith.get(`${at}/`)).toHaveLength(keys.length)
    expect(loaded.topSlot.get(`${at}/u:`)).toEqual(slot('u:000010'))
    expect(loaded.topSlot.get(`${at}/d:`)).toEqual(slot('d:1'))
    expect(loaded.topSlot.get(`${at}/x:`)).toBeNull()
    expect(await store.read.slots({ instanceId: at, prefix: SLOT.context.prefix })).toEqual([slot('c:a'), slot('c:b')])
    expect(await store.read.slot({ instanceId: at, key: SLOT.context.key('a') })).toBe(slot('c:a').value)
    expect(await store.read.slot({ instanceId: at, key: SLOT.context.key('') })).toBeNull()
  })

  it('reads items across chunks', async () => {
    const { store } = current()
    const instance = anInstance()
    const chunk = (first: number, values: readonly unknown[], fire = 1) => ({
      instanceId: instance.id,
      node: 'loop',
      fire,
      first,
      values: JSON.stringify(values),
    })
    await put(store, {
      instances: { insert: [instance] },
      items: [chunk(0, [0, 1, 2]), chunk(3, [3, { n: 4 }, null]), chunk(6, [6]), chunk(0, ['literal'], 0)],
    })
    const key = (index: number, fire = 1) => `${instance.id}/loop/${fire}/${index}`
    const read = (from: number, count: number, fire = 1) =>
      load(store, { items: [{ instanceId: instance.id, node: 'loop', fire, from, count }] })
    const some = (await read(2, 4)).items
    expect([...some.keys()].sort()).toEqual([key(2), key(3), key(4), key(5)])
    expect([some.get(key(2)), JSON.parse(some.get(key(4))!), some.get(key(5))]).toEqual(['2', { n: 4 }, 'null'])
    expect([...(await read(6, 100)).items.entries()]).toEqual([[key(6), '6']])
    expect((await read(7, 5)).items.size).toBe(0)
    expect([...(await read(0, 1, 0)).items.values()]).toEqual(['"literal"'])
  })

  it('finds the pending work of an instance, and none that is held', async () => {
    const { store } = current()
    const instance = anInstance({ open: 6 })
    const sessionId = newId()
    const held = (node: string, given = {}) =>
      aLeasedRun({ ...aStep(instance, node), sessionId, status: 'leased', leasedAt: T0, leasedBy: 'w', ...given })
    const pending = [aStep(instance, 'first'), aStep(instance, 'retrying', { attempt: 1 }), aStep(instance, 'third')]
    const others = [
      held('delivered'),
      held('started', { startedAt: T0 + 1 }),
      held('foreign', { sessionId: null, leaseUntil: T0 + 60_000 }),
      aStep(instance, 'done', { status: 'succeeded', settledAt: T0, finishedAt: T0 }),
      aRun(),
    ]
    await put(store, {
      instances: { insert: [instance] },
      workers: { put: [aWorker({ id: sessionId })] },
      runs: { insert: [...pending, ...others] },
    })
    const found = (await load(store, { unstarted: [{ instanceId: instance.id, limit: 10 }] })).unstarted.get(
      instance.id,
    )!
    expect(ids(found).sort()).toEqual(ids(pending).sort())
    const two = (await load(store, { unstarted: [{ instanceId: instance.id, limit: 2 }] })).unstarted.get(instance.id)!
    expect(two).toHaveLength(2)
  })

  it('finds open attached children and open gates, up to a limit', async () => {
    const { store } = current()
    const parent = anInstance()
    const child = (given = {}) =>
      anInstance({ rootId: parent.id, parentId: parent.id, parentNode: 'sub', depth: 1, ...given })
    const children = [child({ parentItem: 0 }), child({ parentItem: 1 })]
    const ended = anEndedInstance({ rootId: parent.id, parentId: parent.id, parentNode: 'sub', parentItem: 2 })
    const detached = child({ parentNode: null })
    const gates = [aGate(parent), aGate(parent, { node: 'second' })]
    await put(store, {
      instances: { insert: [parent, ...children, ended, detached] },
      gates: { insert: [...gates, aGate(parent, { node: 'third', state: 'approved' }), aGate(children[0]!)] },
    })
    const need = (limit: number) => ({
      openChildren: [{ instanceId: parent.id, limit }],
      openGates: [{ instanceId: parent.id, limit }],
    })
    const all = await load(store, need(10))
    expect(ids(all.openChildren.get(parent.id)!)).toEqual(ids(children))
    expect(ids(all.openGates.get(parent.id)!)).toEqual(ids(gates))
    const one = await load(store, need(1))
    expect([one.openChildren.get(parent.id)!.length, one.openGates.get(parent.id)!.length]).toEqual([1, 1])
  })

  it('finds the latest run and child at a place', async () => {
    const { store } = current()
    const parent = anInstance()
    const at = (node: string, fire: number, given = {}) => aStep(parent, node, { fire, ...given })
    const latest = at('a', 4)
    const item = at('loop', 2, { item: 1 })
    const child = (parentFire: number, parentItem = -1) =>
      anInstance({ rootId: parent.id, parentId: parent.id, parentNode: 'sub', parentFire, parentItem })
    const latestChild = child(3)
    await put(store, {
      instances: { insert: [parent, child(1), latestChild, child(2), child(9, 0)] },
      runs: { insert: [at('a', 1), latest, at('a', 5, { role: 'undo' }), item, at('loop', 3, { item: 0 })] },
    })
    const place = (node: string, item = -1) => ({ instanceId: parent.id, node, item })
    const loaded = await load(store, {
      places: [place('a'), place('loop', 1), place('loop', 7)],
      childPlaces: [place('sub'), place('sub', 7)],
    })
    expect(loaded.places.get(`${parent.id}/a/-1`)?.id).toBe(latest.id)
    expect(loaded.places.get(`${parent.id}/loop/1`)?.id).toBe(item.id)
    expect(loaded.places.get(`${parent.id}/loop/7`)).toBeNull()
    expect(loaded.childPlaces.get(`${parent.id}/sub/-1`)?.id).toBe(latestChild.id)
    expect(loaded.childPlaces.get(`${parent.id}/sub/7`)).toBeNull()
  })

  it('returns the recorded hand-off for a repeated report', async () => {
    const { store } = current()
    const sessionId = newId()
    const handed = aLeasedRun({ sessionId, reportId: 'r1' })
    await put(store, {
      workers: { put: [aWorker({ id: sessionId })] },
      runs: {
        insert: [
          handed,
          aLeasedRun({ sessionId, reportId: 'r2' }),
          aLeasedRun({ sessionId: newId(), reportId: 'r1' }),
          aRun({ status: 'succeeded', reportId: 'r1', settledAt: T0, finishedAt: T0 }),
        ],
      },
    })
    const loaded = await load(store, {
      handedBy: [
        { sessionId, reportId: 'r1' },
        { sessionId, reportId: 'r9' },
      ],
    })
    expect(loaded.handedBy.get(`${sessionId}/r1`)).toEqual([handed])
    expect(loaded.handedBy.get(`${sessionId}/r9`)).toEqual([])
  })
}
