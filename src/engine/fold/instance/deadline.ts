/** Deadlines that have passed before a sweep has found them. */

import { undoesAtOnce } from '../../../net/transitions.ts'
import { happen } from '../happenings.ts'
import { memberOf } from '../members.ts'
import { follow, type Member, type WorkingSet } from '../working-set.ts'

/** Lets the deadline of an instance happen before the outcome that follows, if it has passed and no sweep has found it yet. */
export function fallDue(change: WorkingSet, instanceId: string): void {
  if (isDue(change, memberOf(change, instanceId))) follow(change, instanceId, { kind: 'deadline' })
}

/** The same before a report is read: the deadline takes the run from its holder, unless its net awaits work in flight. */
export function overtake(change: WorkingSet, instanceId: string): void {
  const member = memberOf(change, instanceId)
  if (!isDue(change, member) || undoesAtOnce(member.net.net, { reason: 'deadline' })) return
  happen(change, instanceId, { kind: 'deadline' })
}

function isDue(change: WorkingSet, { row: { deadlineAt } }: Member): boolean {
  return deadlineAt !== null && deadlineAt <= change.now
}
