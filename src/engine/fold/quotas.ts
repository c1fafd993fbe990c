/**
 * Quotas: at most so many instances of a workflow execute at the same time. The number is a limit under the workflow's name
 * and tenant. A root counts against it from its beginning to its end (isExecuting); a transaction that changes the count
 * holds the row of the limit.
 *
 *   queued   there was no room, or other instances were queued before; only its deadline can become due
 *   begins   in the order of the queue, right after the commit that made room, by the process of that commit. If that
 *            process dies before, the sweeper finds the queue and the room (time/quotas.ts)
 *
 * A new instance never overtakes the queue, even if there is room at that moment. A quota below the number of executing
 * instances stops none of them; it only prevents others from beginning.
 */

import { PetrelError } from '../../kernel/errors.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Need } from '../../model/transaction.ts'
import { recordEvent } from './events.ts'
import { NeedMore } from './need.ts'
import type { Member, Pending, WorkingSet } from './working-set.ts'
import { follow } from './working-set.ts'

type Waiting = Pick<WorkingSet, 'loaded' | 'admission' | 'queuedUnder'>

const _PREFIX = 'workflow:'

export function checkQuotas(slots: number): void {
  if (Number.isInteger(slots) && slots >= 1) return
  throw new PetrelError('invalid_request', `start.slots: ${slots}; a whole number of at least 1, or none for no limit`)
}

/** What must be loaded so that instances under these keys can begin or be queued. */
export function quotaNeed(keys: Iterable<string | null>): Need {
  const known = [...new Set(keys)].filter((key) => key !== null).sort()
  return known.length === 0 ? {} : { heldLimits: known, queuedUnder: known }
}

/** A new instance begins, or waits for room. */
export function beginOrWait(change: Waiting & Pending & Pick<WorkingSet, 'events' | 'now'>, member: Member): void {
  const { id, quotaKey: key } = member.row
  if (key === null || mayBegin(change, key)) return follow(change, id, { kind: 'start' })
  enterQueue(change, member, null)
}

/**
 * Refuses a resumption for which there is no room: a resumed instance is not queued, because its execution has begun.
 */
export function checkRoomToResume(change: Pick<WorkingSet, 'admission'>, { id, quotaKey: key }: InstanceRow): void {
  if (key === null || change.admission.hasRoom(key)) return
  throw new PetrelError(
    'conflict',
    `instance ${id} would exceed the limit '${key}'; resume it when another one has ended, or raise the limit`,
    { limit: key },
  )
}

export function enterQueue(change: Pick<WorkingSet, 'events' | 'now'>, member: Member, actor: string | null): void {
  const { quotaKey: key } = member.row
  member.row = { ...member.row, queuedAt: change.now }
  recordEvent(change, member, 'instance.queued', null, key === null ? null : { slot: key }, actor)
}

export function mayBegin(change: Waiting, key: string): boolean {
  const waited = change.loaded.queuedUnder.get(key)
  if (waited === undefined) throw new NeedMore(quotaNeed([key]))
  const room = change.admission.hasRoom(key)
  if (room && !waited && !change.queuedUnder.has(key)) return true
  change.queuedUnder.add(key)
  // The instances before it have not begun yet; they begin after the commit.
  if (room) change.admission.freed.add(key)
  return false
}
