/**
 * The last completed is undone first. Here several outcomes are recorded by one transaction, which has one time for all
 * of them: only the order of their reports distinguishes them.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import { StoreDataError } from '../../src/kernel/store-errors.ts'
import type { RunRow } from '../../src/model/rows.ts'
import type { Net, Node } from '../../src/net/net.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'
import { expectNumbered } from './event-numbers.ts'

const ORDERS = [
  ['a', 'b', 'c'],
  ['c', 'b', 'a'],
  ['b', 'c', 'a'],
  ['c', 'a', 'b'],
] as const

describe.each(PLACES)('the order of undo on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    // Sessions outlive the time that passes here.
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 3_600_000 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const undoable = (key: string, rest: Partial<Node> = {}): Node => node(key, [], { undo: undoBy('undo'), ...rest })
  const breaks = node('breaks', [], { retry: ONCE })
  /** All begin at once; when `breaks` has failed, the completed ones are undone. */
  const sideBySide = (...nodes: readonly Node[]): Net =>
    net([...nodes, breaks], { entry: [...nodes, breaks].map(({ key }) => key), onFailure: 'compensate' })

  /** All that can be claimed, by node. */
  async function take(): Promise<Record<string, Delivery>> {
    const held: Record<string, Delivery> = {}
    for (let some = await d.claim(); some.length > 0; some = await d.claim()) {
      for (const delivery of some) held[delivery.node as string] = delivery
    }
    return held
  }

  /** Reports in this order, and makes sure that one transaction records them all. */
  async function together(...reports: readonly (() => Promise<unknown>)[]): Promise<void> {
    const transact = vi.spyOn(d.store, 'transact')
    try {
      await Promise.all(reports.map((report) => report()))
      expect(transact).toHaveBeenCalledTimes(1)
    } finally {
      transact.mockRestore()
    }
  }

  const succeeding = (
    held: Readonly<Record<string, Delivery>>,
    ...nodes: readonly string[]
  ): (() => Promise<unknown>)[] => nodes.map((key) => () => d.succeed(held[key] as Delivery, key))

  const defer = (delivery: Delivery): Promise<unknown> => {
    const outcome = { kind: 'deferred' } as const
    const report = { delivery, reportId: `defer ${delivery.runId}`, startedAt: Date.now(), outcome, wantNext: false }
    return d.session.settle(report)
  }

  /** Lets every undo succeed, one after another. */
  async function undone(): Promise<(string | number)[]> {
    const order: (string | number)[] = []
    for (let at = await d.claim(); at.length > 0; at = await d.claim()) {
      expect(at.map(({ role }) => role)).toEqual(['undo'])
      const [undo] = at as readonly [Delivery]
      order.push(undo.item >= 0 ? undo.item : (undo.node as string))
      await d.succeed(undo)
    }
    return order
  }

  it.each(ORDERS)('reported together, before the failure: %s, %s, %s', async (...order) => {
    const id = await d.start({ net: sideBySide(...['a', 'b', 'c'].map((key) => undoable(key))) })
    const held = await take()
    await together(...succeeding(held, ...order))
    await d.fail(held['breaks'] as Delivery)
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual([...order].reverse())
    expect(await d.state(id)).toBe('compensated')
  })

  it.each(ORDERS)('reported together with the failure: %s, %s, %s', async (...order) => {
    const id = await d.start({ net: sideBySide(...['a', 'b', 'c'].map((key) => undoable(key))) })
    const held = await take()
    await together(...succeeding(held, ...order), () => d.fail(held['breaks'] as Delivery))
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual([...order].reverse())
    expect(await d.state(id)).toBe('compensated')
  })

  it('the failure first: parallel work is undone by the same rule', async () => {
    const id = await d.start({ net: sideBySide(...['a', 'b', 'c'].map((key) => undoable(key))) })
    const held = await take()
    // Begun, so the drain waits for them.
    await d.session.started(Object.values(held).map(({ runId, epoch }) => ({ runId, epoch, at: Date.now() })))
    await together(() => d.fail(held['breaks'] as Delivery), ...succeeding(held, 'b', 'c', 'a'))
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual(['a', 'c', 'b'])
  })

  it('those of an earlier transaction are undone after all of a later one', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e']
    const id = await d.start({ net: sideBySide(...keys.map((key) => undoable(key))) })
    const held = await take()
    await together(...succeeding(held, 'd', 'b'))
    await together(...succeeding(held, 'e', 'a', 'c'), () => d.fail(held['breaks'] as Delivery))
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual(['c', 'a', 'e', 'b', 'd'])
  })

  it('the tenth is undone before the ninth, and the hundredth before the ninety-ninth', async () => {
    const keys = Array.from({ length: 101 }, (_, i) => `n${i}`)
    const id = await d.start({ net: sideBySide(...keys.map((key) => undoable(key))) })
    const held = await take()
    await together(...succeeding(held, ...keys), () => d.fail(held['breaks'] as Delivery))
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual(keys.toReversed())
  })

  it('the next undo is shown in this order', async () => {
    const id = await d.start({ net: sideBySide(...['a', 'b', 'c', 'd'].map((key) => undoable(key))) })
    const held = await take()
    await together(...succeeding(held, 'c', 'a', 'd', 'b'), () => d.fail(held['breaks'] as Delivery))
    expect((await d.engine.why({ instanceId: id }))?.about).toMatchObject([
      { kind: 'undo', running: 'b', next: ['d', 'a', 'c'] },
    ])
  })

  it('items of a list, in the order in which they ended', async () => {
    const work = { kind: 'each', items: '[0, 1, 2]', body: run('item'), maxInFlight: null, failFast: false } as const
    await d.start({ net: sideBySide(undoable('list', { work })) })
    const claimed = await d.claim()
    const item = (at: number): Delivery => claimed.find((delivery) => delivery.item === at) as Delivery
    const last = claimed.find((delivery) => delivery.node === 'breaks') as Delivery
    await together(...[1, 2, 0].map((at) => () => d.succeed(item(at))), () => d.fail(last))
    expect(await undone()).toEqual([0, 2, 1])
  })

  it('nested workflows, in the order in which their last steps ended', async () => {
    const inner = net([node('x')], { name: 'inner' })
    const work = { kind: 'child', net: netHash(inner), mode: 'attached', input: null } as const
    const outer = sideBySide(...['a', 'b', 'c'].map((key) => undoable(key, { work })))
    const id = await d.start({ net: outer, nets: [inner] })
    const children = (await d.engine.view(id))?.children ?? []
    const claimed = await d.claim()
    const at = (key: string): Delivery => {
      const child = children.find(({ parentNode }) => parentNode === key)
      return claimed.find((delivery) => delivery.instanceId === child?.id) as Delivery
    }
    const last = claimed.find((delivery) => delivery.node === 'breaks') as Delivery
    await together(...['c', 'a', 'b'].map((key) => () => d.succeed(at(key))), () => d.fail(last))
    expect(await undone()).toEqual(['b', 'a', 'c'])
    expect(await d.state(id)).toBe('compensated')
  })

  it('deferred work, in the order in which it was completed by id', async () => {
    const id = await d.start({ net: sideBySide(...['a', 'b', 'c'].map((key) => undoable(key))) })
    const held = await take()
    const all = ['a', 'b', 'c'].map((key) => held[key] as Delivery)
    for (const delivery of all) await defer(delivery)
    const complete = (key: string) => () =>
      d.engine.complete({ runId: (held[key] as Delivery).runId, outcome: { kind: 'succeeded', result: key } })
    await together(...['b', 'c', 'a'].map(complete))
    await d.fail(held['breaks'] as Delivery)
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual(['a', 'c', 'b'])
  })

  it('outcomes of leases that one call reports, in its order', async () => {
    const id = await d.start({ net: sideBySide(...['a', 'b', 'c'].map((key) => undoable(key))) })
    const any = { queues: null, types: null, runtime: null, tenant: null, waitMs: 0 }
    const runs = await d.engine.leases.fetch({ ...any, limit: 10, holder: 'http', leaseMs: () => 60_000 })
    const idOf = (key: string): string => (runs.find((run) => run.node === key) as RunRow).id
    const outcome = { kind: 'succeeded', result: null } as const
    const reports = ['b', 'c', 'a'].map((key) => ({ runId: idOf(key), holder: null, attempt: null, outcome }))
    await together(() => d.engine.leases.settle(reports))
    const error = { code: 'boom', message: 'it broke' }
    const broken = { kind: 'failed', error, how: 'policy' } as const
    await d.engine.leases.settle([{ runId: idOf('breaks'), holder: null, attempt: null, outcome: broken }])
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual(['a', 'c', 'b'])
  })

  it('late successes, in the order of their reports', async () => {
    const slow = { timeout: { ms: 60_000, per: 'attempt' }, retry: ONCE, onFailure: 'skip' } as const
    const nodes = ['a', 'b', 'c'].map((key) => undoable(key, slow))
    const id = await d.start({ net: sideBySide(...nodes, undoable('d'), undoable('e')) })
    const held = await take()
    await d.session.started(Object.values(held).map(({ runId, epoch }) => ({ runId, epoch, at: Date.now() })))
    await d.pass(120_000)
    await together(...succeeding(held, 'd', 'e'), () => d.fail(held['breaks'] as Delivery))
    await together(...succeeding(held, 'b', 'c', 'a'))
    await expectNumbered(d.store, id)
    expect(await undone()).toEqual(['e', 'a', 'c', 'b', 'd'])
  })

  it('each undo receives the result of its own work, also for a step executed twice and for items', async () => {
    const work = { kind: 'each', items: '[0, 1]', body: run('item'), maxInFlight: null, failFast: false } as const
    const twice = net(
      [
        node('left', ['a'], { work: { kind: 'pass' } }),
        node('right', ['a'], { work: { kind: 'pass' } }),
        undoable('a'),
        undoable('list', { work }),
        breaks,
      ],
      { entry: ['left', 'right', 'list', 'breaks'], onFailure: 'compensate' },
    )
    await d.start({ net: twice })
    const claimed = await d.claim()
    const last = claimed.find((delivery) => delivery.node === 'breaks') as Delivery
    const works = claimed.filter((delivery) => delivery !== last)
    expect(works.map((delivery) => delivery.node).sort()).toEqual(['a', 'a', 'list', 'list'])
    await together(...works.map((delivery, i) => () => d.succeed(delivery, i)), () => d.fail(last))
    const results: unknown[] = []
    for (let [undo] = await d.claim(); undo !== undefined; [undo] = await d.claim()) {
      results.push(JSON.parse(undo.payload).result)
      await d.succeed(undo)
    }
    expect(results).toEqual([3, 2, 1, 0])
  })

  it('also when the batch is divided because the database refuses one of its outcomes', async () => {
    await d.start({ net: sideBySide(...['a', 'b', 'c'].map((key) => undoable(key))) })
    const held = await take()
    const { runId } = held['breaks'] as Delivery
    const transact = d.store.transact.bind(d.store)
    const refusing = vi.spyOn(d.store, 'transact').mockImplementation((transaction) =>
      transact({
        ...transaction,
        decide: (loaded) => {
          const decided = transaction.decide(loaded)
          const updated = 'delta' in decided ? (decided.delta.runs?.update ?? []) : []
          if (updated.some(({ id, status }) => id === runId && status === 'succeeded'))
            throw new StoreDataError('unstorable', 'refused')
          return decided
        },
      }),
    )
    await Promise.all(succeeding(held, 'b', 'breaks', 'c', 'a').map((report) => report()))
    refusing.mockRestore()
    expect(await undone()).toEqual(['a', 'c', 'b'])
  })

  it('work carried over from an earlier instance: numbered like any other, undone from the highest number down', async () => {
    const keys = ['a', 'b', 'c']
    const aborts = node('aborts', ['breaks'], { retry: ONCE, onFailure: 'abort' })
    const nodes = [...keys.map((key) => undoable(key)), aborts, breaks]
    const id = await d.start({ net: net(nodes, { entry: [...keys, 'aborts'], onFailure: 'compensate' }) })
    const held = await take()
    await together(...succeeding(held, 'c', 'a', 'b'), () => d.fail(held['aborts'] as Delivery))
    expect(await d.state(id)).toBe('failed')
    const again = await d.engine.retryInstance({ id, actor: 'ann' })
    await expectNumbered(d.store, again.id)
    const taken = (await d.engine.view(again.id))?.runs.filter(({ doneSeq }) => doneSeq !== null) ?? []
    const lastFirst = taken.sort((x, y) => (y.doneSeq ?? 0) - (x.doneSeq ?? 0)).map((run) => run.node)
    expect([...lastFirst].sort()).toEqual(keys)
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne())
    expect(await undone()).toEqual(lastFirst)
  })

  it('work that is refused at its start is numbered like any other', async () => {
    const schema = { input: { path: ['n'], schema: { type: 'number' } }, output: null }
    const refused = node('b', [], { work: run('b', { args: { n: '{{ input.n }}' } }), schema, onFailure: 'skip' })
    const id = await d.start({ net: net([node('a', ['b']), refused]), input: { n: 'none' } })
    await d.succeed(await d.claimOne())
    expect(await d.recorded(id, 'failed')).toMatchObject([{ node: 'b' }])
    await expectNumbered(d.store, id)
  })
})
