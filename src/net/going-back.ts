/**
 * Where an instance that repeats an earlier one begins. The earlier instance's work divides into three parts: the chosen
 * place, what began after it and follows from it, and everything else, which is kept.
 */
import type { CompiledNet } from './compile.ts'
import type { Place } from './marking.ts'
import type { Json } from './net.ts'
import { downstreamOf, firesOnce } from './reach.ts'

/** A place of the earlier instance. `item` −1: outside a list, or a list as a whole. */
export type EarlierPlace = Pick<Place, 'node' | 'fire' | 'item'>

export interface GoingBack {
  /** The earlier instance keeps what it did: what is taken over from it is never undone here. */
  readonly fork: boolean
  /**
   * The chosen place, the outermost first: all but the last are nested workflows. []: none, only unfinished work is done
   * again. null: everything is.
   */
  readonly path: readonly EarlierPlace[] | null
  /** The arguments of the last place. Left out: as they are rendered. */
  readonly args?: Json
  /** Of a nested workflow: its input was edited, and its own retry keeps the edit. */
  readonly edited?: true
}

export type Part = 'kept' | 'chosen' | 'later'

/**
 * Firings are numbered in the order in which they began, so in a net whose nodes fire several times, what follows from the
 * chosen place has a greater number.
 */
export function partOf(net: CompiledNet, back: GoingBack | null, { node, fire, item }: EarlierPlace): Part {
  if (back === null) return 'kept'
  if (back.path === null) return 'later'
  const [from] = back.path
  if (from === undefined) return 'kept'
  const once = firesOnce(net)
  if (node === from.node && (once || fire === from.fire)) {
    return from.item < 0 || item === from.item ? 'chosen' : 'kept'
  }
  if (!once && fire < from.fire) return 'kept'
  return downstreamOf(net, from.node).has(node) ? 'later' : 'kept'
}
