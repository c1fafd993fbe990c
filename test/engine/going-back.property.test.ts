/**
 * A law of going back: in any net, a retry from any place does exactly that place and what follows from it again, and what it
 * results in is what a first run results in whose place had the edited arguments.
 */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sha256 } from '../../src/kernel/hash.ts'
import type { Json, Net, Node } from '../../src/net/net.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const CASES = process.env['PETREL_TEST_FULL'] === '1' ? 200 : 25

/** `before`: of each node, those it waits for, all with smaller numbers. `lists`: nodes that are lists of so many items. */
interface Shape {
  readonly before: readonly (readonly number[])[]
  readonly lists: readonly (number | null)[]
  /** The place that is chosen, and the one that fails in the first run. */
  readonly chosen: number
  readonly failing: number
  readonly item: number
}

const shapes: fc.Arbitrary<Shape> = fc.integer({ min: 2, max: 9 }).chain((size) =>
  fc.record({
    before: fc.tuple(
      ...Array.from({ length: size }, (_, i) =>
        i === 0 ? fc.constant<number[]>([]) : fc.uniqueArray(fc.nat(i - 1), { maxLength: 3 }),
      ),
    ),
    lists: fc.array(fc.option(fc.integer({ min: 1, max: 4 }), { freq: 3 }), { minLength: size, maxLength: size }),
    chosen: fc.nat(size - 1),
    failing: fc.nat(size - 1),
    item: fc.nat(3),
  }),
)

const key = (i: number): string => `n${i}`

/** A cycle of nodes, one after another, that is passed through several times. Some nodes are lists. */
interface Loop {
  readonly lists: readonly (number | null)[]
  readonly rounds: number
  /** The place that is chosen, by its number in the order of execution, and among the items if it is a list. */
  readonly chosen: number
  readonly item: number
}

const loops: fc.Arbitrary<Loop> = fc.integer({ min: 1, max: 4 }).chain((size) =>
  fc.record({
    lists: fc.array(fc.option(fc.integer({ min: 1, max: 3 }), { freq: 3 }), { minLength: size, maxLength: size }),
    rounds: fc.integer({ min: 1, max: 4 }),
    chosen: fc.nat(15),
    item: fc.nat(2),
  }),
)

/** A node is given the result of the one before it, and the number of the round. */
function loopOf({ lists, rounds }: Loop): Net {
  const last = lists.length - 1
  const nodes = lists.map((length, i): Node => {
    const given = { before: `{{ ${key(i === 0 ? last : i - 1)} }}`, round: '{{ ctx.round or 1 }}', edit: 0 }
    const arc = { when: null, args: null, set: null }
    const again = { when: `(ctx.round or 1) < ${rounds}`, args: null, set: { round: '{{ (ctx.round or 1) + 1 }}' } }
    const next = i < last ? { to: key(i + 1), ...arc } : { to: key(0), ...again }
    return node(key(i), [], {
      work: workOf(i, length, given),
      next: { mode: 'first', arcs: [next], scope: null },
      retry: ONCE,
    })
  })
  return net(nodes, { entry: [key(0)] })
}

function workOf(i: number, length: number | null, given: { readonly [name: string]: Json }): Node['work'] {
  if (length === null) return run(key(i), { args: given })
  return {
    kind: 'each',
    items: `[${Array.from({ length }, (_, n) => n).join(', ')}]`,
    body: run(key(i), { args: { ...given, item: '{{ item }}' } }),
    maxInFlight: null,
    failFast: false,
    collect: 'list',
  }
}

/** A node is given the results of those before it. `edit` is part of the arguments, so that it can be edited. */
function netOf({ before, lists }: Shape): Net {
  const after = before.map((_, i) => before.flatMap((waits, at) => (waits.includes(i) ? [key(at)] : [])))
  const nodes = before.map((waits, i): Node => {
    const given = Object.fromEntries(waits.map((at) => [key(at), `{{ ${key(at)} }}`]))
    const work = workOf(i, lists[i] ?? null, { ...given, edit: 0 })
    return node(key(i), after[i], { work, join: 'count', retry: ONCE })
  })
  return net(nodes, { entry: before.flatMap((waits, i) => (waits.length === 0 ? [key(i)] : [])) })
}

/** What a worker computes from its arguments: any other argument gives another result. */
const compute = (payload: Json): string => sha256(JSON.stringify(payload)).slice(0, 8)

function descendants({ before }: Shape, of: number): ReadonlySet<number> {
  const found = new Set<number>([of])
  for (const [i, waits] of before.entries()) if (waits.some((at) => found.has(at))) found.add(i)
  return found
}

describe.each(PLACES)('a retry from any place of any net on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const placeOf = (w: Delivery): string => (w.item < 0 ? (w.node as string) : `${w.node}/${w.item}`)

  /** Works to the end; `fails` is the place that does, `edits` replaces the edit in the arguments of one (in this round). */
  async function work(fails: string | null, edits: string | null, round?: number): Promise<string[]> {
    const done: string[] = []
    for (;;) {
      const batch = await d.claim()
      if (batch.length === 0) return done.sort()
      for (const w of batch) {
        const at = placeOf(w)
        const payload = JSON.parse(w.payload) as { readonly [name: string]: Json }
        done.push(at)
        if (at === fails) await d.fail(w, { retryable: false })
        else await d.succeed(w, compute(at === edits && payload['round'] === round ? { ...payload, edit: 1 } : payload))
      }
    }
  }

  it(`does it and its descendants again, and nothing else: ${CASES} nets`, { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(shapes, async (shape) => {
        // What a case that failed has left would be taken by the smaller ones.
        await work(null, null)
        const { lists, chosen, failing, item } = shape
        const flow = netOf(shape)
        const index = lists[chosen] === null ? -1 : item % (lists[chosen] as number)
        const chosenPlace = index < 0 ? key(chosen) : `${key(chosen)}/${index}`
        const failingPlace = lists[failing] === null ? key(failing) : `${key(failing)}/0`
        const id = await d.start({ net: flow })
        const first = await work(failingPlace, null)
        // Runs that the failure cancelled before a worker had them are known as well.
        const rows = await d.store.read.instanceRuns({ instanceId: id, limit: 1000, after: null })
        const known = new Set(rows.map((row) => (row.item < 0 ? row.node : `${row.node}/${row.item}`)))
        const begun = known.has(chosenPlace)
        const asked = { id, from: { step: key(chosen), ...(index < 0 ? {} : { item: index }) }, patch: { edit: 1 } }
        if (!begun) {
          await expect(d.engine.retryInstance({ ...asked, actor: null })).rejects.toMatchObject({
            code: expect.anything(),
          })
          return
        }
        const { again, carried } = await d.engine.previewRetry({ ...asked, limit: 100 })
        const retry = await d.engine.retryInstance({ ...asked, actor: null })
        const done = await work(null, null)
        expect(await d.state(retry.id)).toBe('completed')

        // Repeated: the place and its descendants, what had failed, and what never began. Nothing else.
        const follows = descendants(shape, chosen)
        const all = lists.flatMap((length, i) =>
          length === null ? [[i, key(i)] as const] : Array.from({ length }, (_, n) => [i, `${key(i)}/${n}`] as const),
        )
        const repeated = all.filter(([i, at]) => {
          if (i === chosen) return at === chosenPlace || at === failingPlace || !first.includes(at)
          return follows.has(i) || at === failingPlace || !first.includes(at)
        })
        expect(done).toEqual(repeated.map(([, at]) => at).sort())

        // The preview had listed all that the first one knew.
        const sum = (lines: readonly { readonly count: number }[]) => lines.reduce((n, { count }) => n + count, 0)
        expect(sum(again)).toBe(repeated.filter(([, at]) => known.has(at)).length)
        expect(sum(carried)).toBe(known.size - sum(again))

        // The same results as a first run in which that place had the edited arguments.
        const fresh = await d.start({ net: flow })
        await work(null, chosenPlace)
        expect(await d.results(retry.id)).toEqual(await d.results(fresh))
      }),
      { numRuns: CASES, seed: 20 },
    )
  })

  it(`in a loop does the chosen round from there on again: ${CASES} loops`, { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(loops, async (loop) => {
        await work(null, null)
        const { lists, rounds, item } = loop
        const flow = loopOf(loop)
        const id = await d.start({ net: flow })
        await work(null, null)
        const firings = Array.from({ length: rounds }, (_, round) =>
          lists.map((length, i) => ({ round, i, length })),
        ).flat()
        const at = loop.chosen % firings.length
        const { round, i, length } = firings[at] as (typeof firings)[number]
        const index = length === null ? -1 : item % length
        const from = { step: key(i), firing: round + 1, ...(index < 0 ? {} : { item: index }) }
        const asked = { id, fork: true, from, patch: { edit: 1 } }
        const { again, carried } = await d.engine.previewRetry({ ...asked, limit: 100 })
        const fork = await d.engine.retryInstance({ ...asked, actor: null })
        const done = await work(null, null)
        expect(await d.state(fork.id)).toBe('completed')

        // The chosen place, and everything of the firings after it.
        const placesOf = ({ i, length }: (typeof firings)[number]): string[] =>
          length === null ? [key(i)] : Array.from({ length }, (_, n) => `${key(i)}/${n}`)
        const repeated = [index < 0 ? key(i) : `${key(i)}/${index}`, ...firings.slice(at + 1).flatMap(placesOf)]
        expect(done).toEqual(repeated.sort())
        const sum = (lines: readonly { readonly count: number }[]) => lines.reduce((n, { count }) => n + count, 0)
        expect([sum(again), sum(carried)]).toEqual([
          repeated.length,
          firings.flatMap(placesOf).length - repeated.length,
        ])

        const fresh = await d.start({ net: flow })
        await work(null, index < 0 ? key(i) : `${key(i)}/${index}`, round + 1)
        expect(await d.results(fork.id)).toEqual(await d.results(fresh))
      }),
      { numRuns: CASES, seed: 21 },
    )
  })
})
