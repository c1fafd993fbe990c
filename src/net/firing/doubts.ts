/**
 * Work in doubt: its outcome is unknown and its policy is `stop`, so it may have taken effect, or still may. A slot
 * records the doubt until a success or a failure is reported, however late. A rollback that ends with a doubt has
 * failed.
 */

import type { Outcome, Place } from '../marking.ts'
import { SLOT } from '../slots.ts'
import { undoesInPlace } from '../transitions.ts'
import type { Draft } from './draft.ts'

/** Must be called before the outcome is counted. */
export function weighDoubt(d: Draft, place: Place, outcome: Outcome): void {
  if (outcome.kind === 'unknown') {
    const doubted = d.unknownPolicy(place.node) === 'stop' && undoesInPlace(d.net.net)
    if (doubted) d.put(SLOT.doubt.key(place), place)
    // A cancelled run may have been in doubt before the instance was resumed.
  } else if (outcome.kind !== 'cancelled') removeDoubt(d, place)
}

/** true: there was a doubt. If nothing has failed there can be none, and no slot is read. */
export function removeDoubt(d: Draft, place: Place): boolean {
  if (d.m.failed === 0 || !undoesInPlace(d.net.net)) return false
  const key = SLOT.doubt.key(place)
  if (d.slot(key) === null) return false
  d.put(key, null)
  return true
}

export function doubts(d: Draft): readonly Place[] {
  return d.slotsWith(SLOT.doubt.prefix).map(({ value }) => value)
}
