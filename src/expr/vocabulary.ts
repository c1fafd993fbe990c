/**
 * The meaning of a notation's names. A net has few names (ctx, input, args, event, results, item …); a notation has its
 * own names for the same things. A vocabulary maps each name of the notation to the names of the net that it is made
 * of, and builds the notation's scope from the values found for them.
 */
import type { Json } from '../net/net.ts'
import type { Scope } from './evaluate/walk.ts'
import type { Name } from './names.ts'

export interface Vocabulary {
  /** Names of the net's scope that a name of the notation is made of. Throws if the notation has no such name. */
  needs(path: Name): readonly Name[]
  /** Values that were not found are missing from `found`, or null. */
  scope(found: { readonly [name: string]: Json }): Scope
}
