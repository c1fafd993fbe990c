/**
 * fire: one happening in, a new marking out. Pure and total: an exception anywhere fails that one instance
 * (`engine_error`), a fact not loaded is asked for.
 */
import type { CompiledNet } from './compile.ts'
import { Abandoned, Draft, MissingFact } from './draft.ts'
import { type Evaluate, type Facts, type Missing, Unloaded } from './facts.ts'
import type { Effect, Failure, Happening, Marking, Outcome, Place } from './marking.ts'
import type { Json } from './net.ts'
import {
  CANCELLED,
  cancelUnstarted,
  drain,
  end,
  enterFinal,
  failureJson,
  finalEnded,
  leaveDrainIfEmpty,
  stopUndo,
  undoEnded,
} from './phases.ts'
import { discardHeld, emit, failNode, itemEnded, moveTokens, succeedNode, takeUpCascade } from './tokens.ts'

export interface Fired {
  readonly marking: Marking
  /** Changed slots; null: removed. */
  readonly slots: ReadonlyMap<string, Json | null>
  readonly effects: readonly Effect[]
}

export type FireResult = { readonly fired: Fired } | { readonly missing: readonly Missing[] }

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
    goOn(d)
    return { fired: { marking: d.m, slots: d.slots, effects: d.effects } }
  } catch (error) {
    if (error instanceof MissingFact) return { missing: error.missing }
    if (error instanceof Unloaded) throw error
    const abandoned =
      error instanceof Abandoned
        ? error
        : new Abandoned('', { code: 'engine_error', message: error instanceof Error ? error.message : String(error) })
    return fail(net, marking, facts, happening, abandoned, evaluate)
  }
}

/** The happening is forgotten, the instance drains; if even that cannot be done it ends as it stands. */
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
    // The work that ended has ended, whatever the guard behind it did.
    if (happening.kind === 'ended' && happening.place.role === 'work') count(d, happening.place, happening.outcome)
    if (happening.kind === 'answered' && d.m.phase === 'forward') {
      d.m.gates--
      count(d, happening.place, happening.approved ? { kind: 'succeeded' } : { kind: 'failed', error })
    }
    if (d.m.phase === 'forward') {
      drain(d, error.code === 'engine_error' ? 'engine_error' : 'failure', error, node)
    } else if (d.m.phase !== 'ended') {
      d.put('e', failureJson(error, node))
      cancelUnstarted(d)
      end(d, 'failed', 'failed')
    }
  } catch (second) {
    if (second instanceof MissingFact) return { missing: second.missing }
    if (second instanceof Unloaded) throw second
    d.m.phase = 'ended'
    d.m.state = 'failed'
    d.m.outcome = 'failed'
    d.put('e', failureJson(error, null))
    d.effects.push({ do: 'end', state: 'failed', outcome: 'failed' })
  }
  return { fired: { marking: d.m, slots: d.slots, effects: d.effects } }
}

function take(d: Draft, happening: Happening): void {
  const { m } = d
  switch (happening.kind) {
    case 'start':
      return start(d)
    case 'ended':
      return ended(d, happening.place, happening.outcome)
    case 'answered':
      return answered(d, happening.place, happening.approved, happening.error)
    case 'late':
      return late(d, happening.place)
    case 'patched':
      if (m.phase === 'ended') return
      for (const [name, value] of Object.entries(happening.set)) d.put(`c:${name}`, value)
      d.contextChanged = true
      return
    case 'cancel':
      if (m.state === 'idle' || m.state === 'queued') return end(d, 'cancelled', 'cancelled')
      return drain(d, 'cancel', CANCELLED, null)
    case 'deadline':
      return deadline(d)
    case 'continue':
      if (m.phase === 'forward') takeUpCascade(d)
      else if (m.phase === 'drain' && m.more) {
        cancelUnstarted(d)
        leaveDrainIfEmpty(d)
      }
      return
    case 'resume':
      return resume(d, happening.places)
    case 'engine_error':
      if (m.phase === 'forward') return drain(d, 'engine_error', happening.error, null)
      if (m.phase === 'ended') return
      d.put('e', failureJson(happening.error, null))
      cancelUnstarted(d)
      return end(d, 'failed', 'failed')
  }
}

function start(d: Draft): void {
  const { m, net } = d
  if (m.state !== 'idle' && m.state !== 'queued') return
  m.state = 'running'
  m.live = net.net.entry.length
  if (net.net.timeoutMs !== null) d.effects.push({ do: 'deadline', inMs: net.net.timeoutMs })
  for (const key of net.net.entry) emit(d, key, '', null)
}

function ended(d: Draft, place: Place, outcome: Outcome): void {
  const { m } = d
  if (m.phase === 'ended') return
  if (place.role === 'undo') return m.phase === 'undo' ? undoEnded(d, place, outcome) : undefined
  if (place.role === 'final') {
    if (m.phase === 'final') return finalEnded(d, place, outcome)
    m.open--
    return leaveDrainIfEmpty(d)
  }
  count(d, place, outcome)
  if (m.phase === 'drain') {
    if (m.reason === 'stop' && outcome.kind === 'succeeded') d.put(`p:${place.fire}`, { ...place })
    return leaveDrainIfEmpty(d)
  }
  if (outcome.kind === 'unknown' && d.net.net.unknown === 'stop') return drain(d, 'stop', outcome.error, place.node)
  const ok = outcome.kind === 'succeeded'
  if (place.item >= 0) return itemEnded(d, place, !ok)
  if (ok) succeedNode(d, place)
  else failNode(d, place, outcome.kind === 'cancelled' ? CANCELLED : outcome.error)
}

/** Counters and undo list: the same in forward and drain. */
function count(d: Draft, place: Place, outcome: Outcome): void {
  const { m } = d
  m.open--
  const undoable = d.node(place.node).undo !== null
  if (outcome.kind === 'succeeded') {
    m.succeeded++
    if (undoable) d.joinUndo(place)
  } else if (outcome.kind !== 'cancelled' || m.phase === 'forward') {
    m.failed++
    if (outcome.kind === 'unknown' && d.net.net.unknown === 'undo' && undoable) d.joinUndo(place)
  }
}

function answered(d: Draft, place: Place, approved: boolean, error: Failure | null): void {
  const { m } = d
  if (m.phase !== 'forward') return
  m.gates--
  count(d, place, approved ? { kind: 'succeeded' } : { kind: 'failed', error: error ?? REJECTED })
  if (approved) succeedNode(d, place)
  else failNode(d, place, error ?? REJECTED)
}

const REJECTED: Failure = { code: 'rejected', message: 'the gate was rejected' }

/** A worker finished after all, though its outcome had been recorded as unknown. */
function late(d: Draft, place: Place): void {
  d.event('late_success', place.node, { ...place })
  if (d.m.phase === 'ended' || d.net.net.unknown === 'undo') return
  if (d.node(place.node).undo !== null) d.joinUndo(place)
}

function deadline(d: Draft): void {
  const { m } = d
  if (m.state === 'idle' || m.state === 'queued') {
    d.put('e', failureJson(TIMED_OUT, null))
    end(d, 'failed', 'timed_out')
  } else if (m.phase === 'forward') drain(d, 'deadline', TIMED_OUT, null)
  else if (m.phase === 'undo') {
    d.effects.push({ do: 'signal-active' })
    stopUndo(d, null, { code: 'undo_timeout', message: 'the undo did not end within its budget' })
  }
}

const TIMED_OUT: Failure = { code: 'timeout', message: 'the instance did not end by its deadline' }

/** The one way back: an instance that stopped without undo or finals goes on at the places that did not succeed. */
function resume(d: Draft, places: readonly Place[]): void {
  const { m, net } = d
  if (m.phase !== 'ended' || m.state !== 'failed' || net.net.finals.length > 0) return
  if (m.reason !== 'stop' && m.reason !== 'failure') return
  m.phase = 'forward'
  m.state = 'running'
  m.outcome = null
  m.reason = null
  d.put('e', null)
  d.event('instance.resumed', null, places.length)
  for (const place of places) {
    m.open++
    d.effects.push({ do: 'redrive', place })
  }
  for (const parked of d.slotsWith('p:')) {
    d.put(parked.key, null)
    const place = parked.value as unknown as Place
    if (place.item >= 0) itemEnded(d, place, false)
    else succeedNode(d, place)
  }
}

/** Moves what can move, then names the state. */
function goOn(d: Draft): void {
  const { m } = d
  if (m.phase !== 'forward' || m.state === 'idle' || m.state === 'queued') return
  moveTokens(d)
  while (phaseOf(d) === 'forward' && m.held > 0 && m.open === 0 && !m.more && d.net.net.held === 'complete') {
    discardHeld(d)
    moveTokens(d)
  }
  if (phaseOf(d) !== 'forward') return
  if (m.live === 0 && !m.more) return enterFinal(d)
  m.state = m.open === m.gates && m.gates + m.held > 0 && !m.more ? 'waiting' : 'running'
}

/** Reads the phase anew: the functions above change it. */
function phaseOf(d: Draft): Marking['phase'] {
  return d.m.phase
}
