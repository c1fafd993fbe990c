/**
 * Failed work that gets another chance. A run that governance forbids waits for people: the gate of its appeal takes
 * its place among the open work, and its error is in a slot until they decide. Under the net's policy `retry`, work is
 * done again: a slot records that it has been.
 */

import { isMap } from '../json.ts'
import type { Failure, Outcome, Place } from '../marking.ts'
import type { Node } from '../net.ts'
import { SLOT } from '../slots.ts'
import type { Draft } from './draft.ts'

export interface Appeal {
  readonly place: Place
  readonly error: Failure
}

/** Another try would not end differently, or is not wanted. */
const NEVER_AGAIN: ReadonlySet<string> = new Set(['timeout', 'validation', 'governance', 'cancelled'])

/** true: people are asked, and the work has not failed until they reject it. */
export function appeals(d: Draft, place: Place, outcome: Outcome): boolean {
  if (outcome.kind !== 'failed' || outcome.error.category !== 'governance' || place.role !== 'work') return false
  if (d.node(place.node).appeal === undefined) return false
  const { error } = outcome
  // A number of its own: the same run may be forbidden again, and each time opens another gate.
  const gate: Place = { ...place, fire: ++d.m.fires }
  d.put(SLOT.appeal.key(gate.fire), { place, error })
  d.m.gates++
  d.effects.push({ do: 'appeal', place: gate, of: place, error })
  return true
}

/** Takes up the appeal that this gate decided; null: the gate is a node's own work. */
export function takeAppeal(d: Draft, gate: Place): Appeal | null {
  if (d.node(gate.node).work.kind === 'gate') return null
  const slot = SLOT.appeal.key(gate.fire)
  const appeal = d.slot(slot)
  if (appeal === null) throw new Error(`there is no appeal at fire ${gate.fire} of node '${gate.node}'`)
  d.put(slot, null)
  return appeal
}

/** The error from governance stays; the rejection is added. */
export function upheld(error: Failure, rejection: Failure | null): Failure {
  const { details } = error
  const given = isMap(details) ? details : details === undefined || details === null ? {} : { given: details }
  return { ...error, details: { ...given, rejected: rejection?.details ?? rejection?.message ?? null } }
}

/** The instance turns back before a decision: the forbidden work has failed. */
export function dropAppeals(d: Draft): void {
  if (d.m.gates === 0 || !d.net.net.nodes.some((node) => node.appeal !== undefined)) return
  for (const { key } of d.slotsWith(SLOT.appeal.prefix)) {
    d.put(key, null)
    d.m.failed++
  }
}

/** Whether the net's policy allows work of this node to be done again. */
export function mayRerun(d: Draft, node: Node): boolean {
  return d.net.net.onFailure === 'retry' && node.onFailure === 'net'
}

/**
 * Whether this failure is the first of its work, and one that another try may mend. Marks nothing. A child that is an
 * item has a place of its own in its list and cannot be fired again.
 */
export function rerunDue(d: Draft, place: Place, outcome: Outcome): Failure | null {
  if (outcome.kind === 'succeeded' || outcome.kind === 'cancelled' || place.role !== 'work') return null
  // Unless unknown work simply counts as failed, its own policy decides.
  if (outcome.kind === 'unknown' && d.unknownPolicy(place.node) !== 'ignore') return null
  if (!mayRerun(d, d.node(place.node))) return null
  const { error } = outcome
  if (error.retryable === false || NEVER_AGAIN.has(error.category ?? error.code) || NEVER_AGAIN.has(error.code)) {
    return null
  }
  return d.slot(SLOT.secondTry.key(place)) === null ? error : null
}

export function markSecondTime(d: Draft, place: Place): void {
  d.put(SLOT.secondTry.key(place), true)
}
