/** Gates: opened by a node, answered by people or by the clock, closed when nobody need answer. */
import type { Place } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import type { GateRow } from '../store/rows.ts'
import type { Change, Member } from './change.ts'
import { PetrelError } from './errors.ts'

export function openGate(change: Change, member: Member, place: Place, args: Json | null): void {
  const node = member.net.byKey.get(place.node)
  if (node?.work.kind !== 'gate') throw new Error(`node '${place.node}' is no gate`)
  const gate: GateRow = {
    id: change.deps.newId(),
    instanceId: member.row.id,
    rootId: member.row.rootId,
    node: place.node,
    fire: place.fire,
    scope: place.scope,
    state: 'open',
    options: JSON.stringify(node.work.options),
    args: args === null ? null : JSON.stringify(args),
    dueAt: node.work.timeoutMs === null ? null : change.now + node.work.timeoutMs,
    onTimeout: node.work.onTimeout,
    answer: null,
    answeredBy: null,
    reason: null,
    createdAt: change.now,
    answeredAt: null,
  }
  change.newGates.set(gate.id, gate)
  change.event(member, 'gate.opened', place.node, { gate: gate.id })
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

/** Decides a gate under the lock; used for people and for the clock. */
export function answerGate(
  change: Change,
  gate: GateRow,
  p: {
    readonly approved: boolean
    readonly answer: string | null
    readonly reason: string | null
    readonly actor: string | null
  },
): void {
  if (gate.state !== 'open') {
    throw new PetrelError('conflict', `gate ${gate.id} is already ${gate.state}`, { state: gate.state })
  }
  const member = change.member(gate.instanceId)
  const state = p.approved ? 'approved' : 'rejected'
  change.gates.set(gate.id, {
    ...gate,
    state,
    answer: p.answer,
    answeredBy: p.actor,
    reason: p.reason,
    answeredAt: change.now,
  })
  change.event(member, `gate.${state}`, gate.node, { gate: gate.id, actor: p.actor, reason: p.reason })
  if (p.approved) member.slots.set(`r:${gate.node}`, p.answer === null ? null : (JSON.parse(p.answer) as Json))
  const place: Place = { node: gate.node, fire: gate.fire, item: -1, role: 'work', scope: gate.scope }
  const who = p.actor === null ? '' : ` by ${p.actor}`
  const why = p.reason === null ? '' : `: ${p.reason}`
  const error = p.approved ? null : { code: 'rejected', message: `rejected${who}${why}` }
  change.happen(gate.instanceId, { kind: 'answered', place, approved: p.approved, error })
}
