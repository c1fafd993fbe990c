/**
 * Coordinates. A layer is a row of columns; a column is a way for a passing edge, or a node, or in a layer of very many
 * nodes a stack of them with a channel on either side for the edges of those inside. Columns keep their order and
 * distances, and within those each is as close as possible to the mean of what it is connected with: least squares under
 * an order, by pooling neighbours that would overlap.
 */
import { type Adjacency, adjacency, type LayoutInput } from './input.ts'
import type { Layers } from './layers.ts'

const BETWEEN_COLUMNS = 26
/** Edges that pass side by side are closer. */
const BETWEEN_PASSES = 9
export const CHANNEL = 14
const BETWEEN_ROWS = 30
const PASS_WIDTH = 6
const SWEEPS = 8

export interface Band {
  readonly top: number
  readonly bottom: number
  /** Distance between the tops of two rows, and the height of one. */
  readonly pitch: number
  readonly rowHeight: number
}

export interface Columns {
  /** Centres, by cell. */
  readonly x: Float64Array
  readonly bands: readonly Band[]
  /** By node: its row, and how many its column has. */
  readonly row: Int32Array
  readonly rows: Int32Array
  /** By node: half the width of its column. */
  readonly reach: Float64Array
}

interface Column {
  readonly cells: readonly number[]
  readonly half: number
  readonly isPass: boolean
}

function distance(left: Column, right: Column): number {
  return left.half + right.half + (left.isPass && right.isPass ? BETWEEN_PASSES : BETWEEN_COLUMNS)
}

export function columnsOf(input: LayoutInput, layers: Layers): Columns {
  const { count } = input
  const most = mostInRow(count)
  const row = new Int32Array(count)
  const rows = new Int32Array(count)
  const reach = new Float64Array(count)
  const columns = layers.order.map((layer) => stacked(input, layer, most))
  for (const layer of columns) {
    for (const { cells, half } of layer) {
      if (cells[0]! >= count) continue
      cells.forEach((v, i) => {
        row[v] = i
        rows[v] = cells.length
        reach[v] = half
      })
    }
  }
  const bands = bandsOf(input, layers, columns)
  const x = positions(input, layers, columns)
  return { x, bands, row, rows, reach }
}

/** So many that the whole is about twice as wide as high. */
function mostInRow(count: number): number {
  return Math.max(24, Math.ceil(Math.sqrt(count * 0.7)))
}

function stacked({ count, width }: LayoutInput, layer: Int32Array, most: number): readonly Column[] {
  let nodes = 0
  for (const cell of layer) if (cell < count) nodes++
  const rows = Math.ceil(nodes / most)
  const columns: Column[] = []
  let stack: { cells: number[]; half: number; isPass: false } | null = null
  for (const cell of layer) {
    if (cell >= count) {
      columns.push({ cells: [cell], half: PASS_WIDTH / 2, isPass: true })
      continue
    }
    if (stack === null || stack.cells.length === rows) {
      stack = { cells: [], half: 0, isPass: false }
      columns.push(stack)
    }
    stack.cells.push(cell)
    stack.half = Math.max(stack.half, width[cell]! / 2 + (rows > 1 ? CHANNEL : 0))
  }
  return columns
}

function bandsOf({ count, height, gap }: LayoutInput, { order }: Layers, columns: readonly (readonly Column[])[]) {
  const bands: Band[] = []
  let top = 0
  for (const [i, layer] of columns.entries()) {
    let rows = 1
    let rowHeight = 0
    for (const { cells } of layer) {
      rows = Math.max(rows, cells.length)
      for (const cell of cells) if (cell < count) rowHeight = Math.max(rowHeight, height[cell]!)
    }
    const pitch = rowHeight + BETWEEN_ROWS
    const bottom = top + rows * pitch - BETWEEN_ROWS
    bands.push({ top, bottom, pitch, rowHeight })
    // Many edges side by side need a longer way to bend.
    const widest = Math.max(order[i]!.length, order[i + 1]?.length ?? 0)
    top = bottom + gap + Math.min(74, widest * 2)
  }
  return bands
}

function positions(input: LayoutInput, layers: Layers, columns: readonly (readonly Column[])[]): Float64Array {
  const x = new Float64Array(layers.cells)
  const down = adjacency(layers.cells, layers.to, layers.from)
  const up = adjacency(layers.cells, layers.from, layers.to)
  for (const layer of columns) {
    let at = 0
    layer.forEach((column, i) => {
      if (i > 0) at += distance(layer[i - 1]!, column)
      for (const cell of column.cells) x[cell] = at
    })
    for (const { cells } of layer) for (const cell of cells) x[cell] = x[cell]! - at / 2
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0
    const last = columns.length - 1
    for (let i = 0; i <= last; i++) {
      settle(input, columns[isDown ? i : last - i]!, x, isDown ? [down] : [up])
    }
  }
  for (const layer of columns) settle(input, layer, x, [down, up])
  return x
}

/** Weight of a way that continues a way: long edges are straight before nodes are centred. */
const STRAIGHT = 6
const FREE = 0.01

function settle(input: LayoutInput, columns: readonly Column[], x: Float64Array, sides: readonly Adjacency[]): void {
  const { count, port } = input
  const size = columns.length
  const wanted = new Float64Array(size)
  const weight = new Float64Array(size)
  const offset = new Float64Array(size)
  for (let i = 0; i < size; i++) {
    const { cells } = columns[i]!
    if (i > 0) offset[i] = offset[i - 1]! + distance(columns[i - 1]!, columns[i]!)
    let sum = 0
    let total = 0
    for (const cell of cells) {
      for (const { at, node } of sides) {
        for (let place = at[cell]!; place < at[cell + 1]!; place++) {
          const other = node[place]!
          const w = cell >= count && other >= count ? STRAIGHT : 1
          sum += w * (x[other]! + (other < count ? port[other]! : 0) - (cell < count ? port[cell]! : 0))
          total += w
        }
      }
    }
    weight[i] = total === 0 ? FREE : total
    wanted[i] = (total === 0 ? x[cells[0]!]! : sum / total) - offset[i]!
  }
  const found = increasing(wanted, weight)
  for (let i = 0; i < size; i++) for (const cell of columns[i]!.cells) x[cell] = found[i]! + offset[i]!
}

/** The closest sequence that never decreases. */
export function increasing(wanted: Float64Array, weight: Float64Array): Float64Array {
  const value = new Float64Array(wanted.length)
  const total = new Float64Array(wanted.length)
  const length = new Int32Array(wanted.length)
  let top = -1
  for (let i = 0; i < wanted.length; i++) {
    top++
    value[top] = wanted[i]!
    total[top] = weight[i]!
    length[top] = 1
    while (top > 0 && value[top - 1]! > value[top]!) {
      const both = total[top - 1]! + total[top]!
      value[top - 1] = (value[top - 1]! * total[top - 1]! + value[top]! * total[top]!) / both
      total[top - 1] = both
      length[top - 1] = length[top - 1]! + length[top]!
      top--
    }
  }
  const found = new Float64Array(wanted.length)
  let i = 0
  for (let pool = 0; pool <= top; pool++) {
    for (let n = length[pool]!; n > 0; n--) found[i++] = value[pool]!
  }
  return found
}
