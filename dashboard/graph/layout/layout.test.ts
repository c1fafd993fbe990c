import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { increasing } from './columns.ts'
import type { Layout, LayoutInput } from './input.ts'
import { layoutOf } from './layout.ts'

type Pair = readonly [number, number]

function inputOf(count: number, edges: readonly Pair[], sizes: (v: number) => Pair = () => [180, 50]): LayoutInput {
  return {
    count,
    from: Int32Array.from(edges, ([from]) => from),
    to: Int32Array.from(edges, ([, to]) => to),
    width: Float32Array.from({ length: count }, (_, v) => sizes(v)[0]),
    height: Float32Array.from({ length: count }, (_, v) => sizes(v)[1]),
    port: new Float32Array(count),
    last: new Uint8Array(count),
    entry: Int32Array.of(...(count > 0 ? [0] : [])),
    gap: 46,
  }
}

const nets = fc
  .integer({ min: 1, max: 70 })
  .chain((count) =>
    fc.record({
      count: fc.constant(count),
      edges: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: count * 3 }),
      sizes: fc.array(fc.tuple(fc.integer({ min: 20, max: 400 }), fc.integer({ min: 20, max: 300 })), {
        minLength: count,
        maxLength: count,
      }),
    }),
  )
  .map(({ count, edges, sizes }) => inputOf(count, edges, (v) => sizes[v] as Pair))

/** One layer of very many nodes between two others, and edges that pass it. */
const wide = (): LayoutInput => {
  const inner = Array.from({ length: 300 }, (_, i): Pair[] => [
    [0, i + 1],
    [i + 1, 301],
  ])
  return inputOf(302, [...inner.flat(), [0, 301], [301, 0], [0, 301]])
}

describe('the layout', () => {
  it('leads every edge down, except those that close a cycle', () => {
    fc.assert(
      fc.property(nets, (input) => {
        const { y, back } = layoutOf(input)
        for (let e = 0; e < input.from.length; e++) {
          if (back[e] === 0) expect(y[input.from[e]!]!).toBeLessThan(y[input.to[e]!]!)
          else expect(y[input.from[e]!]!).toBeGreaterThanOrEqual(y[input.to[e]!]!)
        }
      }),
    )
  })

  it('has no two nodes that overlap', () => {
    fc.assert(fc.property(nets, (input) => void expect(overlaps(input, layoutOf(input))).toEqual([])))
    expect(overlaps(wide(), layoutOf(wide()))).toEqual([])
  })

  it('leads no edge behind a node', () => {
    fc.assert(fc.property(nets, (input) => void expect(hidden(input, layoutOf(input))).toEqual([])))
    expect(hidden(wide(), layoutOf(wide()))).toEqual([])
  })

  it('begins and ends every edge at its nodes', () => {
    fc.assert(
      fc.property(nets, (input) => {
        const layout = layoutOf(input)
        for (let e = 0; e < input.from.length; e++) {
          const at = layout.pointAt[e]! * 2
          const end = layout.pointAt[e + 1]! * 2 - 2
          touches(input, layout, input.from[e]!, layout.points[at]!, layout.points[at + 1]!)
          touches(input, layout, input.to[e]!, layout.points[end]!, layout.points[end + 1]!)
        }
      }),
    )
  })

  it('gives the same for the same input', () => {
    fc.assert(fc.property(nets, (input) => void expect(layoutOf(input)).toEqual(layoutOf(input))))
  })

  it('has no backward edge where there is no cycle', () => {
    fc.assert(
      fc.property(nets, (input) => {
        const forward = [...input.from].map((from, e): Pair => [from, input.to[e]!]).filter(([a, b]) => a < b)
        expect(layoutOf(inputOf(input.count, forward)).back.some((is) => is === 1)).toBe(false)
      }),
    )
  })

  it('puts what comes last below everything else', () => {
    const input = inputOf(4, [
      [0, 1],
      [1, 2],
    ])
    input.last[3] = 1
    const { y } = layoutOf(input)
    expect(y[3]!).toBeGreaterThan(y[2]!)
  })

  it('draws a chain as a straight line', () => {
    const { x } = layoutOf(
      inputOf(
        5,
        [0, 1, 2, 3].map((v): Pair => [v, v + 1]),
      ),
    )
    expect(new Set(x).size).toBe(1)
  })

  it('wraps a layer of very many nodes', () => {
    const { width, height } = layoutOf(wide())
    expect(width / height).toBeLessThan(6)
  })

  it('leads edges round the side where too many are long', () => {
    const chain = Array.from({ length: 399 }, (_, v): Pair => [v, v + 1])
    const long = Array.from({ length: 199 }, (_, v): Pair => [v, 399 - v])
    const input = inputOf(400, [...chain, ...long])
    const layout = layoutOf(input)
    expect(hidden(input, layout)).toEqual([])
    expect(layout.width).toBeLessThan(6_000)
  })
})

describe('increasing', () => {
  it('never decreases, and keeps what already increases', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1000, max: 1000 })), (wanted) => {
        const found = increasing(Float64Array.from(wanted), new Float64Array(wanted.length).fill(1))
        for (let i = 1; i < found.length; i++) expect(found[i]!).toBeGreaterThanOrEqual(found[i - 1]!)
        const sorted = Float64Array.from(wanted).sort()
        expect(increasing(sorted, new Float64Array(wanted.length).fill(1))).toEqual(sorted)
      }),
    )
  })
})

function overlaps({ count, width, height }: LayoutInput, { x, y }: Layout): readonly Pair[] {
  const found: Pair[] = []
  for (let a = 0; a < count; a++) {
    for (let b = a + 1; b < count; b++) {
      const apartX = Math.abs(x[a]! - x[b]!) >= (width[a]! + width[b]!) / 2 - 0.01
      const apartY = Math.abs(y[a]! - y[b]!) >= (height[a]! + height[b]!) / 2 - 0.01
      if (!apartX && !apartY) found.push([a, b])
    }
  }
  return found
}

/** Edges of which a point lies inside a node, as [edge, node]. */
function hidden(input: LayoutInput, layout: Layout): readonly Pair[] {
  const { x, y } = layout
  const found: Pair[] = []
  for (let e = 0; e < input.from.length; e++) {
    const points = sampled(layout, e)
    for (let v = 0; v < input.count; v++) {
      const [halfX, halfY] = [input.width[v]! / 2 - 0.6, input.height[v]! / 2 - 0.6]
      if (points.some(([px, py]) => Math.abs(px - x[v]!) < halfX && Math.abs(py - y[v]!) < halfY)) found.push([e, v])
    }
  }
  return found
}

function sampled({ points, pointAt }: Layout, e: number): readonly Pair[] {
  const found: Pair[] = []
  for (let i = pointAt[e]!; i < pointAt[e + 1]! - 1; i++) {
    const [ax, ay, bx, by] = [...points.slice(2 * i, 2 * i + 4)] as [number, number, number, number]
    for (let step = 0; step <= 12; step++) {
      const t = step / 12
      // A curve that begins and ends vertically, as the painter draws it.
      const curve = t * t * (3 - 2 * t)
      const isCurve = ax !== bx && ay !== by
      const middle = (ay + by) / 2
      const curveY = (1 - t) ** 3 * ay + 3 * (1 - t) ** 2 * t * middle + 3 * (1 - t) * t * t * middle + t ** 3 * by
      found.push([ax + (bx - ax) * (isCurve ? curve : t), isCurve ? curveY : ay + (by - ay) * t])
    }
  }
  return found
}

function touches({ width, height }: LayoutInput, { x, y }: Layout, v: number, px: number, py: number): void {
  expect(Math.abs(px - x[v]!)).toBeLessThanOrEqual(width[v]! / 2 + 0.6)
  expect(Math.abs(Math.abs(py - y[v]!) - height[v]! / 2)).toBeLessThan(0.6)
}
