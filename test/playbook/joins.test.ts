/** Where tokens of a fork meet: a joining step runs once, whatever is between it and the fork. */
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLACES } from '../engine/drive.ts'
import { Stage, step, workflow } from './stage.ts'

const JOIN = 'spec: { join: all }'
const EVERYWHERE = 'executor: { spec: { policy: { join: all } } }\n'

const arcs = (to: readonly string[]): string => `arcs: [${to.map((name) => `{ step: ${name} }`).join(', ')}]`
const to = (...names: readonly string[]): string => `next: { ${arcs(names)} }`
const all = (...names: readonly string[]): string => `next: { spec: { mode: inclusive }, ${arcs(names)} }`

describe.each(PLACES)('joins on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it.each<readonly [string, string, string]>([
    [
      'a fork inside a branch, each with its join',
      workflow(
        step('a', all('b', 'c')),
        step('b', all('d', 'e')),
        step('c', to('g')),
        step('d', to('f')),
        step('e', to('f')),
        step('f', `${JOIN}, ${to('g')}`),
        step('g', JOIN),
      ),
      'a b c d e f g',
    ],
    [
      'one join for a fork and a fork inside it',
      workflow(
        step('a', all('b', 'c')),
        step('b', all('d', 'e')),
        step('c', to('f')),
        step('d', to('f')),
        step('e', to('f')),
        step('f', JOIN),
      ),
      'a b c d e f',
    ],
    [
      'an intermediate join that only one branch reaches',
      workflow(step('a', all('b', 'c')), step('b', `${JOIN}, ${to('d')}`), step('c', to('d')), step('d', JOIN)),
      'a b c d',
    ],
    [
      'branches of three that meet at different joins',
      workflow(
        step('a', all('b', 'c', 'd')),
        step('b', to('e')),
        step('c', to('e')),
        step('d', to('f')),
        step('e', `${JOIN}, ${to('f')}`),
        step('f', JOIN),
      ),
      'a b c d e f',
    ],
    [
      'a branch that passes the inner join by',
      workflow(
        step('a', all('b', 'c')),
        step('b', all('d', 'e')),
        step('c', to('d')),
        step('d', `${JOIN}, ${to('e')}`),
        step('e', JOIN),
      ),
      'a b c d e',
    ],
    ['two arcs to the join itself', workflow(step('a', all('b', 'b')), step('b', JOIN)), 'a b'],
    [
      'everywhere: alternatives that merge inside a branch do not hide the join after them',
      EVERYWHERE +
        workflow(
          step('a', all('b', 'c')),
          step('b', "next: { arcs: [{ step: d, when: '{{ ctx.no }}' }, { step: e }] }"),
          step('d', to('f')),
          step('e', to('f')),
          step('f', to('g')),
          step('c', to('g')),
          step('g'),
        ),
      'a b c e f g',
    ],
    [
      'everywhere, except at a step with each',
      EVERYWHERE +
        workflow(step('a', all('b', 'c')), step('b', to('d')), step('c', to('d')), step('d', 'spec: { join: each }')),
      'a b c d d',
    ],
    [
      'everywhere: nor does a loop',
      EVERYWHERE +
        workflow(
          step('a', all('b', 'c')),
          step(
            'b',
            `set: { ctx.n: '{{ (ctx.n or 0) + 1 }}' }, next: { arcs: [{ step: b, when: '{{ ctx.n < 3 }}' }, { step: d }] }`,
          ),
          step('c', to('d')),
          step('d'),
        ),
      'a b b b c d',
    ],
    [
      'a fork and its join inside a loop, every time round',
      workflow(
        step('a', `set: { ctx.n: '{{ (ctx.n or 0) + 1 }}' }, ${all('b', 'c')}`),
        step('b', to('d')),
        step('c', to('d')),
        step('d', `${JOIN}, next: { arcs: [{ step: a, when: '{{ ctx.n < 2 }}' }] }`),
      ),
      'a a b b c c d d',
    ],
    [
      'a branch that goes back to the fork is waited for',
      workflow(
        step('a', `set: { ctx.n: '{{ (ctx.n or 0) + 1 }}' }, ${all('b', 'c')}`),
        step('b', to('d')),
        step('c', "next: { arcs: [{ step: a, when: '{{ ctx.n < 3 }}' }] }"),
        step('d', JOIN),
      ),
      'a a a b b b c c c d',
    ],
  ])('%s', async (_, text, ran) => {
    const id = await stage.start(text)
    expect((await stage.through()).sort().join(' ')).toBe(ran)
    expect(await stage.end(id)).toBe('completed: success')
  })
})

describe('a law', () => {
  /** Steps with arcs to later ones, by their distance; all are reachable from the first. */
  const shape = fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }), {
    minLength: 2,
    maxLength: 9,
  })

  it('if every arc is taken and every meeting is a join, each reached step runs once, in any order', async () => {
    const [place] = PLACES
    const stage = await Stage.open(place as (typeof PLACES)[number])
    await fc.assert(
      fc.asyncProperty(shape, fc.array(fc.nat(), { minLength: 1, maxLength: 20 }), async (distances, choices) => {
        const targets = distances.map((away, i) => [...new Set(away.map((n) => Math.min(distances.length, i + n)))])
        const steps = [...targets, []].map((next, i) =>
          step(`s${i}`, next.length === 0 ? '' : all(...next.map((n) => `s${n}`))),
        )
        const reached = new Set([0])
        for (const [i, next] of targets.entries()) if (reached.has(i)) for (const n of next) reached.add(n)
        const id = await stage.start(EVERYWHERE + workflow(...steps))
        const ran: string[] = []
        for (let running = await stage.running(); running.length > 0; running = await stage.running()) {
          const one = running[(choices[ran.length % choices.length] as number) % running.length] as string
          await stage.succeed(one)
          ran.push(one)
        }
        expect(ran.sort()).toEqual([...reached].map((n) => `s${n}`).sort())
        expect(await stage.end(id)).toBe('completed: success')
      }),
      { numRuns: 80 },
    )
    await stage.close()
  }, 120_000)
})
