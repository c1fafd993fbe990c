/**
 * Work in doubt: its outcome is unknown and its policy is `stop`, so it may have taken effect, or may yet. A
 * slot says so until a success or a failure is reported, however late. A rollback that ends with a doubt has failed.
 */
import type { Draft } from './draft.ts'
import type { Outcome, Place } from './marking.ts'
import { SLOT } from './slots.ts'
import { undoesInPlace } from './transitions.ts'

/** To be called before the outcome is counted. */
export function weighDoubt(d: Draft, place: Place, outcome: Outcome): void {
  if (outcome.kind === 'unknown') {
    const doubted = d.unknownPolicy(place.node) === 'stop' && undoesInPlace(d.net.net)
    if (doubted) d.put(SLOT.doubt.key(place), place)
    // What was cancelled may have been asked for in an earlier life, before it was resumed.
  } else if (outcome.kind !== 'cancelled') removeDoubt(d, place)
}

/** true: there was one. Where nothing ever failed there is none, and no slot is read. */
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
