/** The cost of a list item does not depend on the length of the list, and large values are read and written once. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Delta, Loaded } from '../../src/model/transaction.ts'
import type { Arc, EachWork, Json, Net } from '../../src/net/net.ts'
import type { SlotPrefix } from '../../src/net/slots.ts'
import type { Transaction } from '../../src/store/store.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, PLACES, run } from './drive.ts'

const list = (rest: Partial<EachWork> = {}): EachWork => ({
  kind: 'each',
  items: 'range(input.n) | list',
  body: run('item', { args: { at: '{{ item }}' } }),
  maxInFlight: 100,
  failFast: false,
  collect: 'list',
  ...rest,
})

/** What one transaction read and wrote. */
interface Cost {
  readonly rounds: number
  readonly read: number
  readonly readBytes: number
  readonly longestSlot: number
  readonly written: number
  readonly writtenBytes: number
  readonly delta: Delta
}

/** Except items: they come in chunks that are read as a whole, so a chunk is the bound, not the list. */
const READ = ['runs', 'instances', 'slots', 'slotsWith', 'topSlot', 'results', 'resultsAt', 'ran', 'placesAt'] as const

function costOf(rounds: number, loaded: Loaded, delta: Delta): Cost {
  const read = READ.flatMap((part) => [...loaded[part].values()]).map((row) => JSON.stringify(row) ?? '')
  const { instances, slots, runs, items, events } = delta
  const parts = [instances?.insert, instances?.update, slots?.put, slots?.remove, runs?.insert, runs?.update, items]
  const written = [...parts, events].flatMap((part) => [...(part ?? [])]).map((row) => JSON.stringify(row))
  return {
    rounds,
    read: read.length,
    readBytes: sum(read.map((text) => text.length)),
    longestSlot: Math.max(0, ...[...loaded.slots.values()].map((text) => text?.length ?? 0)),
    written: written.length,
    writtenBytes: sum(written.map((text) => text.length)),
    delta,
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

/** Costs of the transactions that wrote something while `work` was done. */
async function costsOf(d: Drive, work: () => Promise<unknown>): Promise<readonly Cost[]> {
  const costs: Cost[] = []
  const transact = d.store.transact.bind(d.store)
  d.store.transact = async <T>(params: Transaction<T>): Promise<T> => {
    let rounds = 0
    let cost: Cost | null = null
    const decide: typeof params.decide = (loaded) => {
      rounds++
      const decided = params.decide(loaded)
      // The last decision is the one written: a store may decide again after a conflict.
      if ('delta' in decided) cost = costOf(rounds, loaded, decided.delta)
      return decided
    }
    const result = await transact({ ...params, decide })
    const { written } = (cost ?? { written: 0 }) as Pick<Cost, 'written'>
    if (written > 0) costs.push(cost as unknown as Cost)
    return result
  }
  await work()
  d.store.transact = transact
  return costs
}

describe.each(PLACES)('the cost of a list on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const endMany = async (times: number): Promise<Delivery> => {
    for (let done = 0; done < times; done += 100) {
      const batch = await d.claim(100)
      await Promise.all(batch.map((w) => d.succeed(w, { ok: true })))
    }
    return d.claimOne()
  }

  it('an item that ends costs the same in lists of 300 and of 5,000, at the beginning and later', async () => {
    const one = async (n: number, after: number): Promise<Cost> => {
      const id = await d.start({ net: net([node('l', ['z'], { work: list() }), node('z')]), input: { n } })
      const w = await endMany(after)
      const costs = await costsOf(d, () => d.succeed(w, { ok: true }))
      expect(costs).toHaveLength(1)
      await d.engine.cancelInstance({ id, actor: null })
      for (let left = await d.claim(); left.length > 0; left = await d.claim())
        for (const run of left) await d.succeed(run)
      await d.work()
      return costs[0] as Cost
    }
    const small = await one(300, 100)
    for (const large of [await one(5000, 100), await one(5000, 1500)]) {
      expect([large.rounds, large.read, large.written]).toEqual([small.rounds, small.read, small.written])
      // Numbers have more digits.
      expect(large.readBytes).toBeLessThan(small.readBytes + 100)
      expect(large.writtenBytes).toBeLessThan(small.writtenBytes + 100)
    }
    expect(small.read).toBeLessThan(12)
  }, 120_000)

  const SHARED = 'x'.repeat(50_000)

  it.each<[string, Partial<Net>]>([
    ['carries its arguments inline', {}],
    ['stores long values separately', { inlineBytes: 4096 }],
  ])('arguments shared by 500 items are written once, in a net that %s', async (_, rest) => {
    const work = list({ items: 'range(500) | list', shared: { text: '{{ input.text }}' }, maxInFlight: 200 })
    const whole = net([node('l', [], { work })], rest)
    let id = ''
    const costs = await costsOf(d, async () => {
      id = await d.start({ net: whole, input: { text: SHARED } })
      for (let batch = await d.claim(); batch.length > 0; batch = await d.claim()) {
        await Promise.all(batch.map((w) => d.succeed(w, w.item)))
      }
    })
    expect(await d.state(id)).toBe('completed')
    const put = costs.flatMap(({ delta }) => delta.slots?.put ?? [])
    expect(put.filter(({ key }) => key.startsWith('x:'))).toHaveLength(1)
    const runs = await d.store.read.instanceRuns({ instanceId: id, limit: 1000, after: null })
    expect(runs).toHaveLength(500)
    expect(sum(runs.map(({ payload }) => payload.length))).toBeLessThan(500 * 60)
    const slots = await d.store.read.slots({ instanceId: id, prefix: '' as SlotPrefix })
    expect(slots.filter(({ key }) => key.startsWith('x:'))).toHaveLength(1)
    // The input contains it as well.
    expect(sum(slots.map(({ value }) => value.length))).toBeLessThan(2 * SHARED.length + 2000)
    // Nor is it read again for the items that are issued later.
    expect(costs.length).toBeGreaterThan(2)
    expect(Math.max(...costs.map(({ longestSlot }) => longestSlot))).toBeLessThan(1000)
  })

  const arc = (to: string, rest: Partial<Arc>): Arc => ({ to, when: null, args: null, set: null, ...rest })
  const named = '{{ event.result.results | length }}'
  const closing = (dialect: string, arcs: readonly Arc[], set?: { readonly [name: string]: Json }): Net =>
    net(
      [
        node('l', [], {
          work: list({ items: 'xs' }),
          next: { mode: 'first', arcs, scope: null },
          ...(set === undefined ? {} : { set }),
        }),
        node('z'),
      ],
      { dialect },
    )

  /** Ends all items but one, then that one. */
  async function close(whole: Net, n: number): Promise<{ readonly costs: readonly Cost[]; readonly id: string }> {
    const id = await d.start({ net: whole, input: { xs: Array.from({ length: n }, (_, i) => i) } })
    const last = await endMany(n - 100)
    const rest = await d.claim()
    await Promise.all(rest.map((w) => d.succeed(w, { ok: true })))
    return { costs: await costsOf(d, () => d.succeed(last, { ok: true })), id }
  }

  it('when it closes, its results are read and collected once, however many expressions refer to them', async () => {
    const n = 500
    const many = closing(
      'test',
      [
        arc('z', { when: 'event.result.stats.total == 0' }),
        arc('z', { when: 'event.result.results | length == 1' }),
        arc('z', { args: { again: named, more: '{{ l.results | length }}' }, set: { third: named } }),
      ],
      { first: named, second: '{{ event.result.stats.success }}' },
    )
    const parse = vi.spyOn(JSON, 'parse')
    const { costs, id } = await close(many, n)
    const parsed = parse.mock.calls.filter(([text]) => text.length > n * 10).length
    parse.mockRestore()
    expect(costs).toHaveLength(1)
    expect(parsed).toBe(1)
    expect(await d.context(id)).toEqual({ first: n, second: n, third: n })
    await d.work()
  }, 60_000)

  it.each([
    ['test', "event.status == 'succeeded' and event.ok and event.node == 'l'"],
    ['playbook', "event.name == 'loop.done' and event.status == 'success' and output.status == 'ok'"],
  ])(
    'a guard of a %s net that refers only to its outcome reads no result',
    async (dialect, when) => {
      const { costs, id } = await close(closing(dialect, [arc('z', { when })]), 300)
      expect(costs).toHaveLength(1)
      const [cost] = costs as readonly [Cost]
      expect(cost.readBytes).toBeLessThan(3000)
      expect(cost.delta.runs?.insert?.map((r) => r.node)).toEqual(['z'])
      await d.work()
      expect(await d.state(id)).toBe('completed')
    },
    60_000,
  )
})
