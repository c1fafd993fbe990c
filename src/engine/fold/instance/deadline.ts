/** Deadlines that have passed but that no sweep has found yet. */

import { undoesAtOnce } from '../../../net/transitions.ts'
import { happen } from '../happenings.ts'
import { memberOf } from '../members.ts'
import { timesStandStill } from '../parking.ts'
import { follow, type Member, type WorkingSet } from '../working-set.ts'

/** Applies a deadline that has passed before the outcome that is about to be folded. */
export function applyPassedDeadline(change: WorkingSet, instanceId: string): void {
  if (isDue(change, memberOf(change, instanceId))) follow(change, instanceId, { kind: 'deadline' })
}

/**
 * The same before a report is checked: the deadline ends the lease of the run, unless its net awaits work in flight.
 */
export function applyDeadlineBeforeReport(change: WorkingSet, instanceId: string): void {
  const member = memberOf(change, instanceId)
  if (!isDue(change, member) || undoesAtOnce(member.net.net, { reason: 'deadline' })) return
  happen(change, instanceId, { kind: 'deadline' })
}

/** Its time is over; during a pause that stops times it is not. */
export function isDue(change: WorkingSet, { row: { deadlineAt, rootId } }: Member): boolean {
  return deadlineAt !== null && deadlineAt <= change.now && !timesStandStill(change, rootId)
}
