/** Gates: opened by a node, answered by people or by the clock, closed when nobody need answer. */

import { PetrelError } from '../../kernel/errors.ts'
import type { EscalationStage, Vote } from '../../model/gates.ts'
import { gateOptions, standingOf, votesOf } from '../../model/gates.ts'
import type { GateRow, RunRow } from '../../model/rows.ts'
import type { Effect, Place } from '../../net/marking.ts'
import type { GateWork, Json } from '../../net/net.ts'
import { SLOT } from '../../net/slots.ts'
import type { Change, Member } from './change.ts'
import { putSlot } from './facts.ts'
import { NeedMore } from './need.ts'
import { bring, endedAt } from './run/redrives.ts'
import { checkVote, verdictOf } from './votes.ts'

export function openGate(change: Change, member: Member, place: Place, args: Json | null): void {
  const work = member.net.byKey.get(place.node)?.work
  if (work?.kind !== 'gate') throw new Error(`node '${place.node}' is no gate`)
  open(change, member, { place, work, args, why: {} })
}

/** Governance forbade a run: people may overrule it. Which run it is lies with the gate, for when they have decided. */
export function openAppeal(change: Change, member: Member, effect: Extract<Effect, { do: 'appeal' }>): void {
  const { place, of, error } = effect
  const work = member.net.byKey.get(place.node)?.appeal
  if (work === undefined) throw new Error(`node '${place.node}' has no appeal`)
  const run = endedAt(change, member, of).id
  const { code, message, category = null } = error
  const why = { appeal: true, step: place.node, run, error: { code, message, category } }
  open(change, member, { place, work, args: { step: place.node, run, error: error as unknown as Json }, why })
}

function open(
  change: Change,
  member: Member,
  p: {
    readonly place: Place
    readonly work: GateWork
    readonly args: Json | null
    readonly why: { readonly [k: string]: Json }
  },
): void {
  const { place, work, args } = p
  const options = JSON.stringify(work.options)
  const first = gateOptions(options).escalate?.[0]
  const gate: GateRow = {
    id: change.deps.newId(),
    instanceId: member.row.id,
    rootId: member.row.rootId,
    node: place.node,
    fire: place.fire,
    scope: place.scope,
    state: 'open',
    options,
    args: args === null ? null : JSON.stringify(args),
    dueAt: work.timeoutMs === null ? null : change.now + work.timeoutMs,
    onTimeout: work.onTimeout,
    answer: null,
    answeredBy: null,
    reason: null,
    votes: '[]',
    escalated: 0,
    escalateAt: first === undefined ? null : change.now + first.after,
    createdAt: change.now,
    answeredAt: null,
  }
  change.newGates.set(gate.id, gate)
  change.event(member, 'gate.opened', place.node, { gate: gate.id, ...p.why })
}

/** The instance ends or turns back: nobody needs to answer any more. */
export function closeGate(change: Change, member: Member, id: string): void {
  const fresh = change.newGates.get(id)
  const gate = fresh ?? change.loaded.openGates.get(member.row.id)?.find((g) => g.id === id)
  if (gate === undefined) throw new Error(`gate ${id} was not loaded`)
  const closed: GateRow = { ...gate, state: 'closed', answeredAt: change.now }
  if (fresh === undefined) change.gates.set(id, closed)
  else change.newGates.set(id, closed)
  change.event(member, 'gate.closed', gate.node, { gate: id })
}

/** Counts a vote under the lock, and decides the gate if that was the one it took. */
export function castVote(
  change: Change,
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
  change.event(change.member(gate.instanceId), 'gate.voted', gate.node, data, by)
  const verdict = verdictOf(standingOf(voted, p.initiators))
  if (verdict === null) {
    change.gates.set(gate.id, voted)
    return
  }
  const answer = vote.answer === undefined ? null : JSON.stringify(vote.answer)
  decideGate(change, voted, { approved: verdict === 'approved', answer, reason, actor: by, roles })
}

/** Decides a gate, whatever its votes say: they have decided, time has run out, or it is a dry run. */
export function decideGate(
  change: Change,
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
  const member = change.member(gate.instanceId)
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
  change.event(member, `gate.${state}`, gate.node, data, p.actor)
  if (appealed !== null) bring(change, appealed, { gate: gate.id }, p.actor)
  else if (p.approved)
    putSlot(member, SLOT.result.key(gate.node), p.answer === null ? null : (JSON.parse(p.answer) as Json))
  const place: Place = { node: gate.node, fire: gate.fire, item: -1, role: 'work', scope: gate.scope }
  const who = p.actor === null ? '' : ` by ${p.actor}`
  const why = p.reason === null ? '' : `: ${p.reason}`
  const details = appealed === null ? {} : { details: { gate: gate.id, by: p.actor, reason: p.reason } }
  const error = p.approved ? null : { code: 'rejected', message: `rejected${who}${why}`, ...details }
  change.happen(gate.instanceId, { kind: 'answered', place, approved: p.approved, error })
}

function appealedRun(change: Change, gate: GateRow): RunRow {
  const { run: id } = JSON.parse(gate.args ?? '{}') as { readonly run: string }
  const run = change.run(id)
  if (run !== undefined) return run
  if (change.asked.has(id)) throw new PetrelError('engine_error', `run ${id}, which gate ${gate.id} is about, is gone`)
  change.asked.add(id)
  throw new NeedMore({ runs: [id] })
}

/** What time does to an open gate, checked again under the lock: the decision, else the stages that are due. */
export function ripenGate(change: Change, gate: GateRow): void {
  if (gate.state !== 'open') return
  if (gate.dueAt !== null && gate.dueAt <= change.now) {
    const reason = gate.votes === '[]' ? 'nobody answered in time' : 'not enough votes in time'
    decideGate(change, gate, { approved: gate.onTimeout === 'approve', answer: null, reason, actor: null, roles: [] })
    return
  }
  const { escalate = [] } = gateOptions(gate.options)
  let escalated = gate.escalated
  for (; escalated < escalate.length; escalated++) {
    const { after, roles } = escalate[escalated] as EscalationStage
    if (gate.createdAt + after > change.now) break
    const data = { gate: gate.id, stage: escalated + 1, ...(roles === undefined ? {} : { roles }) }
    change.event(change.member(gate.instanceId), 'gate.escalated', gate.node, data)
  }
  if (escalated === gate.escalated) return
  const next = escalate[escalated]
  const escalateAt = next === undefined ? null : gate.createdAt + next.after
  change.gates.set(gate.id, { ...gate, escalated, escalateAt })
}

export function refuseDecided(gate: GateRow): void {
  if (gate.state === 'open') return
  throw new PetrelError('conflict', `gate ${gate.id} is already ${gate.state}`, { state: gate.state })
}

function whoOf(actor: string | null, roles: readonly string[], reason: string | null): { readonly [k: string]: Json } {
  return { actor, reason, ...(roles.length === 0 ? {} : { roles }) }
}
