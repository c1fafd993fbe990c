/**
 * The layers with the order of their cells. Besides nodes, a layer has a thin cell for each edge that passes it, so that
 * edges have a way of their own between the nodes. The shortest edges get cells first; where the net has too many long
 * ones, the rest are led round the side, in lanes.
 */
import { adjacency, type LayoutInput } from './input.ts'
import type { Ranks } from './ranks.ts'

/** Cells below `count` are nodes, the others are where an edge passes. */
export interface Layers {
  readonly cells: number
  readonly order: readonly Int32Array[]
  /** Between cells of neighbouring layers, from the upper to the lower. */
  readonly from: Int32Array
  readonly to: Int32Array
  /** First cell of an edge: it has one in each layer between its ends. −1: none, or it is led round the side. */
  readonly passes: Int32Array
  /** 1: led round the side. */
  readonly side: Uint8Array
}

/** Cells for passing edges: in all, and for each node of the net. */
const MOST_PASSES = 40_000
const PASSES_PER_NODE = 12
const SWEEPS = 6

export function layersOf(input: LayoutInput, { rank, layers, back }: Ranks): Layers {
  const edges = input.from.length
  const upper = new Int32Array(edges)
  const lower = new Int32Array(edges)
  for (let e = 0; e < edges; e++) {
    upper[e] = back[e] === 1 ? input.to[e]! : input.from[e]!
    lower[e] = back[e] === 1 ? input.from[e]! : input.to[e]!
  }
  const span = (e: number): number => rank[lower[e]!]! - rank[upper[e]!]!
  const { passes, side, cells } = passesOf(input.count, edges, span)
  const layerOf = new Int32Array(cells)
  layerOf.set(rank)
  const pairs: number[] = []
  for (let e = 0; e < edges; e++) {
    if (side[e] === 1 || span(e) < 1) continue
    let above = upper[e]!
    for (let i = 0; i < span(e) - 1; i++) {
      const cell = passes[e]! + i
      layerOf[cell] = rank[upper[e]!]! + 1 + i
      pairs.push(above, cell)
      above = cell
    }
    pairs.push(above, lower[e]!)
  }
  const from = Int32Array.from({ length: pairs.length / 2 }, (_, i) => pairs[2 * i]!)
  const to = Int32Array.from({ length: pairs.length / 2 }, (_, i) => pairs[2 * i + 1]!)
  const order = filled(layers, layerOf)
  sortLayers(order, cells, from, to)
  return { cells, order, from, to, passes, side }
}

/** Cells for the shortest edges first, as long as there are any left. */
function passesOf(count: number, edges: number, span: (e: number) => number) {
  const passes = new Int32Array(edges).fill(-1)
  const side = new Uint8Array(edges)
  const long: number[] = []
  for (let e = 0; e < edges; e++) if (span(e) > 1) long.push(e)
  long.sort((a, b) => span(a) - span(b) || a - b)
  const most = Math.min(MOST_PASSES, PASSES_PER_NODE * count)
  let cells = count
  for (const e of long) {
    if (cells - count + span(e) - 1 > most) side[e] = 1
    else {
      passes[e] = cells
      cells += span(e) - 1
    }
  }
  return { passes, side, cells }
}

function filled(layers: number, layerOf: Int32Array): readonly Int32Array[] {
  const sizes = new Int32Array(layers)
  for (const layer of layerOf) sizes[layer] = sizes[layer]! + 1
  const order = Array.from(sizes, (size) => new Int32Array(size))
  const at = new Int32Array(layers)
  for (let cell = 0; cell < layerOf.length; cell++) {
    const layer = layerOf[cell]!
    order[layer]![at[layer]!] = cell
    at[layer] = at[layer]! + 1
  }
  return order
}

/** Sweeps down and up: each cell goes to the mean position of its neighbours in the layer before. */
function sortLayers(order: readonly Int32Array[], cells: number, from: Int32Array, to: Int32Array): void {
  const down = adjacency(cells, to, from)
  const up = adjacency(cells, from, to)
  const position = new Float64Array(cells)
  const mean = new Float64Array(cells)
  const place = (layer: Int32Array): void => {
    const middle = (layer.length - 1) / 2
    for (let i = 0; i < layer.length; i++) position[layer[i]!] = i - middle
  }
  const sort = (layer: Int32Array, { at, node }: ReturnType<typeof adjacency>): void => {
    for (const cell of layer) {
      let sum = 0
      for (let i = at[cell]!; i < at[cell + 1]!; i++) sum += position[node[i]!]!
      const degree = at[cell + 1]! - at[cell]!
      mean[cell] = degree === 0 ? position[cell]! : sum / degree
    }
    layer.sort((a, b) => mean[a]! - mean[b]! || position[a]! - position[b]!)
    place(layer)
  }
  for (const layer of order) place(layer)
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let i = 1; i < order.length; i++) sort(order[i]!, down)
    if (sweep === SWEEPS - 1) return
    for (let i = order.length - 2; i >= 0; i--) sort(order[i]!, up)
  }
}
