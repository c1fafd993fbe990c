/**
 * Scopes: the sets of tokens that one fork or list made. Each is in a slot of its own and continues when none of its
 * tokens is live; the root scope is the instance itself.
 */

import type { Json } from '../net.ts'
import { SLOT } from '../slots.ts'
import type { Draft } from './draft.ts'

/** `live` tokens that lead to `cont`. */
export interface ForkScope {
  readonly kind: 'fork'
  readonly up: string
  readonly cont: string
  readonly live: number
  readonly arrived: number
}

/** `live`: items that have not ended. */
export interface EachScope {
  readonly kind: 'each'
  readonly up: string
  readonly node: string
  readonly fire: number
  readonly args: Json | null
  readonly live: number
  readonly total: number
  readonly next: number
  readonly inFlight: number
  readonly failed: number
  /** Items that were never issued, because another had failed. */
  readonly dropped?: number
  /** How many may be open at a time, if an expression computed it. */
  readonly max?: number
}

export type ScopeSlot = ForkScope | EachScope

export function emit(d: Draft, node: string, scope: string, args: Json | null): void {
  d.todo.push({ t: 'token', node, scope, args })
}

/** Ends a token, and the scopes that end with it. */
export function endToken(d: Draft, scope: string): void {
  for (let path = scope; path !== ''; ) {
    const s = readScope(d, path)
    if (s.live > 1) return writeScope(d, path, { ...s, live: s.live - 1 })
    closeScope(d, path)
    if (s.kind === 'fork' && s.arrived > 0) return emit(d, s.cont, s.up, null)
    path = s.up
  }
  d.m.live--
}

/**
 * The scope for the tokens of a fork: its own, or the innermost of the nested scopes that it opens for several joins.
 */
export function openForks(d: Draft, scope: string, continuations: readonly string[], live: number): string {
  let path = scope
  for (const [i, cont] of continuations.entries()) {
    const up = path
    path = inner(up, ++d.m.fires)
    const innermost = i === continuations.length - 1
    writeScope(d, path, { kind: 'fork', up, cont, live: innermost ? live : 1, arrived: 0 })
  }
  return path
}

export function addLive(d: Draft, scope: string, n: number): void {
  if (n === 0) return
  if (scope === '') d.m.live += n
  else {
    const s = readScope(d, scope)
    writeScope(d, scope, { ...s, live: s.live + n })
  }
}

export function readScope(d: Draft, path: string): ScopeSlot {
  const s = d.slot(SLOT.scope.at(path))
  if (s === null) throw new Error(`scope '${path}' is closed`)
  return s
}

export function writeScope(d: Draft, path: string, s: ScopeSlot): void {
  d.put(SLOT.scope.at(path), s)
}

export function closeScope(d: Draft, path: string): void {
  d.put(SLOT.scope.at(path), null)
}

export function inner(path: string, id: number): string {
  return path === '' ? String(id) : `${path}.${id}`
}

export function outer(path: string): string {
  const dot = path.lastIndexOf('.')
  return dot < 0 ? '' : path.slice(0, dot)
}
