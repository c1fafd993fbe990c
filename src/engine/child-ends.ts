/** A nested workflow has ended: its parent is told, and goes on with it as with any other work. */
import type { Failure, Outcome, Place } from '../net/marking.ts'
import { TERMINAL } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import { CANCELLED } from '../net/phases.ts'
import type { InstanceRow } from '../store/rows.ts'
import type { Change, Member } from './change.ts'
import { NeedMore } from './need.ts'

export function childEnded(change: Change, member: Member): void {
  const child = member.row
  if (child.parentId === null || child.parentNode === null) return
  const parent = change.member(child.parentId)
  if (TERMINAL.has(parent.row.state)) return
  const { parentNode: node, parentItem: item } = child
  const place: Place = { node, fire: child.parentFire, item, role: child.parentRole, scope: child.parentScope }
  parent.slots.set(item < 0 ? `r:${node}` : `r:${node}/${item}`, { $child: child.id })
  const outcome = outcomeOf(change, member)
  if (item < 0 && place.role === 'work') tellEnd(change, parent, child, outcome)
  change.follow(child.parentId, { kind: 'ended', place, outcome })
}

/** A run's end is an event of its instance by itself; that of a child is one of the child's. */
function tellEnd(change: Change, parent: Member, child: InstanceRow, outcome: Outcome): void {
  change.event(parent, outcome.kind === 'succeeded' ? 'node.completed' : 'node.failed', child.parentNode, {
    child: child.id,
    name: child.name,
    state: child.state,
    duration_ms: change.now - child.createdAt,
    ...('error' in outcome ? { error: outcome.error as unknown as Json } : {}),
  })
}

function outcomeOf(change: Change, member: Member): Outcome {
  const { state } = member.row
  if (state === 'completed') return { kind: 'succeeded' }
  if (state === 'cancelled') return { kind: 'cancelled' }
  const error = errorOf(change, member)
  // Rolled back with its parent: no failure of its own.
  if (state === 'compensated' && error?.code === CANCELLED.code) return { kind: 'cancelled' }
  const undoError = (member.slots.get('eu') ?? null) as Failure | null
  const fallback: Failure = { code: 'child_failed', message: `the nested workflow ended ${state}` }
  return { kind: 'failed', error: error ?? fallback, ...(undoError === null ? {} : { undoError }) }
}

/** Told when it turned back, perhaps long before it has ended. */
function errorOf(change: Change, member: Member): Failure | null {
  const { id, reason } = member.row
  const known = reason === null ? (member.slots.get('e') ?? null) : change.facts(member).slot('e')
  if (known === undefined) throw new NeedMore({ slots: [{ instanceId: id, keys: ['e'] }] })
  return known as Failure | null
}
