/** The end of a nested workflow, which advances its parent like the end of any other work. */

import type { InstanceRow } from '../../../model/rows.ts'
import { CANCELLED } from '../../../net/firing/phases.ts'
import type { Failure, Outcome, Place } from '../../../net/marking.ts'
import { TERMINAL } from '../../../net/marking.ts'
import { SLOT } from '../../../net/slots.ts'
import { recordEvent } from '../events.ts'
import { memberOf } from '../members.ts'
import { putSlot, slotOf } from '../slots.ts'
import type { Events, Member, Pending, Slots, WorkingSet } from '../working-set.ts'
import { follow } from '../working-set.ts'

export function childEnded(change: Events & Pending & Pick<WorkingSet, 'results'>, member: Member): void {
  const child = member.row
  if (child.parentId === null || child.parentNode === null) return
  const parent = memberOf(change, child.parentId)
  if (TERMINAL.has(parent.row.state)) return
  const { parentNode: node, parentItem: item } = child
  const place: Place = { node, fire: child.parentFire, item, role: child.parentRole, scope: child.parentScope }
  keepChild(change, parent, place, child.id)
  const outcome = outcomeOf(change, member)
  if (item < 0 && place.role === 'work') recordChildEnd(change, parent, child, outcome)
  follow(change, child.parentId, { kind: 'ended', place, outcome })
}

/**
 * Records which child has the result of a place; for an item also its firing, since indexes repeat in the next firing.
 */
export function keepChild(
  change: Pick<WorkingSet, 'results'>,
  parent: Member,
  { node, fire, item }: Place,
  id: string,
): void {
  if (item >= 0) putSlot(parent, SLOT.itemResult.key(node, item), { $child: id, fire })
  else {
    putSlot(parent, SLOT.result.key(node), { $child: id })
    change.results.putChild(`${parent.row.id}/${node}`, fire, id)
  }
}

/**
 * Records the end in the parent: the end of a run is an event of its instance, but that of a child is an event of the
 * child.
 */
function recordChildEnd(
  change: Pick<WorkingSet, 'events' | 'now'>,
  parent: Member,
  child: InstanceRow,
  outcome: Outcome,
): void {
  recordEvent(change, parent, outcome.kind === 'succeeded' ? 'node.completed' : 'node.failed', child.parentNode, {
    child: child.id,
    name: child.name,
    state: child.state,
    duration_ms: change.now - child.createdAt,
    ...('error' in outcome ? { error: outcome.error } : {}),
  })
}

function outcomeOf(change: Slots, member: Member): Outcome {
  const { state } = member.row
  if (state === 'completed') return { kind: 'succeeded' }
  if (state === 'cancelled') return { kind: 'cancelled' }
  const error = errorOf(change, member)
  // It was rolled back with its parent, which is no failure of its own.
  if (state === 'compensated' && error?.code === CANCELLED.code) return { kind: 'cancelled' }
  const undoError = (member.slots.get(SLOT.undoError.key) ?? null) as Failure | null
  const fallback: Failure = { code: 'child_failed', message: `the nested workflow ended ${state}` }
  return { kind: 'failed', error: error ?? fallback, ...(undoError === null ? {} : { undoError }) }
}

/** The error that was recorded when it first failed or was rolled back, perhaps long before its end. */
export function errorOf(change: Slots, member: Member): Failure | null {
  return slotOf(change, member.row.id, SLOT.error.key)
}
