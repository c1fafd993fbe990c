/**
 * The result of a list with `collect`: a slot has the numbers of its latest closed firing; the results belong to the
 * items and are gathered when an expression names them. Also the results of nested workflows.
 */

import type { Missing } from './facts.ts'
import type { Draft } from './firing/draft.ts'
import type { EachScope } from './firing/scopes.ts'
import type { EachWork, Json, Node, Work } from './net.ts'
import { type ChildRef, SLOT } from './slots.ts'

export interface Closed {
  readonly fire: number
  readonly total: number
  readonly success: number
  readonly failed: number
}

export function collects(work: Work | undefined): work is EachWork & { readonly collect: 'list' } {
  return work?.kind === 'each' && work.collect === 'list'
}

export function closedOf({ fire, total, failed, dropped = 0 }: Omit<EachScope, 'kind' | 'up' | 'args'>): Closed {
  return { fire, total, success: total - failed - dropped, failed }
}

/** `results`: those of succeeded items, by index. */
export function collected(closed: Closed, results: Json | null): Json {
  const found = (results ?? {}) as { readonly [index: string]: Json }
  const list = Array.from({ length: closed.total }, (_, i) => found[i] ?? null)
  return { results: list, stats: statsOf(closed) }
}

export function statsOf({ total, success, failed }: Closed): Json {
  return { total, success, failed }
}

/** null: no firing has closed. `stats`: the numbers alone, for which no item is read. What is missing is noted. */
export function listResult(d: Draft, node: string, missing: Missing[], stats: boolean): Json | null {
  const key = SLOT.closedList.key(node)
  const slot = d.slots.get(key) ?? d.facts.slot(key)
  if (slot === undefined) missing.push({ fact: 'slot', key })
  if (slot === undefined || slot === null) return null
  const closed = slot as unknown as Closed
  if (stats) return { stats: statsOf(closed) }
  if (closed.total === 0) return collected(closed, null)
  return d.collected.get(`${node}/${closed.fire}`) ?? gathered(d, node, closed, missing)
}

/** Gathered once, however many expressions name it. */
function gathered(d: Draft, node: string, closed: Closed, missing: Missing[]): Json | null {
  const { fire } = closed
  const results = d.facts.result(node, fire)
  if (results === undefined) {
    missing.push({ fact: 'result', node, fire })
    return null
  }
  const list = collected(closed, results)
  d.collected.set(`${node}/${fire}`, list)
  return list
}

/** The result that a nested workflow returns is merged over the results of its nodes. */
export function returned(byNode: { readonly [node: string]: Json }, node: string | undefined): Json {
  if (node === undefined) return byNode
  const own = byNode[node] ?? null
  const entries = typeof own === 'object' && own !== null && !Array.isArray(own) ? own : { result: own }
  return { ...byNode, ...entries }
}

/** A pass only routes, so it has none. */
export function hasResult(node: Node | undefined): boolean {
  return node?.work.kind !== 'pass'
}

/** `fire`: for an item, the firing it belongs to. */
export function isChildRef(value: Json): value is ChildRef & { readonly [key: string]: Json } {
  return value !== null && typeof value === 'object' && typeof (value as { $child?: Json }).$child === 'string'
}
