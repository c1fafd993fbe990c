/**
 * Execution slots: at most so many instances of a workflow execute at once. The number is a limit under the workflow's
 * name and tenant; a root holds a place there from when it begins until it has ended (isExecuting), and whoever changes
 * that holds the limit's row.
 *
 *   queued   there was no room, or somebody came before it; nothing of it is due but its deadline
 *   begins   first queued first: right after the commit that made room, by the process that made it. What such a
 *            process leaves undone the sweeper finds: a queue, and room, at once (time/quotas.ts)
 *
 * A newcomer never overtakes the queue, even if there is room at that moment. A limit below what executes already
 * stops nobody; it only lets nobody begin.
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

/** What to load so that instances under these keys can begin or be queued. */
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

/** There must be room for it to go on; it does not queue: it has been where it goes back to. */
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
  // Those before it have not been let in yet: whoever sees that after the commit does it.
  if (room) change.admission.freed.add(key)
  return false
}
