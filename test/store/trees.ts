import { expect, it } from 'vitest'
import type { RootQuery } from '../../src/model/queries/trees.ts'
import type { InstanceRow } from '../../src/model/rows.ts'
import { SLOT } from '../../src/net/slots.ts'
import { aGate, anEndedInstance, anInstance, aRun, aStep, newId, T0 } from './rows.ts'
import { ids, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const ALL = 1_000_000
const ROOTS: RootQuery = {
  dialect: 'ojs',
  states: null,
  begun: null,
  name: null,
  tenant: null,
  kind: null,
  limit: 100,
  offset: 0,
  before: null,
}

/** A nested instance at a place of its parent. */
function nested(parent: InstanceRow, given: Partial<InstanceRow> = {}): InstanceRow {
  return anInstance({
    rootId: parent.rootId,
    parentId: parent.id,
    parentNode: 'sub',
    depth: parent.depth + 1,
    ...given,
  })
}

export function treeTopic(current: Current): void {
  it('reads a tree from the root down: attached children only, lists in a window, up to a limit', async () => {
    const { store } = current()
    const root = anInstance()
    const a = nested(root, { parentItem: 0 })
    const b = nested(root, { parentItem: 1 })
    const c = nested(root, { parentItem: 7 })
    const deep = nested(a)
    const detached = anInstance({ parentId: root.id })
    await put(store, { instances: { insert: [root, a, b, c, deep, detached, anInstance()] } })
    const below = async (from: number, count: number, limit = ALL) =>
      ids(await store.read.trees.below({ windows: [{ instanceId: root.id, from, count }], limit }))
    expect(await below(0, ALL)).toEqual(ids([root, a, b, c, deep]))
    expect(await below(1, 2)).toEqual(ids([root, b]))
    expect(await below(0, ALL, 2)).toEqual(ids([root, a]))
    expect(await store.read.trees.below({ windows: [], limit: 10 })).toEqual([])
    const around = await store.read.trees.ancestors({ ids: [deep.id, c.id, newId()] })
    expect(ids(around).sort()).toEqual(ids([root, a, c, deep]).sort())
    expect(ids(await store.read.trees.ancestors({ ids: [detached.id] }))).toEqual([detached.id])
    expect(await store.read.trees.ancestors({ ids: [] })).toEqual([])
  })

  it('shows steps with their failures, long ones truncated, and gates without their input', async () => {
    const { store } = current()
    const instance = anInstance()
    const short = { code: 'declined', message: 'no money', details: { card: 7 } }
    const long = { code: 'declined', message: 'x'.repeat(20_000), category: 'permanent', details: 'y'.repeat(900_000) }
    const failed = (node: string, error: object) =>
      aStep(instance, node, { status: 'failed', error: JSON.stringify(error), settledAt: T0, finishedAt: T0 })
    const gate = aGate(instance, { node: 'gate', args: JSON.stringify('z'.repeat(900_000)) })
    await put(store, {
      instances: { insert: [instance] },
      runs: { insert: [failed('a', short), failed('b', long)] },
      gates: { insert: [gate] },
    })
    const nodes = ['a', 'b', 'gate'].map((node) => ({ instanceId: instance.id, node }))
    const [a, b] = await store.read.steps.runsAt(nodes)
    expect(JSON.parse(a!.error!)).toEqual(short)
    const { message, details, ...rest } = JSON.parse(b!.error!)
    expect(rest).toEqual({ code: 'declined', category: 'permanent' })
    expect([message.length, details.$omitted.bytes > 900_000]).toEqual([1_000, true])
    const [shown] = await store.read.steps.gatesAt(nodes)
    expect(shown).toEqual({ ...gate, args: null, answer: null })
  })

  it('reads places in order, with results up to a budget of bytes', async () => {
    const { store } = current()
    const list = anInstance()
    const other = anInstance()
    const done = (item: number, result: string) => aStep(list, 'jobs', { item, status: 'succeeded', result })
    const runs = [done(2, '"cccc"'), done(0, '"aaaa"'), done(1, '"bbbb"'), aStep(list, 'end', { role: 'final' })]
    const undo = aStep(list, 'jobs', { item: 0, role: 'undo' })
    const failed = aStep(other, '0', { status: 'failed', error: '{"code":"x","message":"y"}', meta: '{"a":1}' })
    const cancelled = aStep(other, '1', { status: 'cancelled' })
    await put(store, {
      instances: { insert: [list, other] },
      runs: { insert: [...runs, undo, failed, cancelled, aRun()] },
    })
    const read = (windows: readonly (readonly [InstanceRow, number, number])[], rest: object = {}) =>
      store.read.trees.placesOf({
        windows: windows.map(([row, from, count]) => ({ instanceId: row.id, from, count })),
        failedOnly: false,
        limit: 100,
        maxBytes: 1000,
        ...rest,
      })
    const places = await read([[list, 0, ALL]])
    expect(places.map((r) => [r.node, r.item, r.result])).toEqual([
      ['end', -1, null],
      ['jobs', 0, '"aaaa"'],
      ['jobs', 1, '"bbbb"'],
      ['jobs', 2, '"cccc"'],
    ])
    expect((await read([[list, 1, 1]])).map((r) => r.item)).toEqual([-1, 1])
    const cut = await read([[list, 0, ALL]], { maxBytes: 12 })
    expect(cut.map((r) => [r.result, r.omitted])).toEqual([
      [null, false],
      ['"aaaa"', false],
      ['"bbbb"', false],
      [null, true],
    ])
    expect(await read([[list, 0, ALL]], { limit: 2 })).toHaveLength(2)
    expect(
      ids(
        await read(
          [
            [list, 0, ALL],
            [other, 0, ALL],
          ],
          { failedOnly: true },
        ),
      ),
    ).toEqual([failed.id])
    const [brief] = await store.read.trees.briefs({ ids: [failed.id, newId()], maxBytes: 0 })
    expect(brief).toMatchObject({
      id: failed.id,
      instanceId: other.id,
      type: failed.type,
      status: 'failed',
      error: '{"code":"x","message":"y"}',
      meta: '{"a":1}',
      createdAt: T0,
      startedAt: null,
      unknown: false,
      omitted: false,
    })
  })

  it('counts the runs of a tree: nested instances by their own counts, not as one', async () => {
    const { store } = current()
    const root = anInstance({ succeeded: 3, failed: 2 })
    const good = anEndedInstance({ ...at(root), state: 'completed', succeeded: 5, failed: 1 })
    const bad = anEndedInstance({ ...at(root), state: 'failed', succeeded: 1, failed: 4 })
    const stopped = anEndedInstance({ ...at(root), state: 'cancelled', succeeded: 7 })
    const open = anInstance({ ...at(root), succeeded: 2 })
    const callback = anEndedInstance({ ...at(root), parentRole: 'final', state: 'completed', succeeded: 100 })
    const alone = anInstance({ succeeded: 9 })
    await put(store, { instances: { insert: [root, good, bad, stopped, open, callback, alone] } })
    const totals = await store.read.trees.totals({ ids: [root.id, alone.id, good.id] })
    expect(totals.get(root.id)).toEqual({ succeeded: 3 - 1 + 5 + 1 + 7 + 2, failed: 2 - 1 - 1 + 1 + 4 })
    expect(totals.get(good.id)).toEqual({ succeeded: 5, failed: 1 })
    expect(totals.get(alone.id)).toEqual({ succeeded: 9, failed: 0 })
  })

  it('finds the trees in which work is due or has begun', async () => {
    const { store } = current()
    await setClock(store, 0)
    const later = { runAt: T0 + 3_600_000 }
    const fresh = (given: Partial<InstanceRow> = {}) => anInstance({ dialect: 'ojs', startedAt: null, ...given })
    const waits = fresh()
    const due = fresh()
    const inner = nested(due, { startedAt: null })
    const active = fresh()
    const recorded = fresh({ startedAt: T0 })
    const empty = fresh()
    await put(store, {
      instances: { insert: [waits, due, inner, active, recorded, empty] },
      runs: {
        insert: [
          aStep(waits, 'a', later),
          aStep(due, 'a', later),
          aStep(inner, 'a', { runAt: T0 - 1000 }),
          aStep(active, 'a', { ...later, status: 'succeeded', settledAt: T0 }),
        ],
      },
    })
    const begun = await store.read.trees.begun({ ids: ids([waits, due, active, recorded, empty]) })
    expect([...begun].sort()).toEqual(ids([due, active, recorded]).sort())
    const roots = async (query: Partial<RootQuery>) => ids(await store.read.trees.roots({ ...ROOTS, ...query }))
    expect(await roots({ begun: true })).toEqual(ids([recorded, active, due]))
    expect(await roots({ begun: false })).toEqual(ids([empty, waits]))
    await setClock(store, 3_600_001)
    expect([...(await store.read.trees.begun({ ids: [waits.id] }))]).toEqual([waits.id])
  })

  it('lists and counts roots, newest first, by every filter and in pages', async () => {
    const { store } = current()
    const net = (hash: string, kind: string) => ({ hash, name: 'n', dialect: 'ojs', net: JSON.stringify({ kind }) })
    const a = anInstance({ dialect: 'ojs', netHash: 'h1', name: 'one', tenant: 'acme' })
    const b = anInstance({ dialect: 'ojs', netHash: 'h2', name: 'one' })
    const c = anEndedInstance({ dialect: 'ojs', netHash: 'h1', name: 'two', state: 'failed' })
    const inner = nested(a, { dialect: 'ojs' })
    await put(store, {
      nets: [net('h1', 'chain'), net('h2', 'group')],
      instances: { insert: [a, b, c, inner, anInstance({ dialect: 'saga' })] },
    })
    const roots = async (query: Partial<RootQuery>) => ids(await store.read.trees.roots({ ...ROOTS, ...query }))
    expect(await roots({})).toEqual(ids([c, b, a]))
    expect(await roots({ kind: 'chain' })).toEqual(ids([c, a]))
    expect(await roots({ name: 'one', kind: 'group' })).toEqual([b.id])
    expect(await roots({ tenant: 'acme' })).toEqual([a.id])
    expect(await roots({ states: ['failed', 'cancelled'] })).toEqual([c.id])
    expect(await roots({ limit: 1, offset: 1 })).toEqual([b.id])
    expect(await roots({ before: b.id })).toEqual([a.id])
    expect(await store.read.trees.countRoots(ROOTS, 100)).toBe(3)
    expect(await store.read.trees.countRoots(ROOTS, 2)).toBe(2)
    expect(await store.read.trees.countRoots({ ...ROOTS, kind: 'group' }, 100)).toBe(1)
  })

  it('reserves all names permanently, or none of them', async () => {
    const { store } = current()
    const root = anInstance({ startKey: 'k:a' })
    const names = (rootId: string, ...list: string[]) => list.map((name) => ({ name, rootId }))
    await put(store, { instances: { insert: [root] }, names: names(root.id, 'k:a', 'k:b') })
    expect(await store.read.trees.nameHolders(['k:a', 'k:b', 'k:c'])).toEqual(
      new Map([
        ['k:a', root.id],
        ['k:b', root.id],
      ]),
    )
    const late = anInstance()
    await expect(
      put(store, { instances: { insert: [late] }, names: names(late.id, 'k:c', 'k:b') }),
    ).rejects.toMatchObject({ name: 'StoreConflictError' })
    expect(await store.read.instance(late.id)).toBeNull()
    expect(await store.read.trees.nameHolders(['k:c'])).toEqual(new Map())
    expect((await store.read.trees.instanceByKey('k:a'))?.id).toBe(root.id)
    expect(await store.read.trees.instanceByKey('k:b')).toBeNull()
  })

  it('reads slots of several instances by their prefixes or their keys, and nets by their hashes', async () => {
    const { store } = current()
    const [a, b] = [anInstance(), anInstance()]
    const slot = (row: InstanceRow, key: string) => ({ instanceId: row.id, key, value: `"${key}"` })
    const slots = [slot(a, 'a:0'), slot(a, 'b:1'), slot(b, 'a:1'), slot(b, 'n:x'), slot(b, 'x'), slot(b, 'x:1')]
    await put(store, {
      instances: { insert: [a, b] },
      slots: { put: slots },
      nets: [{ hash: 'h1', name: 'n', dialect: 'ojs', net: '{}' }],
    })
    const read = await store.read.trees.slotsOf({
      instanceIds: [a.id, b.id],
      prefixes: [SLOT.literals.prefix, SLOT.givenItems.prefix],
    })
    const order = (list: readonly { readonly instanceId: string; readonly key: string }[]) =>
      list.map((s) => `${s.instanceId}/${s.key}`).sort()
    expect(order(read)).toEqual(order([slots[0], slots[2], slots[3]] as typeof slots))
    const exact = await store.read.trees.slotsAt({
      instanceIds: [a.id, b.id],
      keys: [SLOT.literals.key(0), SLOT.literals.key(1), SLOT.givenItems.key('y'), SLOT.cancelledAt.key],
    })
    expect(order(exact)).toEqual(order([slots[0], slots[2], slots[4]] as typeof slots))
    expect((await store.read.trees.nets(['h1', 'h2'])).map((net) => net.hash)).toEqual(['h1'])
  })
}

function at(parent: InstanceRow): Partial<InstanceRow> {
  return { rootId: parent.rootId, parentId: parent.id, parentNode: 'sub' }
}
