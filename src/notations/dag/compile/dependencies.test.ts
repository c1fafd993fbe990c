import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readInPlace } from '../../read.ts'
import { findStuck, type Waiting } from '../../source/dependencies.ts'
import { DefinitionError } from '../../source/mistakes.ts'
import { joinsOf } from './joins.ts'

/** Steps whose dependencies all come before them in some order, listed in another. */
const acyclic: fc.Arbitrary<readonly Waiting[]> = fc.integer({ min: 1, max: 25 }).chain((n) =>
  fc
    .tuple(
      fc.tuple(...Array.from({ length: n }, (_, i) => fc.subarray(Array.from({ length: i }, (_, k) => `s-${k}`)))),
      fc.shuffledSubarray(
        Array.from({ length: n }, (_, i) => i),
        { minLength: n },
      ),
    )
    .map(([before, order]) => order.map((i) => ({ name: `s-${i}`, dependsOn: before[i] as string[] }))),
)

/** Layers, each step after all of the layer before. */
const layered: fc.Arbitrary<readonly Waiting[]> = fc
  .array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 })
  .map((sizes) =>
    sizes.flatMap((size, layer) =>
      Array.from({ length: size }, (_, i) => ({
        name: `s-${layer}-${i}`,
        dependsOn:
          layer === 0 ? [] : Array.from({ length: sizes[layer - 1] as number }, (_, k) => `s-${layer - 1}-${k}`),
      })),
    ),
  )

/** Steps with arbitrary dependencies, including themselves. */
const any: fc.Arbitrary<readonly Waiting[]> = fc.integer({ min: 1, max: 12 }).chain((n) => {
  const names = Array.from({ length: n }, (_, i) => `s-${i}`)
  return fc
    .tuple(...names.map(() => fc.subarray(names, { maxLength: Math.min(3, n) })))
    .map((before) => names.map((name, i) => ({ name, dependsOn: before[i] as string[] })))
})

const read = (steps: readonly Waiting[]) =>
  readInPlace(
    'flow.json',
    JSON.stringify({ apiVersion: 'ioa.dev/v0.2', kind: 'Workflow', metadata: { name: 'flow' }, spec: { steps } }),
  )

/** Steps that can run, determined by playing it: the oracle. */
function runnable(steps: readonly Waiting[]): ReadonlySet<string> {
  const done = new Set<string>()
  for (let before = -1; before < done.size; ) {
    before = done.size
    for (const { name, dependsOn } of steps) if (dependsOn.every((d) => done.has(d))) done.add(name)
  }
  return done
}

describe('graphs of steps', () => {
  it('an acyclic graph compiles to a net whose joins and arcs are the dependencies, with or without shared joins', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(acyclic, layered), async (steps) => {
        const { net } = (await read(steps)).start
        const arcs = net.nodes.flatMap((n) => n.next.arcs.map((a) => ({ from: n.key, to: a.to })))
        const into = (key: string): readonly string[] => arcs.filter((a) => a.to === key).map((a) => a.from)
        for (const { name, dependsOn } of steps) {
          const node = net.nodes.find((n) => n.key === name)
          const [first] = into(name)
          const sources = first?.startsWith('#') ? into(first) : into(name)
          expect([...sources].sort()).toEqual([...dependsOn].sort())
          expect(node?.join).toBe(into(name).length > 1 ? 'count' : 'each')
          expect(net.entry.includes(name)).toBe(dependsOn.length === 0)
        }
        const hidden = net.nodes.filter((n) => n.work.kind === 'pass')
        expect(net.nodes).toHaveLength(steps.length + hidden.length)
        for (const join of hidden) expect([join.key[0], join.join]).toEqual(['#', 'count'])
        const dependencies = steps.reduce((sum, s) => sum + s.dependsOn.length, 0)
        expect(arcs.length < dependencies).toBe(hidden.length > 0)
      }),
      { numRuns: 150 },
    )
  })

  it('a hundred layers of a hundred, each step after the whole previous layer, are twenty thousand arcs, not a million', async () => {
    const layers = Array.from({ length: 10_000 }, (_, i) => {
      const before = Math.floor(i / 100) - 1
      return {
        name: `s-${i}`,
        dependsOn: before < 0 ? [] : Array.from({ length: 100 }, (_, k) => `s-${before * 100 + k}`),
      }
    })
    const { shared, arcs } = joinsOf(layers)
    expect([shared.length, arcs]).toEqual([99, 99 * 200])
  })

  it('two steps that depend on the same two gain nothing by a shared join, and have none', () => {
    const pair = ['c', 'd'].map((name) => ({ name, dependsOn: ['a', 'b'] }))
    expect(joinsOf(pair).shared).toEqual([])
    const three = ['c', 'd', 'e'].map((name, i) => ({ name, dependsOn: i === 0 ? ['a', 'b'] : ['b', 'a'] }))
    expect(joinsOf(three).shared).toEqual([{ key: '#1', dependsOn: ['a', 'b'], steps: ['c', 'd', 'e'] }])
  })

  it('a cyclic graph is refused with an actual cycle, and every step that can never run', async () => {
    await fc.assert(
      fc.asyncProperty(any, async (steps) => {
        const can = runnable(steps)
        const { cycles, behind } = findStuck(steps)
        const reported = new Set([...cycles.flat(), ...behind.keys()])
        expect([...reported].sort()).toEqual(
          steps
            .map((s) => s.name)
            .filter((n) => !can.has(n))
            .sort(),
        )
        for (const cycle of cycles) {
          expect(cycle.at(-1)).toBe(cycle[0])
          for (const [i, name] of cycle.slice(0, -1).entries()) {
            expect(steps.find((s) => s.name === name)?.dependsOn).toContain(cycle[i + 1])
          }
        }
        expect(cycles.length > 0).toBe(can.size < steps.length)
        for (const [name, dependency] of behind) {
          expect(steps.find((s) => s.name === name)?.dependsOn).toContain(dependency)
          expect(can.has(dependency)).toBe(false)
        }
        const refused = await read(steps).then(
          () => null,
          (error: unknown) => error as DefinitionError,
        )
        expect(refused === null).toBe(cycles.length === 0)
        if (refused === null) return
        expect(refused).toBeInstanceOf(DefinitionError)
        for (const cycle of cycles) expect(refused.message).toContain(cycle.join(' → '))
      }),
      { numRuns: 200 },
    )
  })

  it('ten thousand steps, in a row or in a cycle, do not overflow the stack', () => {
    const row = Array.from({ length: 10_000 }, (_, i) => ({ name: `${i}`, dependsOn: i === 0 ? [] : [`${i - 1}`] }))
    expect(findStuck(row)).toEqual({ cycles: [], behind: new Map() })
    const ring = row.map((s, i) => (i === 0 ? { ...s, dependsOn: ['9999'] } : s))
    expect(findStuck(ring).cycles[0]).toHaveLength(10_001)
  })
})
