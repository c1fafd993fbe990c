/**
 * Quotas: at most so many instances of a workflow execute at the same time. The number is a limit under the workflow's name
 * and tenant. A root counts against it from its beginning to its end (isExecuting); a transaction that changes the count
 * holds the row of the limit.
 *
 *   queued   there was no room, other instances were queued before, or the definition is paused; only its deadline can become
 *            due
 *   begins   in the order of the queue, right after the commit that made room, by the process of that commit. If that
 *            process dies before, the sweeper finds the queue and the room (time/quotas.ts)
 *
 * A new instance never overtakes the queue, even if there is room at that moment. A quota below the number of executing
 * instances stops none of them; it only prevents others from beginning.
 */

import { PetrelError } from '../../kernel/errors.ts'
import { quotaKey } from '../../model/limits.ts'
import { type PauseRow, pauseName } from '../../model/pauses/pauses.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Need } from '../../model/transaction.ts'
import { recordEvent } from './events.ts'
import { NeedMore } from './need.ts'
import type { Member, Pending, WorkingSet } from './working-set.ts'
import { follow } from './working-set.ts'

type Pauses = Pick<WorkingSet, 'loaded' | 'asked'>
type Waiting = Pauses & Pick<WorkingSet, 'admission' | 'queuedUnder'>

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

/** A new instance begins, or waits for room or for the end of the pause of its definition. */
export function beginOrWait(change: Waiting & Pending & Pick<WorkingSet, 'events' | 'now'>, member: Member): void {
  const key = quotaOf(change, member)
  if (key === null || mayBegin(change, key)) return follow(change, member.row.id, { kind: 'start' })
  enterQueue(change, member, null)
}

/**
 * The quota under which it begins. While its definition is paused, a root has one in any case: that of its workflow, without
 * a limit, whose queue it enters. Nested instances belong to work that has begun.
 */
export function quotaOf(change: Pauses, member: Member): string | null {
  const { quotaKey: own, parentId, name, tenant } = member.row
  if (own !== null || parentId !== null) return own
  const key = quotaKey(name, tenant)
  if (definitionPause(change, key) === null) return null
  member.row = { ...member.row, quotaKey: key }
  member.dirty = true
  return key
}

/** The pause of the definition whose quota this is; `resuming`: those that waited have not all begun. */
export function definitionPause(change: Pauses, key: string): PauseRow['state'] | null {
  const pause = { kind: 'definition', key } as const
  const known = change.loaded.pauseState(pause)
  if (known !== undefined) return known
  const name = pauseName(pause)
  if (!change.asked.has(name)) {
    change.asked.add(name)
    throw new NeedMore({ pauses: [pause] })
  }
  return change.loaded.pauses.get(name)?.state ?? null
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
  const room = change.admission.hasRoom(key) && definitionPause(change, key) !== 'paused'
  if (room && !waited && !change.queuedUnder.has(key)) return true
  change.queuedUnder.add(key)
  // The instances before it have not begun yet; they begin after the commit.
  if (room) change.admission.freed.add(key)
  return false
}
