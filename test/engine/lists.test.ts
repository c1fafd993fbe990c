/** Lists: their collected results, the arguments of their items, and separate firings of one list. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { Arc, EachWork, Json, Node } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const list = (items: string, rest: Partial<EachWork> = {}): EachWork => ({
  kind: 'each',
  items,
  body: run('item', { args: { at: '{{ item }}' } }),
  maxInFlight: 1,
  failFast: true,
  collect: 'list',
  ...rest,
})
const arc = (to: string, when: string | null, rest: Partial<Arc> = {}): Arc => {
  return { to, when, args: null, set: null, ...rest }
}
const last = (key: string, args: Json): Node => node(key, [], { work: run(key, { args }) })
const BROKEN = new Error('broken')

describe.each(PLACES)('lists on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const given = (payload: string): any => JSON.parse(payload)

  it('a list returns its results in order, with their number', async () => {
    const seen: any[] = []
    const id = await d.start({
      net: net([node('l', ['z'], { work: list('input.xs') }), last('z', { all: '{{ l }}' })]),
      input: { xs: ['a', 'b', 'c'] },
    })
    await d.work((w) => {
      seen.push(given(w.payload))
      return w.node === 'l' ? { was: given(w.payload).at } : null
    })
    const stats = { total: 3, success: 3, failed: 0 }
    const all = { results: [{ was: 'a' }, { was: 'b' }, { was: 'c' }], stats }
    expect(seen.at(-1)).toEqual({ all })
    expect((await d.results(id)).l).toEqual(all)
  })

  it('an empty one ends at once and has an empty result', async () => {
    const id = await d.start({ net: net([node('l', ['z'], { work: list('[]') }), last('z', { all: '{{ l }}' })]) })
    const z = await d.claimOne()
    const nothing = { results: [], stats: { total: 0, success: 0, failed: 0 } }
    expect(given(z.payload)).toEqual({ all: nothing })
    expect((await d.results(id)).l).toEqual(nothing)
  })

  it('one that tolerates failures continues, with null where an item failed', async () => {
    const work = list('[1, 2, 3]', { tolerant: true, failFast: false, maxInFlight: null })
    const id = await d.start({
      net: net([node('l', ['z'], { work, retry: ONCE }), last('z', { all: '{{ event }}', got: '{{ l }}' })]),
    })
    await d.work((w) => (w.node === 'l' && given(w.payload).at === 2 ? BROKEN : 'ok'))
    expect((await d.results(id)).l).toEqual({
      results: ['ok', null, 'ok'],
      stats: { total: 3, success: 2, failed: 1 },
    })
    expect([await d.state(id), (await d.store.read.instance(id))?.outcome]).toEqual(['completed', 'success'])
  })

  it('one that fails fast issues nothing more, lets running items end, and then fails with their results', async () => {
    const work = list('[0, 1, 2, 3, 4, 5]', { maxInFlight: 2 })
    const failed = { mode: 'first', scope: null, arcs: [arc('z', 'event.status == "failed"')] } as const
    const id = await d.start({
      net: net([
        node('l', [], { work, retry: ONCE, onFailure: 'route', next: failed }),
        last('z', { stats: '{{ l.stats }}' }),
      ]),
    })
    const [first, second] = await d.claim()
    await d.fail(first as never, { retryable: false })
    expect(await d.claim()).toEqual([])
    await d.succeed(second as never, 'second')
    const z = await d.claimOne()
    expect(given(z.payload)).toEqual({ stats: { total: 6, success: 1, failed: 1 } })
    await d.succeed(z)
    expect(await d.results(id)).toMatchObject({ l: { results: [null, 'second', null, null, null, null] } })
    expect(await d.state(id)).toBe('completed')
  })

  it('an expression may determine how many are open at a time', async () => {
    const work = list('range(5) | list', { maxInFlight: 'input.width' })
    const three = await d.start({ net: net([node('l', [], { work })]), input: { width: 3 } })
    const open = await d.claim()
    expect(open).toHaveLength(3)
    await d.succeed(open[0] as never)
    expect(await d.claim()).toHaveLength(1)
    await d.engine.cancelInstance({ id: three, actor: null })
    for (const width of [0, 1.5, '3', null]) {
      const wrong = await d.start({ net: net([node('l', [], { work })]), input: { width } })
      expect([await d.state(wrong), await d.error(wrong)]).toEqual(['failed', 'guard_error'])
    }
  })

  it('shared arguments are stored once; each item receives them by reference, with its own', async () => {
    const work = list('[1, 2]', {
      as: 'row',
      body: run('item', { args: { own: '{{ row * 10 }}', where: '{{ item }}' } }),
      shared: { big: '{{ input.big }}' },
      maxInFlight: null,
    })
    const id = await d.start({ net: net([node('l', [], { work })]), input: { big: 'x'.repeat(100) } })
    const payloads = (await d.store.read.instanceRuns({ instanceId: id, limit: 10, after: null })).map((r) =>
      JSON.parse(r.payload),
    )
    const [slot] = await d.store.read.slots({ instanceId: id, prefix: SLOT.storedArgs.prefix })
    expect(payloads).toEqual([
      { $shared: slot?.key, own: 10, where: 1 },
      { $shared: slot?.key, own: 20, where: 2 },
    ])
    expect(JSON.parse(slot?.value as string)).toEqual({ big: 'x'.repeat(100) })
  })

  it('one that fires again returns the results of its latest firing only', async () => {
    const again = {
      mode: 'first',
      scope: null,
      arcs: [arc('l', 'ctx.rest | length > 0', { set: { rest: '{{ ctx.rest[1:] }}' } }), arc('z', null)],
    } as const
    const id = await d.start({
      net: net([
        node('s', ['l'], { work: { kind: 'pass' }, set: { rest: '{{ [2, 1] }}' } }),
        node('l', [], {
          work: list('range(3 if ctx.rest | length == 2 else ctx.rest | length + 1) | list', { maxInFlight: null }),
          set: { seen: '{{ (ctx.seen or []) + [event.result.results] }}' },
          next: again,
        }),
        last('z', { all: '{{ l }}', seen: '{{ ctx.seen }}' }),
      ]),
    })
    let n = 0
    const seen: any[] = []
    await d.work((w) => {
      if (w.node === 'z') seen.push(given(w.payload))
      return ++n
    })
    expect(seen).toEqual([
      {
        all: { results: [6], stats: { total: 1, success: 1, failed: 0 } },
        seen: [[1, 2, 3], [4, 5], [6]],
      },
    ])
    expect((await d.results(id)).l).toEqual({ results: [6], stats: { total: 1, success: 1, failed: 0 } })
  })

  it('without collect, too, items of an earlier firing are not among those of the latest', async () => {
    const { collect: _, ...plain } = list('range(3 - (ctx.round or 0)) | list', { maxInFlight: null })
    const again = {
      mode: 'first',
      scope: null,
      arcs: [arc('l', 'not ctx.round', { set: { round: 1 } }), arc('z', null)],
    } as const
    const id = await d.start({
      net: net([node('l', [], { work: plain, next: again }), last('z', { all: '{{ l }}' })]),
    })
    let n = 0
    const first = await d.claim()
    for (const run of first) await d.succeed(run, ++n)
    const [one, two] = await d.claim()
    await d.succeed(one as never, ++n)
    // One has ended and one has not: no results of the first three.
    expect((await d.results(id)).l).toEqual({ 0: 4 })
    await d.succeed(two as never, ++n)
    const z = await d.claimOne()
    expect(given(z.payload)).toEqual({ all: { 0: 4, 1: 5 } })
  })

  it('items may be nested workflows: their results by index, null where one failed', async () => {
    const inner = net([node('x', [], { retry: ONCE })], { name: 'inner' })
    const body = { kind: 'child', net: netHash(inner), mode: 'attached', input: { n: '{{ item }}' } } as const
    const work = list('[1, 2, 3]', { body, maxInFlight: 2, tolerant: true, failFast: false })
    const again = {
      mode: 'first',
      scope: null,
      arcs: [arc('l', 'not ctx.round', { set: { round: 1 } }), arc('z', null)],
    } as const
    const id = await d.start({
      net: net([node('l', [], { work, next: again }), last('z', { all: '{{ l }}' })]),
      nets: [inner],
    })
    let n = 0
    const seen: any[] = []
    await d.work((w) => {
      n += 1
      if (w.node === 'z') seen.push(given(w.payload))
      return n === 5 ? BROKEN : n
    })
    const all = { results: [{ x: 4 }, null, { x: 6 }], stats: { total: 3, success: 2, failed: 1 } }
    expect(seen).toEqual([{ all }])
    expect((await d.results(id)).l).toEqual(all)
  })

  it('items that end together create the next items in one transaction', async () => {
    const work = list('range(200) | list', { maxInFlight: 50 })
    const id = await d.start({ net: net([node('l', [], { work })]) })
    const many = await d.claim()
    expect(many).toHaveLength(50)
    const transact = d.store.transact.bind(d.store)
    let decisions = 0
    d.store.transact = ((t: Parameters<typeof transact>[0]) =>
      transact({
        ...t,
        decide: (loaded) => {
          decisions += 1
          return t.decide(loaded)
        },
      })) as typeof d.store.transact
    await Promise.all(many.map((run) => d.succeed(run, 1)))
    d.store.transact = transact as typeof d.store.transact
    expect(decisions).toBeLessThan(20)
    await d.work(() => 1)
    expect((await d.results(id)).l).toMatchObject({ stats: { total: 200, success: 200, failed: 0 } })
  })

  it('items that succeeded while the instance was stopped all count when it is resumed', async () => {
    const work = list('', { items: null, body: null, maxInFlight: null, failFast: false })
    const quick = { run: { type: 'item', timeoutMs: 1000, retry: ONCE } }
    const id = await d.start({
      net: net([node('l', ['z'], { work }), node('z')], { unknown: 'stop' }),
      items: { l: [quick, { run: { type: 'item' } }, { run: { type: 'item' } }] },
    })
    const [lost, ...others] = await d.claim()
    const { runId, epoch } = lost as NonNullable<typeof lost>
    await d.session.started([{ runId, epoch, at: Date.now() }])
    await d.pass(5000)
    for (const one of others) await d.succeed(one, 'meanwhile')
    expect(await d.state(id)).toBe('failed')
    await d.engine.resumeInstance({ id, actor: 'me' })
    expect(await d.work(() => 'then')).toEqual(['l', 'z'])
    expect(await d.state(id)).toBe('completed')
    expect((await d.results(id)).l).toMatchObject({ results: ['then', 'meanwhile', 'meanwhile'] })
  })

  it('large items are kept in small chunks', async () => {
    const xs = Array.from({ length: 20 }, (_, i) => ({ i, text: 'x'.repeat(20_000) }))
    const id = await d.start({ net: net([node('l', [], { work: list('input.xs') })]), input: { xs } })
    const order: number[] = []
    await d.work((w) => {
      order.push(given(w.payload).at.i)
      return null
    })
    expect(order).toEqual(xs.map(({ i }) => i))
    expect(await d.state(id)).toBe('completed')
  })
})
