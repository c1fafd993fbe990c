/**
 * What the names of a notation mean. A net knows few names (ctx, input, args, event, results, item …); a notation
 * calls the same things by its own. A vocabulary says which names of the net a name of the notation is made of, and
 * makes the notation's scope of what the net found for them.
 */
import type { Json } from '../net/net.ts'
import type { Scope } from './evaluate/walk.ts'
import type { Name } from './names.ts'

export interface Vocabulary {
  /** Names of the net's scope that a name of the notation is made of. Throws where the notation has no such name. */
  needs(path: Name): readonly Name[]
  /** What was not found is left out of `found`, or null. */
  scope(found: { readonly [name: string]: Json }): Scope
}
