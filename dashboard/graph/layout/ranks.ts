/** Which layer each node belongs to: the longest path to it, where edges that close a cycle do not count. */
import { type Adjacency, adjacency, type LayoutInput } from './input.ts'

export interface Ranks {
  readonly rank: Int32Array
  readonly layers: number
  readonly back: Uint8Array
}

export function ranksOf({ count, from, to, last, entry }: LayoutInput): Ranks {
  const out = adjacency(count, from, to)
  const back = backEdges(count, out, entry)
  const rank = new Int32Array(count)
  descend(count, out, back, rank)
  let base = 0
  for (let v = 0; v < count; v++) if (last[v] !== 1) base = Math.max(base, rank[v]! + 1)
  if (last.includes(1)) {
    for (let v = 0; v < count; v++) if (last[v] === 1) rank[v] = Math.max(rank[v]!, base)
    descend(count, out, back, rank)
  }
  let layers = 0
  for (const r of rank) layers = Math.max(layers, r + 1)
  return { rank, layers, back }
}

const UNSEEN = 0
const ON_PATH = 1
const DONE = 2

/** Edges to a node of the current path of a depth-first search, without recursion. */
function backEdges(count: number, out: Adjacency, entry: Int32Array): Uint8Array {
  const back = new Uint8Array(out.edge.length)
  const state = new Uint8Array(count)
  const path = new Int32Array(count)
  const next = out.at.slice(0, count)
  const visit = (root: number): void => {
    if (state[root] !== UNSEEN) return
    let top = 0
    path[0] = root
    state[root] = ON_PATH
    while (top >= 0) {
      const v = path[top]!
      const place = next[v]!
      if (place === out.at[v + 1]!) {
        state[v] = DONE
        top--
        continue
      }
      next[v] = place + 1
      const u = out.node[place]!
      if (state[u] === ON_PATH) back[out.edge[place]!] = 1
      if (state[u] !== UNSEEN) continue
      state[u] = ON_PATH
      path[++top] = u
    }
  }
  for (const v of entry) visit(v)
  for (let v = 0; v < count; v++) visit(v)
  return back
}

/** Raises the ranks until each is greater than those before it. */
function descend(count: number, out: Adjacency, back: Uint8Array, rank: Int32Array): void {
  const open = new Int32Array(count)
  for (let place = 0; place < out.node.length; place++) {
    if (back[out.edge[place]!] === 0) open[out.node[place]!] = open[out.node[place]!]! + 1
  }
  const queue = new Int32Array(count)
  let end = 0
  for (let v = 0; v < count; v++) if (open[v] === 0) queue[end++] = v
  for (let begin = 0; begin < end; begin++) {
    const v = queue[begin]!
    for (let place = out.at[v]!; place < out.at[v + 1]!; place++) {
      if (back[out.edge[place]!] === 1) continue
      const u = out.node[place]!
      if (rank[u]! <= rank[v]!) rank[u] = rank[v]! + 1
      open[u] = open[u]! - 1
      if (open[u] === 0) queue[end++] = u
    }
  }
}
