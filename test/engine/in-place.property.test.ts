/**
 * A law of doing a run again in place: where every failure was taken back, the workflow ends as if none had happened, with the
 * same counts, results and outcome.
 */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Net, Node } from '../../src/net/net.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const CASES = process.env['PETREL_TEST_FULL'] === '1' ? 300 : 30

interface Shape {
  /** Of each node, those it waits for, all with smaller numbers. */
  readonly before: readonly (readonly number[])[]
  readonly lists: readonly (number | null)[]
  readonly policies: readonly ('skip' | 'route')[]
  readonly failedOn: 'any' | 'unhandled' | 'finals'
  /** Which executions fail, by their number, and after how many more each failure is taken back. */
  readonly failing: readonly number[]
  readonly patience: number
}

const shapes: fc.Arbitrary<Shape> = fc.integer({ min: 2, max: 7 }).chain((size) => {
  const each = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: size, maxLength: size })
  return fc.record({
    before: fc.tuple(
      ...Array.from({ length: size }, (_, i) =>
        i === 0 ? fc.constant<number[]>([]) : fc.uniqueArray(fc.nat(i - 1), { maxLength: 3 }),
      ),
    ),
    lists: each(fc.option(fc.integer({ min: 1, max: 4 }), { freq: 2 })),
    policies: each(fc.constantFrom('skip' as const, 'route' as const)),
    failedOn: fc.constantFrom('any' as const, 'unhandled' as const, 'finals' as const),
    failing: fc.uniqueArray(fc.nat(8), { minLength: 1, maxLength: 2 }),
    patience: fc.nat(3),
  })
})

function netOf({ before, lists, policies, failedOn }: Shape): Net {
  const key = (i: number): string => `n${i}`
  const nodes = before.map((_, i): Node => {
    const after = before.flatMap((waits, at) => (waits.includes(i) ? [key(at)] : []))
    const length = lists[i] ?? null
    const work: Node['work'] =
      length === null
        ? run(key(i))
        : {
            kind: 'each',
            items: `[${Array.from({ length }, (_, n) => n).join(', ')}]`,
            body: run(key(i), { args: { item: '{{ item }}' } }),
            maxInFlight: i % 2 === 0 ? null : 2,
            failFast: i % 3 === 0,
            collect: 'list',
          }
    return node(key(i), after, { work, join: 'count', retry: ONCE, onFailure: policies[i] as 'skip' | 'route' })
  })
  return net(nodes, {
    entry: before.flatMap((waits, i) => (waits.length === 0 ? [key(i)] : [])),
    verdict: { failedOn, partial: false },
    summary: true,
  })
}

describe.each(PLACES)('failures that are taken back on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const answer = (w: Delivery): string => `${w.node}/${w.item}`

  /** Plays to the end; answers how many failures were taken back and how many were not. */
  async function play({ failing, patience }: Shape): Promise<{ readonly mended: number; readonly lasting: number }> {
    const failed: { readonly w: Delivery; readonly at: number }[] = []
    let [mended, lasting] = [0, 0]
    for (let n = 0; ; n++) {
      const [w] = await d.claim(1)
      if (w !== undefined && failing.includes(n)) {
        await d.fail(w, { retryable: false })
        failed.push({ w, at: n })
      } else if (w !== undefined) await d.succeed(w, answer(w))
      const due = failed.findIndex(({ at }) => w === undefined || n >= at + patience)
      if (due >= 0) {
        const again = await redriven((failed.splice(due, 1)[0] as (typeof failed)[number]).w)
        if (again) mended++
        else lasting++
      } else if (w === undefined) return { mended, lasting }
    }
  }

  async function redriven(w: Delivery): Promise<boolean> {
    const taken = await d.engine.redrive({ runId: w.runId, actor: null }).catch((error) => error)
    // Of an ended workflow a new run is made, outside of it.
    if (taken.id !== undefined) return taken.id === w.runId
    expect(taken).toMatchObject({ code: 'conflict', details: { obstacle: expect.any(String) } })
    return false
  }

  it(`leave no trace in how the workflow ends: ${CASES} nets`, { timeout: 300_000 }, async () => {
    let cases = 0
    await fc.assert(
      fc.asyncProperty(shapes, async (shape) => {
        await d.work()
        const flow = netOf(shape)
        const plain = await d.start({ net: flow })
        await d.work(answer)
        const id = await d.start({ net: flow })
        const { mended, lasting } = await play(shape)
        const [row, as] = await Promise.all([id, plain].map((one) => d.store.read.instance(one)))
        expect(row?.phase).toBe('ended')
        if (lasting > 0 || mended === 0) return
        cases++
        const { state, outcome, succeeded, failed, unhandled, live, open } = as as NonNullable<typeof as>
        expect(row).toMatchObject({ state, outcome, succeeded, failed, unhandled, live, open })
        expect(await d.error(id)).toBeNull()
        expect(await d.results(id)).toEqual(await d.results(plain))
      }),
      { numRuns: CASES, seed: 8 },
    )
    // Otherwise the law was hardly tried.
    expect(cases).toBeGreaterThan(CASES / 5)
  })
})
