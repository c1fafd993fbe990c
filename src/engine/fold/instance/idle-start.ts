/** Starts instances that were idle or queued. */

import { recordEvent } from '../events.ts'
import { happen } from '../happenings.ts'
import { enterQueue, mayBegin, quotaOf } from '../quotas.ts'
import type { Member, WorkingSet } from '../working-set.ts'

/** An idle instance is queued, and begins if its quota has room and its definition is not paused. */
export function startIdle(change: WorkingSet, member: Member, actor: string | null): void {
  const key = quotaOf(change, member)
  happen(change, member.row.id, { kind: 'queue' })
  enterQueue(change, member, actor)
  if (key === null || mayBegin(change, key)) leaveQueue(change, member)
}

export function leaveQueue(change: WorkingSet, member: Member): void {
  recordEvent(change, member, 'instance.dequeued', null, null)
  happen(change, member.row.id, { kind: 'start' })
}
