/**
 * The way back from an end, which the table of states does not have. An instance that stopped at a doubt, forward or
 * while it undid its work, continues in place: an operator resumes it, or a late answer removes the doubt.
 */

import type { Happening, Place } from '../marking.ts'
import { SLOT } from '../slots.ts'
import { mayResume, undoesInPlace } from '../transitions.ts'
import { succeedNode } from './arcs.ts'
import { doubts, removeDoubt } from './doubts.ts'
import type { Draft } from './draft.ts'
import { itemEnded } from './each.ts'
import { nextUndo, undoDue } from './phases.ts'

/** It continues at the places that did not succeed. */
export function resume(d: Draft, places: readonly Place[]): void {
  const { m, net } = d
  if (m.phase !== 'ended' || !mayResume(net.net, m)) return
  if (m.outcome === 'rolled_back_partial') return resumeUndo(d)
  m.phase = 'forward'
  m.state = 'running'
  m.outcome = null
  m.reason = null
  d.put(SLOT.error.key, null)
  d.event('instance.resumed', null, places.length)
  unlist(d, places)
  for (const place of places) {
    m.open++
    d.effects.push({ do: 'redrive', place, because: 'resumed' })
  }
  for (const parked of d.slotsWith(SLOT.parked.prefix)) {
    d.put(parked.key, null)
    const place = parked.value
    if (place.item >= 0) itemEnded(d, place, false)
    else succeedNode(d, d.node(place.node), place)
  }
}

/**
 * Work whose success was reported too late, or only assumed, is done again: it joins the undo list when it succeeds.
 */
export function unlist(d: Draft, places: readonly Place[]): void {
  const again = new Set(places.map(({ fire, item }) => `${fire}/${item}`))
  for (const { key, value } of d.slotsWith(SLOT.undo.prefix)) {
    const { fire, item } = value
    if (again.has(`${fire}/${item}`)) d.put(key, null)
  }
}

/** Continues at the undo that did not succeed; work in doubt is requested again beside it. */
function resumeUndo(d: Draft): void {
  const again = doubts(d)
  reopen(d)
  const stopped = d.slot(SLOT.undoAtHand.key)
  for (const place of stopped === null ? again : [stopped, ...again]) {
    d.m.open++
    d.effects.push({ do: 'redrive', place, because: 'resumed' })
  }
  if (stopped === null) nextUndo(d)
}

function reopen(d: Draft): void {
  const { m } = d
  m.phase = 'undo'
  m.state = 'compensating'
  m.outcome = null
  d.put(SLOT.undoError.key, null)
  d.event('instance.compensating', null, null)
}

/** Work that had been given up turns out to be done, or not to be (`refused`). */
export function late(d: Draft, happening: Extract<Happening, { kind: 'late' }>): void {
  const { place, result, cancelled = false, refused = false } = happening
  if (!refused) d.event('late_success', place.node, { ...place })
  if (d.m.phase === 'ended' && !rolledBack(d)) return
  if (place.role === 'undo') return refused ? undefined : lateUndo(d, place)
  // An instance stopped in the forward phase requests the work again when it is resumed: until then the doubt stays.
  const doubted = undoDue(d) && removeDoubt(d, place)
  // The policy `undo` has already put it on the list.
  const listed = d.unknownPolicy(place.node) === 'undo' && !cancelled
  const joins = !refused && !listed && d.node(place.node).undo !== null
  if (joins) d.joinUndo(place, result)
  if (doubted || joins) goOnUndoing(d)
}

/** The undo at which a rollback stopped has succeeded: the rollback continues after it. */
function lateUndo(d: Draft, { fire, item }: Place): void {
  if (!undoesInPlace(d.net.net)) return
  const stopped = d.slot(SLOT.undoAtHand.key)
  if (stopped?.fire !== fire || stopped.item !== item) return
  d.put(SLOT.undoAtHand.key, null)
  if (d.m.phase === 'ended') reopen(d)
  else d.put(SLOT.undoError.key, null)
  nextUndo(d)
}

/** An undo in progress, or one that failed, comes first. */
function goOnUndoing(d: Draft): void {
  const { m } = d
  if ((m.phase !== 'undo' && m.phase !== 'ended') || !undoesInPlace(d.net.net)) return
  if (d.slot(SLOT.undoAtHand.key) !== null) return
  if (m.phase === 'ended') reopen(d)
  nextUndo(d)
}

function rolledBack({ m, net }: Draft): boolean {
  return (m.outcome === 'rolled_back' || m.outcome === 'rolled_back_partial') && undoesInPlace(net.net)
}
