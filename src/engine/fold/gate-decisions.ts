/** Gates are decided by votes, by time or by force. */

import { PetrelError } from '../../kernel/errors.ts'
import { type EscalationStage, gateOptions, standingOf, type Vote, votesOf } from '../../model/gates.ts'
import type { GateRow, RunRow } from '../../model/rows.ts'
import type { Place } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { SLOT } from '../../net/slots.ts'
import { recordEvent } from './events.ts'
import { happen } from './happenings.ts'
import { memberOf } from './members.ts'
import { NeedMore } from './need.ts'
import { timesStandStill } from './parking.ts'
import { findRun } from './run/changed-runs.ts'
import { prepareRedrive } from './run/redrives.ts'
import { putSlot } from './slots.ts'
import { checkVote, verdictOf } from './votes.ts'
import type { WorkingSet } from './working-set.ts'

/** Counts a vote under the lock, and decides the gate if the votes now suffice. */
export function castVote(
  change: WorkingSet,
  gate: GateRow,
  p: { readonly vote: Omit<Vote, 'at'>; readonly initiators: readonly string[] },
): void {
  refuseDecided(gate)
  const vote: Vote = { ...p.vote, at: change.now }
  checkVote(gate, vote, p.initiators)
  const voted: GateRow = { ...gate, votes: JSON.stringify([...votesOf(gate), vote]) }
  const { by, roles, reason, link } = vote
  const data = {
    gate: gate.id,
    approved: vote.approved,
    ...whoOf(by, roles, reason),
    ...(link === null ? {} : { link }),
  }
  recordEvent(change, memberOf(change, gate.instanceId), 'gate.voted', gate.node, data, by)
  const verdict = verdictOf(standingOf(voted, p.initiators))
  if (verdict === null) {
    change.gates.set(gate.id, voted)
    return
  }
  const answer = vote.answer === undefined ? null : JSON.stringify(vote.answer)
  decideGate(change, voted, { approved: verdict === 'approved', answer, reason, actor: by, roles })
}

/** Decides a gate regardless of its votes: they suffice, its time has run out, or this is a dry run. */
export function decideGate(
  change: WorkingSet,
  gate: GateRow,
  p: {
    readonly approved: boolean
    readonly answer: string | null
    readonly reason: string | null
    readonly actor: string | null
    readonly roles: readonly string[]
  },
): void {
  refuseDecided(gate)
  const member = memberOf(change, gate.instanceId)
  const appealed = member.net.byKey.get(gate.node)?.work.kind === 'gate' ? null : appealedRun(change, gate)
  const state = p.approved ? 'approved' : 'rejected'
  change.gates.set(gate.id, {
    ...gate,
    state,
    answer: p.answer,
    answeredBy: p.actor,
    reason: p.reason,
    answeredAt: change.now,
  })
  const data = { gate: gate.id, ...whoOf(p.actor, p.roles, p.reason) }
  recordEvent(change, member, `gate.${state}`, gate.node, data, p.actor)
  if (appealed !== null) prepareRedrive(change, appealed, { gate: gate.id }, p.actor)
  else if (p.approved)
    putSlot(member, SLOT.result.key(gate.node), p.answer === null ? null : (JSON.parse(p.answer) as Json))
  const place: Place = { node: gate.node, fire: gate.fire, item: -1, role: 'work', scope: gate.scope }
  const who = p.actor === null ? '' : ` by ${p.actor}`
  const why = p.reason === null ? '' : `: ${p.reason}`
  const details = appealed === null ? {} : { details: { gate: gate.id, by: p.actor, reason: p.reason } }
  const error = p.approved ? null : { code: 'rejected', message: `rejected${who}${why}`, ...details }
  happen(change, gate.instanceId, { kind: 'answered', place, approved: p.approved, error })
}

function appealedRun(change: WorkingSet, gate: GateRow): RunRow {
  const { run: id } = JSON.parse(gate.args ?? '{}') as { readonly run: string }
  const run = findRun(change, id)
  if (run !== undefined) return run
  if (change.asked.has(id)) throw new PetrelError('engine_error', `run ${id}, which gate ${gate.id} is about, is gone`)
  change.asked.add(id)
  throw new NeedMore({ runs: [id] })
}

/** Applies what is due for an open gate, checked again under the lock: its decision, otherwise its escalations. */
export function advanceGate(change: WorkingSet, gate: GateRow): void {
  if (gate.state !== 'open' || timesStandStill(change, gate.rootId)) return
  if (gate.dueAt !== null && gate.dueAt <= change.now) {
    const reason = gate.votes === '[]' ? 'no answer before the deadline' : 'not enough votes in time'
    decideGate(change, gate, { approved: gate.onTimeout === 'approve', answer: null, reason, actor: null, roles: [] })
    return
  }
  const { escalate = [] } = gateOptions(gate.options)
  let { escalated, escalateAt } = gate
  for (; escalateAt !== null && escalateAt <= change.now; escalated++) {
    const { after, roles } = escalate[escalated] as EscalationStage
    const next = escalate[escalated + 1]
    // Counted from this stage, not from the opening of the gate: in between, its times may have stood still.
    escalateAt = next === undefined ? null : escalateAt + next.after - after
    const data = { gate: gate.id, stage: escalated + 1, ...(roles === undefined ? {} : { roles }) }
    recordEvent(change, memberOf(change, gate.instanceId), 'gate.escalated', gate.node, data)
  }
  if (escalated === gate.escalated) return
  change.gates.set(gate.id, { ...gate, escalated, escalateAt })
}

export function refuseDecided(gate: GateRow): void {
  if (gate.state === 'open') return
  throw new PetrelError('conflict', `gate ${gate.id} is already ${gate.state}`, { state: gate.state })
}

function whoOf(actor: string | null, roles: readonly string[], reason: string | null) {
  return { actor, reason, ...(roles.length === 0 ? {} : { roles }) }
}
