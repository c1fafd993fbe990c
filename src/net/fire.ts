/**
 * fire: one happening in, a new marking out. Pure and total: an exception anywhere fails that one instance
 * (`engine_error`); a fact that is not loaded is requested.
 */

import type { CompiledNet } from './compile.ts'
import { type Evaluate, type Facts, type Missing, Unloaded } from './facts.ts'
import { failNode, succeedNode, write } from './firing/arcs.ts'
import { takeUp } from './firing/cascade.ts'
import { weighDoubt } from './firing/doubts.ts'
import { Abandoned, Draft, MissingFact } from './firing/draft.ts'
import { itemEnded } from './firing/each.ts'
import {
  abandonUndo,
  CANCELLED,
  cancelUnstarted,
  childStuck,
  drain,
  end,
  enterFinal,
  finalEnded,
  leaveDrainAtOnce,
  leaveDrainIfEmpty,
  nodeFailure,
  rollBack,
  undoEnded,
  workEndedInUndo,
} from './firing/phases.ts'
import { type Appeal, appeals, takeAppeal, upheld } from './firing/reruns.ts'
import { late, resume } from './firing/resume.ts'
import { emit } from './firing/scopes.ts'
import { takeBack } from './firing/take-back.ts'
import { discardHeld, moveTokens, rerun } from './firing/tokens.ts'
import type { Effect, Failure, Happening, Marking, Outcome, Place } from './marking.ts'
import { SLOT, type SlotChanges } from './slots.ts'
import { noteFailure } from './summary.ts'
import { stopsResumably } from './transitions.ts'

export interface Fired {
  readonly marking: Marking
  readonly slots: SlotChanges
  readonly effects: readonly Effect[]
}

/** `ahead`: the new marking without its effects, if only arguments of new work are missing. */
export type FireResult =
  | { readonly fired: Fired }
  | { readonly missing: readonly Missing[]; readonly ahead: Pick<Fired, 'marking' | 'slots'> | null }

export function fire(
  net: CompiledNet,
  marking: Marking,
  facts: Facts,
  happening: Happening,
  evaluate: Evaluate,
): FireResult {
  const d = new Draft(net, marking, facts, evaluate)
  try {
    take(d, happening)
    advance(d)
    if (d.lacking.length > 0) return { missing: d.lacking, ahead: { marking: d.m, slots: d.slots } }
    return { fired: { marking: d.m, slots: d.slots, effects: d.effects } }
  } catch (error) {
    if (error instanceof MissingFact) return { missing: [...d.lacking, ...error.missing], ahead: null }
    if (error instanceof Unloaded) throw error
    if (d.lacking.length > 0) return { missing: d.lacking, ahead: null }
    const abandoned =
      error instanceof Abandoned
        ? error
        : new Abandoned('', { code: 'engine_error', message: error instanceof Error ? error.message : String(error) })
    return fail(net, marking, facts, happening, abandoned, evaluate)
  }
}

/** The happening is discarded and the instance drains; if even that is impossible, it ends as it is. */
function fail(
  net: CompiledNet,
  marking: Marking,
  facts: Facts,
  happening: Happening,
  abandoned: Abandoned,
  evaluate: Evaluate,
): FireResult {
  const error = abandoned.failure
  const node = abandoned.node === '' ? null : abandoned.node
  const d = new Draft(net, marking, facts, evaluate)
  try {
    // The work has ended, whatever the guard behind it did.
    if (happening.kind === 'ended') record(d, happening.place, happening.outcome)
    if (happening.kind === 'ended' && happening.place.role === 'work') count(d, happening.place, happening.outcome)
    if (happening.kind === 'answered' && d.m.phase === 'forward') {
      d.m.gates--
      const appeal = takeAppeal(d, happening.place)
      const good = happening.approved && appeal === null
      count(d, appeal?.place ?? happening.place, good ? { kind: 'succeeded' } : { kind: 'failed', error })
    }
    if (d.m.phase === 'forward') {
      drain(d, error.code === 'engine_error' ? 'engine_error' : 'failure', error, node)
    } else if (d.m.phase !== 'ended') {
      d.put(SLOT.error.key, nodeFailure(error, node))
      cancelUnstarted(d)
      end(d, 'failed', 'failed')
    }
    if (d.lacking.length > 0) return { missing: d.lacking, ahead: null }
  } catch (second) {
    if (second instanceof MissingFact) return { missing: second.missing, ahead: null }
    if (second instanceof Unloaded) throw second
    d.m.phase = 'ended'
    d.m.state = 'failed'
    d.m.outcome = 'failed'
    d.put(SLOT.error.key, nodeFailure(error, null))
    d.effects.push({ do: 'end', state: 'failed', outcome: 'failed' })
  }
  return { fired: { marking: d.m, slots: d.slots, effects: d.effects } }
}

/** An instance that has not been queued has no work that could end, be answered or time out. */
const ACCEPTED_WHILE_IDLE: ReadonlySet<Happening['kind']> = new Set(['queue', 'patched', 'cancel', 'roll-back'])

function take(d: Draft, happening: Happening): void {
  const { m } = d
  if (m.state === 'idle' && !ACCEPTED_WHILE_IDLE.has(happening.kind)) return
  switch (happening.kind) {
    case 'queue':
      return queue(d)
    case 'start':
      return start(d)
    case 'ended':
      return ended(d, happening.place, happening.outcome)
    case 'answered':
      return answered(d, happening.place, happening.approved, happening.error)
    case 'late':
      return late(d, happening)
    case 'patched':
      if (m.phase === 'ended') return
      write(d, happening.set)
      d.contextChanged = true
      return
    case 'cancel':
      if (m.state === 'idle' || m.state === 'queued') return end(d, 'cancelled', 'cancelled')
      return happening.undo === true ? rollBack(d) : drain(d, 'cancel', CANCELLED, null)
    case 'roll-back':
      if (m.state === 'idle' || m.state === 'queued') return end(d, 'cancelled', 'cancelled')
      return drain(d, 'compensate', CANCELLED, null)
    case 'deadline':
      return deadline(d)
    case 'continue':
      if (m.phase === 'forward') takeUp(d)
      else if (m.phase === 'drain' && m.more) {
        cancelUnstarted(d)
        leaveDrainIfEmpty(d)
      } else leaveDrainAtOnce(d)
      return
    case 'again':
      return takeBack(d, happening)
    case 'resume':
      return resume(d, happening.places)
    case 'engine_error':
      if (m.phase === 'forward') return drain(d, 'engine_error', happening.error, null)
      if (m.phase === 'ended') return
      d.put(SLOT.error.key, nodeFailure(happening.error, null))
      cancelUnstarted(d)
      return end(d, 'failed', 'failed')
  }
}

/** The deadline runs from here. Creating an instance as queued sets it in the same way. */
function queue(d: Draft): void {
  if (d.m.state !== 'idle') return
  d.enter('queued')
  const { timeoutMs } = d.net.net
  if (timeoutMs !== null) d.effects.push({ do: 'deadline', inMs: timeoutMs })
}

/** An idle instance has to be queued before it can start. */
function start(d: Draft): void {
  const { m, net } = d
  if (m.state !== 'queued') return
  d.enter('running')
  m.live = net.net.entry.length
  for (const key of net.net.entry) emit(d, key, '', null)
}

function ended(d: Draft, place: Place, outcome: Outcome): void {
  const { m } = d
  if (m.phase === 'ended') return
  record(d, place, outcome)
  if (place.role === 'undo') return m.phase === 'undo' ? undoEnded(d, place, outcome) : undefined
  if (place.role === 'final') {
    if (m.phase === 'final') return finalEnded(d, place, outcome)
    m.open--
    return leaveDrainIfEmpty(d)
  }
  if (m.phase === 'forward' && (appeals(d, place, outcome) || rerun(d, place, outcome))) return
  count(d, place, outcome)
  if (m.phase === 'undo') return workEndedInUndo(d)
  if (m.phase === 'drain') {
    // If the instance is resumed, its arcs are tried then.
    if (outcome.kind === 'succeeded' && stopsResumably(d.net.net, m.reason)) d.put(SLOT.parked.key(place), place)
    if ('error' in outcome && place.item < 0) noteFailure(d, place.node, outcome.error, false)
    if (outcome.kind === 'failed' && outcome.undoError !== undefined) childStuck(d, place.node, outcome.undoError)
    return leaveDrainIfEmpty(d)
  }
  if (outcome.kind === 'unknown' && d.unknownPolicy(place.node) === 'stop') {
    return drain(d, 'stop', outcome.error, place.node)
  }
  const ok = outcome.kind === 'succeeded'
  if (place.item >= 0) return itemEnded(d, place, !ok)
  if (ok) succeedNode(d, d.node(place.node), place)
  else failNode(d, d.node(place.node), place, outcome.kind === 'cancelled' ? CANCELLED : outcome.error)
}

/** What a worker wrote into the context is stored however its work ended, and whatever becomes of the instance. */
function record(d: Draft, place: Place, outcome: Outcome): void {
  if (outcome.kind === 'cancelled' || outcome.set === undefined) return
  write(d, outcome.set)
  // For an instance that repeats this one and adopts the work.
  if (outcome.kind === 'succeeded' && place.role === 'work') d.put(SLOT.entries.key(place), outcome.set)
}

/** Counters and undo list: the same in forward and drain. */
function count(d: Draft, place: Place, outcome: Outcome): void {
  const { m } = d
  m.open--
  weighDoubt(d, place, outcome)
  const undoable = d.node(place.node).undo !== null
  if (outcome.kind === 'succeeded') {
    m.succeeded++
    if (undoable && outcome.kept !== true) d.joinUndo(place)
  } else if (outcome.kind !== 'cancelled' || m.phase === 'forward') {
    m.failed++
    if (m.failed === 1 && m.phase === 'forward' && d.net.net.verdict.failedOn === 'any') {
      d.put(SLOT.error.key, nodeFailure(outcome.kind === 'cancelled' ? CANCELLED : outcome.error, place.node))
    }
    if (outcome.kind === 'unknown' && d.unknownPolicy(place.node) === 'undo' && undoable) d.joinUndo(place)
  }
}

function answered(d: Draft, place: Place, approved: boolean, error: Failure | null): void {
  const { m } = d
  if (m.phase !== 'forward') return
  m.gates--
  const appeal = takeAppeal(d, place)
  if (appeal !== null) return appealAnswered(d, appeal, approved, error)
  const failed = { kind: 'failed', error: error ?? REJECTED } as const
  if (!approved && rerun(d, place, failed)) return
  count(d, place, approved ? { kind: 'succeeded' } : failed)
  if (approved) succeedNode(d, d.node(place.node), place)
  else failNode(d, d.node(place.node), place, failed.error)
}

/** The gate ends; in its place among the open work the run is active again, or the work has failed after all. */
function appealAnswered(d: Draft, appeal: Appeal, approved: boolean, rejection: Failure | null): void {
  const { place } = appeal
  if (approved) {
    d.effects.push({ do: 'redrive', place, because: 'approved' })
    return
  }
  const error = upheld(appeal.error, rejection)
  count(d, place, { kind: 'failed', error })
  failNode(d, d.node(place.node), place, error)
}

const REJECTED: Failure = { code: 'rejected', message: 'the gate was rejected' }

function deadline(d: Draft): void {
  const { m } = d
  if (m.state === 'queued') {
    d.put(SLOT.error.key, nodeFailure(TIMED_OUT, null))
    end(d, 'failed', 'timed_out')
  } else if (m.phase === 'forward') drain(d, 'deadline', TIMED_OUT, null)
  else if (m.phase === 'undo') {
    d.effects.push({ do: 'signal-active' })
    abandonUndo(d, { code: 'undo_timeout', message: 'the undo did not end within its budget' })
  }
}

const TIMED_OUT: Failure = {
  code: 'timeout',
  message: 'the instance did not end by its deadline',
  category: 'timeout',
}

/** Moves all tokens that can move, then sets the state. */
function advance(d: Draft): void {
  const { m } = d
  if (m.phase !== 'forward' || m.state === 'idle' || m.state === 'queued') return
  moveTokens(d)
  while (phaseOf(d) === 'forward' && m.held > 0 && m.open === 0 && !m.more && d.net.net.held === 'complete') {
    discardHeld(d)
    moveTokens(d)
  }
  if (phaseOf(d) !== 'forward') return
  if (m.live === 0 && !m.more) return enterFinal(d)
  d.enter(m.open === m.gates && m.gates + m.held > 0 && !m.more ? 'waiting' : 'running')
}

/** A call, because the functions above change the phase: the compiler would keep `m.phase` narrowed. */
function phaseOf(d: Draft): Marking['phase'] {
  return d.m.phase
}
