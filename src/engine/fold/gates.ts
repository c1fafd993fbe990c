/** Gates open with their node, or with an appeal, and close when no answer is needed any more. */

import type { GateEventData } from '../../model/events/instance-events.ts'
import { gateOptions } from '../../model/gates.ts'
import type { GateRow } from '../../model/rows.ts'
import type { Effect, Place } from '../../net/marking.ts'
import type { GateWork, Json } from '../../net/net.ts'
import { recordEvent } from './events.ts'
import { endedAt } from './run/redrives.ts'
import type { Member, WorkingSet } from './working-set.ts'

type Opening = Pick<WorkingSet, 'newGates' | 'deps' | 'events' | 'now'>

export function openGate(change: Opening, member: Member, place: Place, args: Json | null): void {
  const work = member.net.byKey.get(place.node)?.work
  if (work?.kind !== 'gate') throw new Error(`node '${place.node}' is no gate`)
  open(change, member, { place, work, args, why: {} })
}

/** Governance refused a run, and people may overrule that. The gate records which run it is, for their decision. */
export function openAppeal(
  change: Opening & Pick<WorkingSet, 'runs'>,
  member: Member,
  effect: Extract<Effect, { do: 'appeal' }>,
): void {
  const { place, of, error } = effect
  const work = member.net.byKey.get(place.node)?.appeal
  if (work === undefined) throw new Error(`node '${place.node}' has no appeal`)
  const run = endedAt(change, member, of).id
  const { code, message, category = null } = error
  const why = { appeal: true as const, step: place.node, run, error: { code, message, category } }
  open(change, member, { place, work, args: { step: place.node, run, error: error as unknown as Json }, why })
}

function open(
  change: Opening,
  member: Member,
  p: {
    readonly place: Place
    readonly work: GateWork
    readonly args: Json | null
    readonly why: Omit<GateEventData['gate.opened'], 'gate'>
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
  recordEvent(change, member, 'gate.opened', place.node, { gate: gate.id, ...p.why })
}

/** The instance ends or is rolled back: an answer is no longer needed. */
export function closeGate(
  change: Pick<WorkingSet, 'loaded' | 'gates' | 'newGates' | 'events' | 'now'>,
  member: Member,
  id: string,
): void {
  const fresh = change.newGates.get(id)
  const gate = fresh ?? change.loaded.openGates.get(member.row.id)?.find((g) => g.id === id)
  if (gate === undefined) throw new Error(`gate ${id} was not loaded`)
  const closed: GateRow = { ...gate, state: 'closed', answeredAt: change.now }
  if (fresh === undefined) change.gates.set(id, closed)
  else change.newGates.set(id, closed)
  recordEvent(change, member, 'gate.closed', gate.node, { gate: id })
}
