/**
 * The ways of edges. Between two layers, and between the rows of one, is a gap without nodes: only there an edge moves
 * sideways. Everywhere else it is vertical, in its own column, in the channel of a stack, or in a lane at the side.
 */
import { CHANNEL, type Columns } from './columns.ts'
import type { LayoutInput } from './input.ts'
import type { Layers } from './layers.ts'
import type { Ranks } from './ranks.ts'

/** Where edges that go up meet a node: beside those that go down. */
const BESIDE = 40
const LANE_WIDTH = 7
const FIRST_LANE = 28
const MOST_LANES = 48

export interface Routes {
  readonly points: Float32Array
  readonly pointAt: Int32Array
}

interface Given {
  readonly input: LayoutInput
  readonly ranks: Ranks
  readonly layers: Layers
  readonly columns: Columns
}

export function routesOf(given: Given): Routes {
  const { input, ranks, layers } = given
  const edges = input.from.length
  const pointAt = new Int32Array(edges + 1)
  const lanes = lanesOf(given)
  const all: number[] = []
  for (let e = 0; e < edges; e++) {
    const points: number[] = []
    const isBack = ranks.back[e] === 1
    const upper = isBack ? input.to[e]! : input.from[e]!
    const lower = isBack ? input.from[e]! : input.to[e]!
    if (upper === lower) loop(given, upper, points)
    else {
      const shift = isBack ? Math.min(BESIDE, input.width[upper]! / 4, input.width[lower]! / 4) : 0
      leave(given, upper, shift, points)
      if (layers.side[e] === 1) round(given, e, lanes[e]!, lower, shift, points)
      else pass(given, e, upper, lower, points)
      enter(given, lower, shift, points)
    }
    tidy(points)
    if (isBack && upper !== lower) reverse(points)
    for (const number of points) all.push(number)
    pointAt[e + 1] = all.length / 2
  }
  return { points: Float32Array.from(all), pointAt }
}

/** Top of a node's row. */
function rowTop({ ranks, columns }: Given, v: number): number {
  const band = columns.bands[ranks.rank[v]!]!
  return band.top + columns.row[v]! * band.pitch
}

/** The centre of a node. */
export function middleOf(given: Given, v: number): number {
  return rowTop(given, v) + given.columns.bands[given.ranks.rank[v]!]!.rowHeight / 2
}

/** From the bottom of a node to the gap below its layer. */
function leave(given: Given, v: number, shift: number, points: number[]): void {
  const { input, ranks, columns } = given
  const band = columns.bands[ranks.rank[v]!]!
  const x = columns.x[v]! + input.port[v]! + shift
  const y = rowTop(given, v)
  points.push(x, middleOf(given, v) + input.height[v]! / 2)
  if (columns.row[v]! === columns.rows[v]! - 1) {
    points.push(x, band.bottom)
    return
  }
  const channel = columns.x[v]! + columns.reach[v]! - CHANNEL / 2
  points.push(x, y + band.rowHeight, channel, y + band.pitch, channel, band.bottom)
}

/** From the gap above a node's layer to its top. */
function enter(given: Given, v: number, shift: number, points: number[]): void {
  const { input, ranks, columns } = given
  const band = columns.bands[ranks.rank[v]!]!
  const x = columns.x[v]! + input.port[v]! + shift
  const y = rowTop(given, v)
  if (columns.row[v] === 0) points.push(x, band.top)
  else {
    const channel = columns.x[v]! - columns.reach[v]! + CHANNEL / 2
    points.push(channel, band.top, channel, y - band.pitch + band.rowHeight, x, y)
  }
  points.push(x, middleOf(given, v) - input.height[v]! / 2)
}

function pass({ ranks, layers, columns }: Given, e: number, upper: number, lower: number, points: number[]): void {
  const between = ranks.rank[lower]! - ranks.rank[upper]! - 1
  for (let i = 0; i < between; i++) {
    const band = columns.bands[ranks.rank[upper]! + 1 + i]!
    const x = columns.x[layers.passes[e]! + i]!
    points.push(x, band.top, x, band.bottom)
  }
}

/** Along a lane at the side. The corners are right angles: the gaps are too low for a curve as wide as the drawing. */
function round(given: Given, e: number, lane: number, lower: number, shift: number, points: number[]): void {
  const { input, ranks, columns } = given
  const band = columns.bands[ranks.rank[lower]!]!
  const inside = 8 + (e % 5) * 5
  const fromX = points[points.length - 2]!
  const from = points[points.length - 1]! + inside
  const to = band.top - inside
  const atTop = columns.row[lower] === 0
  const toX = atTop
    ? columns.x[lower]! + input.port[lower]! + shift
    : columns.x[lower]! - columns.reach[lower]! + CHANNEL / 2
  points.push(fromX, from, lane, from, lane, to, toX, to)
}

/** An edge from a node to itself, beside it. */
function loop(given: Given, v: number, points: number[]): void {
  const { input, columns } = given
  const x = columns.x[v]! + input.port[v]!
  const near = x + Math.min(BESIDE, input.width[v]! / 4)
  const side = columns.x[v]! + input.width[v]! / 2 + 7
  const middle = middleOf(given, v)
  const half = input.height[v]! / 2
  const [top, bottom] = [middle - half, middle + half]
  points.push(near, bottom, near, bottom + 9, side, bottom + 9, side, top - 9, near, top - 9, near, top)
}

/** The lane of each edge that is led round a side: the first that is free over its whole length. */
function lanesOf({ input, ranks, layers, columns }: Given): Float64Array {
  const lanes = new Float64Array(input.from.length)
  const led: number[] = []
  for (let e = 0; e < lanes.length; e++) if (layers.side[e] === 1) led.push(e)
  if (led.length === 0) return lanes
  let left = 0
  let right = 0
  for (let v = 0; v < input.count; v++) {
    left = Math.min(left, columns.x[v]! - columns.reach[v]!)
    right = Math.max(right, columns.x[v]! + columns.reach[v]!)
  }
  for (let cell = input.count; cell < layers.cells; cell++) {
    left = Math.min(left, columns.x[cell]!)
    right = Math.max(right, columns.x[cell]!)
  }
  const top = (e: number): number => Math.min(ranks.rank[input.from[e]!]!, ranks.rank[input.to[e]!]!)
  const bottom = (e: number): number => Math.max(ranks.rank[input.from[e]!]!, ranks.rank[input.to[e]!]!)
  led.sort((a, b) => top(a) - top(b) || a - b)
  const taken = [new Int32Array(MOST_LANES).fill(-1), new Int32Array(MOST_LANES).fill(-1)]
  for (const e of led) {
    const isRight = columns.x[input.from[e]!]! + columns.x[input.to[e]!]! > left + right ? 1 : 0
    const ends = taken[isRight]!
    const free = ends.findIndex((end) => end < top(e))
    const lane = free >= 0 ? free : e % MOST_LANES
    ends[lane] = Math.max(ends[lane]!, bottom(e))
    lanes[e] = isRight === 1 ? right + FIRST_LANE + lane * LANE_WIDTH : left - FIRST_LANE - lane * LANE_WIDTH
  }
  return lanes
}

/** Leaves out a point that is the same as the one before it, or between two on one vertical line. */
function tidy(points: number[]): void {
  let end = 2
  for (let i = 2; i < points.length; i += 2) {
    const [x, y] = [points[i]!, points[i + 1]!]
    if (x === points[end - 2] && y === points[end - 1]) continue
    const straight = end >= 4 && x === points[end - 2] && x === points[end - 4]
    if (straight && y > points[end - 1]! === points[end - 1]! > points[end - 3]!) end -= 2
    points[end] = x
    points[end + 1] = y
    end += 2
  }
  points.length = end
}

function reverse(points: number[]): void {
  for (let a = 0, b = points.length - 2; a < b; a += 2, b -= 2) {
    const [x, y] = [points[a]!, points[a + 1]!]
    points[a] = points[b]!
    points[a + 1] = points[b + 1]!
    points[b] = x
    points[b + 1] = y
  }
}
