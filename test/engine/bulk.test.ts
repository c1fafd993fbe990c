/** Bulk operations: what is selected, how each item is settled, pace, stop and resume, faults, tenants. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OperationOrder } from '../../src/engine/api.ts'
import { HOLD_MS } from '../../src/engine/fold/bulk/operations.ts'
import { KEPT_MS } from '../../src/engine/time/bulk/runner.ts'
import { netHash } from '../../src/kernel/hash.ts'
import { sleep } from '../../src/kernel/sleep.ts'
import type { Operation, OperationItemRow } from '../../src/model/bulk/rows.ts'
import { parseInstanceSearch } from '../../src/model/search/parse.ts'
import { type Drive, net, node, ONCE, PLACES, undoBy } from './drive.ts'
import { open } from './specifications/stage.ts'

const ORDER: OperationOrder = {
  tenant: null,
  actor: 'ada',
  reason: 'the bank is back',
  action: 'retry',
  target: 'instances',
  query: 'state:failed',
  parameters: {},
  rate: null,
}

describe.each(PLACES)('bulk operations on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const once = net([node('pay', [], { retry: ONCE })], { name: 'order' })

  const order = (more: Partial<OperationOrder> = {}): Promise<Operation> => d.engine.bulk.create({ ...ORDER, ...more })

  /** Passes of the sweeper until it does not run any more. */
  async function ended(id: string): Promise<Operation> {
    for (const giveUpAt = performance.now() + 60_000; performance.now() < giveUpAt; await sleep(5)) {
      await d.pass(0)
      const found = (await d.engine.bulk.get(id)) as Operation
      if (found.state !== 'running') return found
    }
    throw new Error(`bulk operation ${id} does not end`)
  }

  const items = (id: string): Promise<readonly OperationItemRow[]> =>
    d.engine.bulk.items({ operationId: id, state: null, limit: 1_000, before: null })

  async function failed(count: number, more: object = {}): Promise<string[]> {
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(await d.start({ net: once, ...more }))
    await d.work(() => new Error('declined'))
    return ids
  }

  const events = async (): Promise<readonly { readonly type: string; readonly actor: string | null }[]> =>
    (await d.store.read.feed({ afterId: 0, limit: 10_000 })).filter(({ type }) => type.startsWith('operation.'))

  describe('the items', () => {
    it('each get the action once, and their result; the order is in the events', async () => {
      const ids = await failed(3)
      const { id } = await order()
      expect(await ended(id)).toMatchObject({
        state: 'completed',
        matched: 3,
        pending: 0,
        succeeded: 3,
        refused: 0,
        failed: 0,
        actor: 'ada',
        reason: 'the bank is back',
      })
      const settled = await items(id)
      expect(settled.map(({ itemId }) => itemId)).toEqual(ids.toReversed())
      for (const { itemId, newId, state } of settled) {
        expect(state).toBe('succeeded')
        expect(await d.store.read.instance(newId as string)).toMatchObject({ retryOf: itemId, state: 'running' })
      }
      expect(await d.work()).toEqual(['pay', 'pay', 'pay'])
      const recorded = await events()
      expect(recorded.map(({ type, actor }) => [type, actor])).toEqual([
        ['operation.created', 'ada'],
        ['operation.completed', null],
      ])
    })

    it('that do not admit the action are refused with the reason, and the others are not affected', async () => {
      const [first] = await failed(2)
      const live = await d.start({ net: once })
      const { id } = await order({ query: '', action: 'retry' })
      expect(await ended(id)).toMatchObject({ state: 'completed', matched: 3, succeeded: 2, refused: 1 })
      const [refused] = await d.engine.bulk.items({ operationId: id, state: 'refused', limit: 10, before: null })
      expect(refused).toMatchObject({ itemId: live, code: 'conflict', newId: null })
      expect(refused?.message).toContain('is still running; cancel it first')
      const left = await order({ query: 'state:failed -has:retry' })
      expect(await ended(left.id)).toMatchObject({ matched: 0 })
      const again = await order()
      expect(await ended(again.id)).toMatchObject({ matched: 2, succeeded: 0, refused: 2 })
      const [twice] = (await items(again.id)).filter(({ itemId }) => itemId === first)
      expect(twice).toMatchObject({ code: 'duplicate', message: expect.stringContaining('was retried') })
    })

    it('are not left out for a fork, or for a retry that was not ordered in bulk', async () => {
      const [forked, alone, bulk] = (await failed(3)) as [string, string, string]
      await d.engine.retryInstance({ id: forked, actor: null, fork: true })
      await d.engine.retryInstance({ id: alone, actor: null })
      const { search } = d.store.read
      const find = async (q: string) =>
        (await search.instances({ search: parseInstanceSearch(q), tenant: null, limit: 10, before: null })).rows
      expect((await find(`original:${forked},${alone}`)).map(({ retryOf }) => retryOf)).toEqual([alone, forked])
      const left = (await find('state:failed -has:retry')).map(({ id }) => id)
      expect(left.toSorted()).toEqual([forked, alone, bulk].toSorted())
      expect(await ended((await order()).id)).toMatchObject({ matched: 3, succeeded: 3 })
      expect((await find('has:retry')).map(({ id }) => id).toSorted()).toEqual([forked, alone, bulk].toSorted())
      expect(await find('state:failed -has:retry')).toEqual([])
    })

    it('are those that existed when it was ordered', async () => {
      await failed(2)
      const { id } = await order()
      await d.store.moveClock(1_000)
      await failed(1)
      expect(await ended(id)).toMatchObject({ matched: 2, succeeded: 2 })
    })

    it('are those of the tenant of its order', async () => {
      const [own] = await failed(1, { tenant: 'acme' })
      await failed(1, { tenant: 'other' })
      await failed(1)
      const { id } = await order({ tenant: 'acme' })
      expect(await ended(id)).toMatchObject({ matched: 1, succeeded: 1, tenant: 'acme' })
      expect((await items(id)).map(({ itemId }) => itemId)).toEqual([own])
      expect(await d.engine.bulk.list({ tenant: 'other', states: null, limit: 10, before: null })).toEqual([])
      const listed = await d.engine.bulk.list({ tenant: 'acme', states: ['completed'], limit: 10, before: null })
      expect(listed.map((one) => one.id)).toEqual([id])
    })

    it('may be none', async () => {
      const { id } = await order()
      expect(await ended(id)).toMatchObject({ state: 'completed', matched: 0, pending: 0 })
    })

    it('are listed in pages', async () => {
      const ids = (await failed(5)).toReversed()
      const { id } = await order()
      await ended(id)
      const page = await d.engine.bulk.items({ operationId: id, state: 'succeeded', limit: 3, before: null })
      expect(page.map(({ itemId }) => itemId)).toEqual(ids.slice(0, 3))
      const next = { operationId: id, state: null, limit: 3, before: page[2]?.itemId as string }
      expect((await d.engine.bulk.items(next)).map(({ itemId }) => itemId)).toEqual(ids.slice(3))
    })

    it('may be more than one page of the search', async () => {
      const started = await d.engine.start(Array.from({ length: 1_203 }, () => ({ net: once })))
      const { id } = await order({ action: 'cancel', query: 'state:running' })
      const done = await ended(id)
      expect(done).toMatchObject({ matched: started.length, succeeded: started.length, pending: 0 })
      expect(await d.store.read.countInstances()).toEqual(new Map([['cancelled', started.length]]))
    }, 60_000)
  })

  describe('the actions', () => {
    it('cancel: completed work stays, unless the notation undoes it', async () => {
      const undone = net([node('a', ['b'], { undo: undoBy('unpay') }), node('b')])
      const [stays, undoes] = [await d.start({ net: undone }), await d.start({ net: { ...undone, dialect: 'other' } })]
      await d.succeed(await d.claimOne())
      await d.succeed(await d.claimOne())
      const { id } = await order({ action: 'cancel', query: 'state:running', parameters: { undo: ['other'] } })
      await ended(id)
      expect([await d.state(stays), await d.state(undoes)]).toEqual(['cancelled', 'compensating'])
    })

    it('roll back: completed work is undone', async () => {
      const id = await d.start({ net: net([node('a', ['b'], { undo: undoBy('unpay') }), node('b')]) })
      await d.succeed(await d.claimOne())
      await ended((await order({ action: 'roll_back', query: 'state:running' })).id)
      expect(await d.work()).toEqual(['undo a'])
      expect(await d.state(id)).toBe('compensated')
    })

    it('pause and resume', async () => {
      const [first, second] = [await d.start({ net: once }), await d.start({ net: once })]
      const query = 'name:order state:running'
      await ended((await order({ action: 'pause', query, parameters: { timeouts: 'run' } })).id)
      expect(await d.claim()).toEqual([])
      const rows = await Promise.all([first, second].map((id) => d.store.read.instance(id)))
      expect(rows.map((row) => row?.paused)).toEqual(['run', 'run'])
      expect(await ended((await order({ action: 'pause', query })).id)).toMatchObject({ refused: 2 })
      expect(await ended((await order({ action: 'resume', query })).id)).toMatchObject({ succeeded: 2 })
      expect(await d.work()).toEqual(['pay', 'pay'])
      expect([await d.state(first), await d.state(second)]).toEqual(['completed', 'completed'])
    })

    it('delete: an ended tree is removed with everything; a live one is refused', async () => {
      const work = { kind: 'child', net: netHash(once), mode: 'attached', input: null } as const
      const parent = await d.start({ net: net([node('child', [], { work })]), nets: [once], startKey: 'parent' })
      await d.work()
      const [child] = await d.store.read.children(parent)
      const live = await d.start({ net: once })
      const { id } = await order({ action: 'delete', query: '' })
      expect(await ended(id)).toMatchObject({ matched: 2, succeeded: 1, refused: 1 })
      for (const gone of [parent, child?.id as string]) expect(await d.store.read.instance(gone)).toBeNull()
      const all = { status: null, queue: null, type: null, deadLetter: null, tenant: null, limit: 10, before: null }
      expect((await d.store.read.listRuns(all)).map(({ instanceId }) => instanceId)).toEqual([live])
      expect(await d.start({ net: once, startKey: 'parent' })).not.toBe(parent)
    })

    it('delete: a tree with more runs than one transaction removes', async () => {
      const keys = Array.from({ length: 1_020 }, (_, i) => `n${i}`)
      const id = await d.start({
        net: net(
          keys.map((key) => node(key)),
          { entry: keys },
        ),
      })
      await d.engine.cancelInstance({ id, actor: null })
      for (let passes = 0; (await d.state(id)) !== 'cancelled' && passes < 50; passes++) await d.pass(0)
      expect(await ended((await order({ action: 'delete', query: 'state:cancelled' })).id)).toMatchObject({
        succeeded: 1,
      })
      expect(await d.store.read.instance(id)).toBeNull()
      expect(await d.store.read.instanceRuns({ instanceId: id, limit: 10, after: null })).toEqual([])
    }, 60_000)

    it('redrive, cancel and delete runs; dismiss dead letters', async () => {
      const retry = { ...ONCE, deadLetter: true }
      const made = await d.engine.enqueue([1, 2, 3].map(() => ({ type: 'mail', payload: [], retry })))
      const first = made[0] as { id: string }
      await d.work(() => new Error('bounced'))
      const runs = { target: 'runs' } as const
      const redrive = await ended((await order({ ...runs, action: 'redrive', query: 'dead:true' })).id)
      expect(redrive).toMatchObject({ matched: 3, succeeded: 3 })
      expect((await d.store.read.run(first.id))?.status).toBe('pending')
      const cancel = await ended((await order({ ...runs, action: 'cancel', query: 'type:mail' })).id)
      expect(cancel).toMatchObject({ matched: 3, succeeded: 3 })
      const refused = await ended((await order({ ...runs, action: 'dismiss', query: 'type:mail' })).id)
      expect(refused).toMatchObject({ matched: 3, refused: 3 })
      const hidden = await ended((await order({ ...runs, action: 'delete', query: 'type:mail' })).id)
      expect(hidden).toMatchObject({ matched: 3, succeeded: 3 })
      expect((await d.store.read.run(first.id))?.deletedAt).not.toBeNull()
      expect(await ended((await order({ ...runs, action: 'delete', query: 'type:mail' })).id)).toMatchObject({
        matched: 0,
      })
    })

    it('redrive of a run of an ended workflow: the result names the new run', async () => {
      await failed(1)
      const { id } = await order({ target: 'runs', action: 'redrive', query: 'status:failed' })
      expect(await ended(id)).toMatchObject({ matched: 1, succeeded: 1 })
      const [item] = await items(id)
      expect(item?.newId).not.toBeNull()
      expect(await d.store.read.run(item?.newId as string)).toMatchObject({ status: 'pending', instanceId: null })
    })

    it('of a newer version are refused for each item', async () => {
      await failed(1)
      const { id } = await order({ action: 'teleport' as never })
      expect(await ended(id)).toMatchObject({ state: 'completed', refused: 1 })
    })
  })

  describe('the rate', () => {
    it('is one item per interval, by the clock of the store', async () => {
      await failed(5)
      const { id } = await order({ rate: 1 })
      const done = async (ms: number): Promise<number> => {
        await d.pass(ms)
        return ((await d.engine.bulk.get(id)) as Operation).succeeded
      }
      expect(await done(0)).toBe(1)
      expect(await done(0)).toBe(1)
      expect(await done(30_000)).toBe(1)
      expect(await done(30_000)).toBe(2)
      expect(await done(60_000)).toBe(3)
      // What was missed is not made up for.
      expect(await done(3_600_000)).toBe(4)
      expect(await done(0)).toBe(4)
      expect(await done(60_000)).toBe(5)
      expect(await ended(id)).toMatchObject({ state: 'completed', succeeded: 5 })
    })

    it('can be changed while it runs', async () => {
      await failed(4)
      const { id } = await order({ rate: 1 })
      await d.pass(0)
      expect(await d.engine.bulk.change({ id, rate: 60, actor: 'bob' })).toMatchObject({ rate: 60, succeeded: 1 })
      await d.pass(1_000)
      expect(await d.engine.bulk.get(id)).toMatchObject({ succeeded: 2 })
      await d.engine.bulk.change({ id, rate: null, actor: 'bob' })
      expect(await ended(id)).toMatchObject({ succeeded: 4, rate: null })
      expect((await events()).filter(({ type }) => type === 'operation.rate_changed')).toHaveLength(2)
    })

    it('survives a clock that is set back', async () => {
      await failed(3)
      await d.pass(3_600_000)
      const { id } = await order({ rate: 1 })
      await d.pass(0)
      await d.pass(-3_600_000)
      expect(await d.engine.bulk.get(id)).toMatchObject({ succeeded: 2 })
      await d.pass(30_000)
      expect(await d.engine.bulk.get(id)).toMatchObject({ succeeded: 2 })
      await d.pass(30_000)
      expect(await ended(id)).toMatchObject({ succeeded: 3 })
    })

    it('of one operation does not delay another', async () => {
      await failed(3)
      const slow = await order({ rate: 1 })
      const fast = await order({ action: 'delete' })
      expect(await ended(fast.id)).toMatchObject({ matched: 3, succeeded: 3 })
      expect(await d.engine.bulk.get(slow.id)).toMatchObject({ state: 'running' })
    })
  })

  it('operations take turns, those of different tenants first', async () => {
    const ordered: string[] = []
    for (const tenant of ['a', 'a', 'a', 'b', null]) ordered.push((await order({ tenant })).id)
    const due = (await d.store.bulk.due({ limit: 10 })).map(({ id }) => ordered.indexOf(id))
    expect(due.slice(0, 3).toSorted()).toEqual([0, 3, 4])
    expect(due.slice(3)).toEqual([1, 2])
    for (const id of ordered) await ended(id)
  })

  describe('stop and resume', () => {
    it('no item is changed while it is stopped, and the rest afterwards', async () => {
      await failed(3)
      const { id } = await order({ rate: 60 })
      await d.pass(0)
      expect(await d.engine.bulk.change({ id, state: 'stopped', actor: 'bob' })).toMatchObject({
        succeeded: 1,
        pending: 2,
      })
      await d.pass(60_000)
      expect(await d.engine.bulk.get(id)).toMatchObject({ state: 'stopped', succeeded: 1, pending: 2 })
      expect((await d.engine.bulk.get(id))?.endedAt).not.toBeNull()
      await expect(d.engine.bulk.change({ id, state: 'stopped', actor: null })).rejects.toMatchObject({
        code: 'conflict',
        details: { status: 'stopped', expected: 'running' },
      })
      expect(await d.engine.bulk.change({ id, state: 'running', actor: 'bob' })).toMatchObject({ endedAt: null })
      for (let i = 0; i < 3; i++) await d.pass(1_000)
      expect(await ended(id)).toMatchObject({ state: 'completed', succeeded: 3 })
      expect((await events()).map(({ type, actor }) => `${type} ${actor}`)).toEqual(
        expect.arrayContaining(['operation.stopped bob', 'operation.resumed bob']),
      )
      await expect(d.engine.bulk.change({ id, state: 'running', actor: null })).rejects.toMatchObject({
        code: 'conflict',
      })
    })

    it('what does not exist is not found', async () => {
      const id = '01890000-0000-7000-8000-000000000000'
      expect(await d.engine.bulk.get(id)).toBeNull()
      const change = d.engine.bulk.change({ id, state: 'stopped', actor: null })
      await expect(change).rejects.toMatchObject({ code: 'not_found' })
    })
  })

  describe('what goes wrong', () => {
    it('an operation that cannot be handled rests as a fault, and the others continue', async () => {
      await failed(1)
      const broken = await order({ query: 'nonsense:1' })
      const good = await order()
      expect(await ended(good.id)).toMatchObject({ state: 'completed', succeeded: 1 })
      expect(await d.engine.bulk.get(broken.id)).toMatchObject({ state: 'running', matched: 0 })
      expect(d.engine.faults.standing().get('bulk_operation')).toBe(1)
    })

    it('items that a process took and did not settle are free again later', async () => {
      const [first] = await failed(2)
      const { id } = await order({ rate: 60 })
      await d.pass(0)
      const [left] = (await items(id)).filter(({ state }) => state === 'pending')
      expect(left?.itemId).toBe(first)
      // As if another process had taken it and died.
      const now = await d.store.now()
      const taken = { ...(left as OperationItemRow), takenAt: now }
      await d.store.transact({
        roots: [],
        wait: true,
        need: {},
        decide: () => ({ delta: { bulk: { operations: [], items: [taken], trees: [] } }, result: null }),
      })
      await d.pass(5_000)
      expect(await d.engine.bulk.get(id)).toMatchObject({ succeeded: 1, pending: 1 })
      await d.pass(HOLD_MS)
      expect(await ended(id)).toMatchObject({ state: 'completed', succeeded: 2 })
    })

    it('an item that vanished is refused', async () => {
      const [gone] = await failed(2)
      const { id } = await order({ rate: 60 })
      await d.pass(0)
      await ended((await order({ action: 'delete' })).id)
      await d.pass(1_000)
      expect(await ended(id)).toMatchObject({ matched: 2, succeeded: 1, refused: 1 })
      const [refused] = await d.engine.bulk.items({ operationId: id, state: 'refused', limit: 10, before: null })
      expect(refused).toMatchObject({ itemId: gone, code: 'not_found' })
    })
  })

  it('retention removes what ended thirty days ago', async () => {
    await failed(2)
    const { id } = await order()
    const { endedAt } = await ended(id)
    const keep = await order()
    await ended(keep.id)
    const cut = { endedBefore: (endedAt as number) + 1, limit: 2 }
    expect(KEPT_MS).toBe(30 * 86_400_000)
    let removed = 0
    for (let n = 2; n >= 2; removed += n) n = await d.store.bulk.prune(cut)
    expect(removed).toBeGreaterThanOrEqual(3)
    expect(await d.engine.bulk.get(id)).toBeNull()
    expect(await items(id)).toEqual([])
  })
})
