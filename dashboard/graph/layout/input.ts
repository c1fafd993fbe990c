/** What the layout is given and returns: typed arrays only, so that they move between threads without being copied. */

/** Nodes are 0 … count − 1; sizes in pixels of the drawing. */
export interface LayoutInput {
  readonly count: number
  readonly from: Int32Array
  readonly to: Int32Array
  readonly width: Float32Array
  readonly height: Float32Array
  /** Where edges meet a node: to the right of its centre. */
  readonly port: Float32Array
  /** 1: below everything that is not marked so. */
  readonly last: Uint8Array
  /** Where cycles are entered. */
  readonly entry: Int32Array
  /** Least distance between two layers: more where conditions are written beside the arrows. */
  readonly gap: number
}

/**
 * The route of edge e is the points `pointAt[e]` … `pointAt[e + 1] − 1`, two numbers each, from its source to its target.
 * Between two points that differ in both coordinates it is a curve that begins and ends vertically.
 */
export interface Layout {
  /** Centres. */
  readonly x: Float32Array
  readonly y: Float32Array
  readonly points: Float32Array
  readonly pointAt: Int32Array
  /** 1: the edge closes a cycle, and goes up. */
  readonly back: Uint8Array
  readonly width: number
  readonly height: number
}

/** Neighbours of each node: those of v are `node[at[v]]` … `node[at[v + 1] − 1]`, reached by the edges in `edge`. */
export interface Adjacency {
  readonly at: Int32Array
  readonly node: Int32Array
  readonly edge: Int32Array
}

export function adjacency(count: number, from: Int32Array, to: Int32Array): Adjacency {
  const at = new Int32Array(count + 1)
  for (const v of from) at[v + 1] = at[v + 1]! + 1
  for (let v = 0; v < count; v++) at[v + 1] = at[v + 1]! + at[v]!
  const next = at.slice(0, count)
  const node = new Int32Array(from.length)
  const edge = new Int32Array(from.length)
  for (let e = 0; e < from.length; e++) {
    const place = next[from[e]!]!
    next[from[e]!] = place + 1
    node[place] = to[e]!
    edge[place] = e
  }
  return { at, node, edge }
}
