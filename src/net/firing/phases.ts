/**
 * Leaving the forward phase: drain, undo, final, verdict. docs/net.md describes when each is entered and left; every
 * function here is called with the draft in the phase that its name refers to.
 */

import type { Missing } from '../facts.ts'
import type { DrainReason, Failure, InstanceOutcome, InstanceState, Outcome, Place } from '../marking.ts'
import { storeOutOfLine } from '../references.ts'
import { type NodeFailure, SLOT } from '../slots.ts'
import { noteFailure, summaryOf } from '../summary.ts'
import { hasChildren, undoesAtOnce, undoesInPlace, undoFollows } from '../transitions.ts'
import { drop } from './cascade.ts'
import { doubts } from './doubts.ts'
import type { Draft } from './draft.ts'
import { Abandoned, MissingFact } from './draft.ts'
import { payloadOf, runPayload, wholePayload } from './guards.ts'
import { dropAppeals } from './reruns.ts'

/** Rows a drain cancels at a time. */
const CANCEL_CHUNK = 1000

export function drain(d: Draft, reason: DrainReason, error: Failure, node: string | null): void {
  const { m } = d
  const cancelsFinals = m.phase === 'final' && reason === 'cancel' && m.state !== 'compensating'
  if (m.phase !== 'forward' && !cancelsFinals) return
  if (m.phase === 'forward') {
    d.put(SLOT.error.key, nodeFailure(error, node))
    if (reason !== 'cancel') noteFailure(d, node, error, false)
  }
  dropAppeals(d)
  m.phase = 'drain'
  m.reason = reason
  drop(d)
  if (m.held > 0) {
    for (const held of d.slotsWith(SLOT.heldToken.prefix)) d.put(held.key, null)
    m.held = 0
  }
  d.effects.push({ do: 'deadline', inMs: null })
  if (reason === 'cancel') d.enter('cancelling')
  else {
    // A waiting instance, or one that could not begin, is running while it drains.
    d.enter('running')
    if (undoDue(d)) d.enter('compensating')
  }
  d.event('instance.draining', node, { reason, error: nodeFailure(error, node) })
  // After a failure, active work may still succeed; after a cancel or a deadline its result is no longer wanted.
  if (m.open > 0 && (reason === 'cancel' || reason === 'deadline')) d.effects.push({ do: 'signal-active' })
  cancelUnstarted(d)
  leaveDrainIfEmpty(d)
}

/** Cancels what has not started, a chunk at a time; `more` asks for the next chunk. */
export function cancelUnstarted(d: Draft): void {
  const { m } = d
  m.more = false
  if (m.open === 0) return
  if (m.gates > 0) {
    const gates = known(d.facts.openGates(CANCEL_CHUNK), { fact: 'openGates', limit: CANCEL_CHUNK } as const)
    for (const id of gates) d.effects.push({ do: 'close-gate', id })
    m.open -= gates.length
    m.gates -= gates.length
    if (m.gates > 0) m.more = true
  }
  if (m.open === 0) return
  const runs = known(d.facts.unstarted(CANCEL_CHUNK), { fact: 'unstarted', limit: CANCEL_CHUNK } as const)
  for (const id of runs) d.effects.push({ do: 'cancel-run', id })
  m.open -= runs.length
  if (runs.length === CANCEL_CHUNK) m.more = true
  if (m.open === 0) return
  const children = known(d.facts.openChildren(CANCEL_CHUNK), { fact: 'openChildren', limit: CANCEL_CHUNK } as const)
  for (const id of children) d.effects.push({ do: 'cancel-child', id, undo: undoDue(d) })
  if (children.length === CANCEL_CHUNK) m.more = true
}

function known<T>(fact: T | undefined, missing: Missing): T {
  if (fact === undefined) throw new MissingFact(missing)
  return fact
}

/** Past the deadline of a net that undoes at once: work it does not wait for has been given up by now. */
export function leaveDrainAtOnce(d: Draft): void {
  if (d.m.phase === 'drain' && !d.m.more && d.m.open > 0 && undoesAtOnce(d.net.net, d.m)) enterUndo(d)
}

export function leaveDrainIfEmpty(d: Draft): void {
  const { m } = d
  if (m.phase !== 'drain' || m.open > 0 || m.more) return
  if (m.reason === 'cancel') end(d, 'cancelled', 'cancelled')
  else if (!undoDue(d)) enterFinal(d)
  else if (hasChildren(d.net.net) && d.slot(SLOT.undoError.key) !== null) end(d, 'failed', 'rolled_back_partial')
  else enterUndo(d)
}

/** Its parent undoes its work. With nothing of its own to undo, that is a cancel like any other. */
export function rollBack(d: Draft): void {
  const { net } = d.net
  const undoes = d.m.phase === 'forward' && (hasChildren(net) || net.nodes.some((node) => node.undo !== null))
  drain(d, undoes ? 'compensate' : 'cancel', CANCELLED, null)
}

/** A child could not undo its work: nothing further is undone here either, once all open work has ended. */
export function childStuck(d: Draft, node: string, error: Failure): void {
  if (undoDue(d)) d.put(SLOT.undoError.key, nodeFailure(error, node))
}

export function undoDue(d: Draft): boolean {
  return undoFollows(d.net.net, d.m)
}

function enterUndo(d: Draft): void {
  d.m.phase = 'undo'
  d.enter('compensating')
  d.event('instance.compensating', null, null)
  if (d.net.net.undoTimeoutMs !== null) d.effects.push({ do: 'deadline', inMs: d.net.net.undoTimeoutMs })
  nextUndo(d)
}

/** The next undo, or the end of the rollback. Work in flight is awaited first. */
export function nextUndo(d: Draft): void {
  const top = d.topSlot(SLOT.undo.prefix)
  if (top === null) return allUndone(d)
  const { result, ...done } = top.value
  const given = { args: null, ...(result === undefined ? {} : { own: { node: done.node, result } }) }
  const undo = d.node(done.node).undo
  let payload: ReturnType<typeof payloadOf>
  try {
    payload = payloadOf(d, undo?.work.args ?? null, given, { node: done.node, what: 'args of its undo' })
    // A reference cannot have the given arguments inserted into it.
    if (undo?.given === undefined) payload = runPayload(d, payload)
  } catch (error) {
    if (!(error instanceof Abandoned)) throw error
    return stopUndo(d, done.node, error.failure)
  }
  // Removed from the list together with the creation of its run, so that no crash or repeat can open a second one.
  d.put(top.key, null)
  d.m.open++
  const place: Place = { ...done, role: 'undo' }
  if (undoesInPlace(d.net.net)) d.put(SLOT.undoAtHand.key, { ...place })
  d.run(place, payload, null)
}

/** Work that may have taken effect without an answer may leave an effect behind. */
function allUndone(d: Draft): void {
  if (undoesInPlace(d.net.net)) {
    if (d.m.open > 0) return
    const [doubt] = doubts(d)
    if (doubt !== undefined) return stopUndo(d, doubt.node, inDoubt(doubt.node))
  }
  d.effects.push({ do: 'deadline', inMs: null })
  enterFinal(d)
}

function inDoubt(node: string): Failure {
  const message = `'${node}' did not answer: whether it took effect is not known`
  return { code: 'in_doubt', message, details: { node } }
}

export function undoEnded(d: Draft, place: Place, outcome: Outcome): void {
  d.m.open--
  if (outcome.kind !== 'succeeded')
    return stopUndo(d, place.node, outcome.kind === 'cancelled' ? CANCELLED : outcome.error)
  if (undoesInPlace(d.net.net)) d.put(SLOT.undoAtHand.key, null)
  nextUndo(d)
}

/** Work that was in flight when the rollback began has ended. */
export function workEndedInUndo(d: Draft): void {
  if (d.slot(SLOT.undoError.key) !== null) endStopped(d)
  else if (d.slot(SLOT.undoAtHand.key) === null) nextUndo(d)
}

/** A failed undo ends the instance: what was undone stays undone, both errors are kept. */
export function stopUndo(d: Draft, node: string | null, error: Failure): void {
  d.put(SLOT.undoError.key, nodeFailure(error, node))
  endStopped(d)
}

/** The budget of the undo has run out: nothing is awaited. */
export function abandonUndo(d: Draft, error: Failure): void {
  d.put(SLOT.undoError.key, nodeFailure(error, null))
  cancelUnstarted(d)
  end(d, 'failed', 'rolled_back_partial')
}

/** Work in flight is awaited first. */
function endStopped(d: Draft): void {
  if (d.m.open > 0 && undoesInPlace(d.net.net)) return
  cancelUnstarted(d)
  end(d, 'failed', 'rolled_back_partial')
}

export function enterFinal(d: Draft): void {
  const { m, net } = d
  const undone = m.phase === 'undo'
  m.phase = 'final'
  if (m.reason === null) d.effects.push({ do: 'deadline', inMs: null })
  const failed = failedSoFar(d)
  const due = net.net.finals.filter(({ when }) => when === 'always' || (when === 'failure') === failed)
  const args = due.length === 0 ? null : storeOutOfLine(d, summaryOf(d, failed))
  for (const final of due) {
    const { work } = d.node(final.node)
    const place: Place = { node: final.node, fire: ++m.fires, item: -1, role: 'final', scope: '' }
    const where = { node: final.node, what: 'args' }
    if (work.kind === 'run') {
      const payload = payloadOf(d, work.args, { args }, where)
      d.run(place, runPayload(d, payload), null)
    } else if (work.kind === 'child') {
      const input = payloadOf(d, work.input, { args }, where)
      d.effects.push({ do: 'child', place, net: work.net, attached: true, ...wholePayload(d, input), item: null })
    } else continue
    m.open++
  }
  if (!undone && m.state === 'waiting') d.enter('running')
  if (m.open === 0) reachVerdict(d)
}

export function finalEnded(d: Draft, place: Place, outcome: Outcome): void {
  d.m.open--
  if (outcome.kind !== 'succeeded') {
    const error = outcome.kind === 'cancelled' ? CANCELLED : outcome.error
    const final = d.net.net.finals.find((f) => f.node === place.node)
    if (final?.onFailure === 'partial') d.put(SLOT.partial.key, true)
    else d.m.finalsFailed++
    if (d.slot(SLOT.error.key) === null) d.put(SLOT.error.key, nodeFailure(error, place.node))
    d.event('node.final_failed', place.node, nodeFailure(error, place.node))
  }
  if (d.m.open === 0) reachVerdict(d)
}

/** The condition behind `when: success | failure` of a final. */
function failedSoFar(d: Draft): boolean {
  const { m, net } = d
  return m.reason !== null || m.unhandled > 0 || (net.net.verdict.failedOn === 'any' && m.failed > 0)
}

function reachVerdict(d: Draft): void {
  const { m, net } = d
  if (undoDue(d)) return end(d, m.finalsFailed > 0 ? 'failed' : 'compensated', 'rolled_back')
  const { failedOn, partial } = net.net.verdict
  const workFailed = failedOn === 'any' ? m.failed > 0 : failedOn !== 'finals' && m.unhandled > 0
  if (m.reason === null && !workFailed && m.finalsFailed === 0) {
    const softened = net.net.finals.some((f) => f.onFailure === 'partial') && d.slot(SLOT.partial.key) !== null
    return end(d, 'completed', softened ? 'partial' : 'success')
  }
  if (m.reason === null && partial && m.succeeded > 0) return end(d, 'completed', 'partial')
  end(d, 'failed', m.reason === 'deadline' ? 'timed_out' : 'failed')
}

export function end(d: Draft, state: InstanceState, outcome: InstanceOutcome): void {
  d.m.phase = 'ended'
  d.enter(state)
  d.m.outcome = outcome
  d.m.more = false
  d.effects.push({ do: 'deadline', inMs: null }, { do: 'end', state, outcome })
}

export const CANCELLED: Failure = { code: 'cancelled', message: 'cancelled before it ended' }

export function nodeFailure(error: Failure, node: string | null): NodeFailure {
  return { ...error, node }
}
