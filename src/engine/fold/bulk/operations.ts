/**
 * What happens to a bulk operation. Every function expects its row to be loaded under its lock, so that any number of
 * processes may work on one operation:
 *
 *   create     running; due at once
 *   select     one page of the search becomes items; a page that another process selected meanwhile is left out
 *   take       counts what was settled; takes as many pending items in hand as the rate admits; completes the operation
 *              when everything is selected and settled
 *   change     stop, resume, another rate
 *   settle     an item that is still pending gets its result, in the transaction that performs the action
 */
import { missing, PetrelError } from '../../../kernel/errors.ts'
import {
  type ItemKey,
  itemKey,
  NONE_COUNTED,
  type OperationItemRow,
  type OperationRow,
  type SettledState,
} from '../../../model/bulk/rows.ts'
import type { OperationWork } from '../../../model/bulk/work.ts'
import { storeEvent } from '../../../model/events/events.ts'
import { NeedMore } from '../need.ts'
import type { BulkChanges, WorkingSet } from '../working-set.ts'
import { allowance } from './pace.ts'

/** How long an item may be in the hand of a process that does not settle it. */
export const HOLD_MS = 15_000
const REPORT_EVERY_MS = 5_000

type Change = Pick<WorkingSet, 'loaded' | 'now' | 'events' | 'bulk'>

export type NewOperation = Pick<
  OperationRow,
  'id' | 'tenant' | 'actor' | 'reason' | 'action' | 'target' | 'query' | 'parameters' | 'rate'
>

export function createOperation(change: Change, asked: NewOperation): OperationRow {
  const { now } = change
  const row: OperationRow = {
    ...asked,
    state: 'running',
    cursor: null,
    selecting: true,
    matched: 0,
    succeeded: 0,
    refused: 0,
    failed: 0,
    countedTo: NONE_COUNTED,
    paceAt: null,
    dueAt: now,
    reportedAt: now,
    createdAt: now,
    endedAt: null,
  }
  bulkOf(change).operations.set(row.id, row)
  record(change, 'operation.created', row, asked.actor)
  return row
}

export interface SelectedPage {
  readonly operationId: string
  /** Where the page began. */
  readonly from: string | null
  readonly ids: readonly string[]
  /** Where the next begins; null: this was the last. */
  readonly next: string | null
}

/** false: another process has selected this page, or the operation does not run any more. */
export function selectPage(change: Change, { operationId, from, ids, next }: SelectedPage): boolean {
  const row = lockedOperation(change, operationId)
  if (row.state !== 'running' || !row.selecting || row.cursor !== from) return false
  const { items, operations } = bulkOf(change)
  for (const itemId of ids) {
    const item = { operationId, itemId, code: null, message: null, newId: null, takenAt: null, settledAt: null }
    items.set(itemKey(item), { ...item, state: 'pending' })
  }
  operations.set(operationId, { ...row, matched: row.matched + ids.length, cursor: next, selecting: next !== null })
  return true
}

export interface Taken {
  readonly operation: OperationRow
  readonly items: readonly OperationItemRow[]
  /** Every pending item is in the hand of a process. */
  readonly last: boolean
}

/** Needs the work of the operation. At most `most` items; 0: it is only counted, and perhaps completed. */
export function takeItems(change: Change, id: string, most: number): Taken {
  const row = lockedOperation(change, id)
  const work = change.loaded.bulk?.work.get(id)
  if (work === undefined)
    throw new NeedMore({ bulk: [{ kind: 'work', id, limit: Math.max(most, 1), holdMs: HOLD_MS }] })
  if (row.state !== 'running') return { operation: row, items: [], last: false }
  const counted = withCounts(row, work)
  const { now } = change
  const { count, nextAt } = allowance(row, now, most)
  const items = work.items.slice(0, count).map((item) => ({ ...item, takenAt: now }))
  const done = !work.pending && !row.selecting
  const paced = items.length === 0 ? row.paceAt : nextAt(items.length)
  const last = work.items.length === items.length
  const dueAt = nextDueAt(change, row, { last, paceAt: nextAt(items.length) })
  const operation: OperationRow = done
    ? { ...counted, state: 'completed', dueAt: null, endedAt: now }
    : { ...counted, paceAt: paced, dueAt }
  const bulk = bulkOf(change)
  for (const item of items) bulk.items.set(itemKey(item), item)
  bulk.operations.set(id, done ? finished(change, operation) : reported(change, operation))
  return { operation, items, last }
}

/** Pending items that all are in hand, of this process or another, are looked at again when they would be free. */
function nextDueAt(
  { now }: Change,
  row: OperationRow,
  { last, paceAt }: { readonly last: boolean; readonly paceAt: number },
): number {
  if (row.selecting) return now
  return last ? now + HOLD_MS : Math.max(now, paceAt)
}

function withCounts(row: OperationRow, { countedTo, counted }: OperationWork): OperationRow {
  const succeeded = row.succeeded + counted.succeeded
  const refused = row.refused + counted.refused
  return { ...row, countedTo, succeeded, refused, failed: row.failed + counted.failed }
}

function finished(change: Change, row: OperationRow): OperationRow {
  record(change, 'operation.completed', row, null)
  return row
}

function reported(change: Change, row: OperationRow): OperationRow {
  const since = change.now - (row.reportedAt ?? row.createdAt)
  if (since >= 0 && since < REPORT_EVERY_MS) return row
  record(change, 'operation.progressed', row, null)
  return { ...row, reportedAt: change.now }
}

export interface OperationChange {
  readonly id: string
  readonly state?: 'running' | 'stopped'
  readonly rate?: number | null
  readonly actor: string | null
}

export function changeOperation(change: Change, { id, state, rate, actor }: OperationChange): OperationRow {
  const row = lockedOperation(change, id)
  if (row.state === 'completed' || row.state === state) {
    throw new PetrelError('conflict', `bulk operation ${id} is ${row.state} already`, {
      kind: 'bulk operation',
      id,
      status: row.state,
      expected: state === 'running' ? 'stopped' : 'running',
    })
  }
  const { now } = change
  const paced = rate === undefined ? row : { ...row, rate, paceAt: null }
  const changed = state === undefined ? paced : { ...paced, state, endedAt: state === 'stopped' ? now : null }
  const next = { ...changed, dueAt: changed.state === 'running' ? now : null }
  bulkOf(change).operations.set(id, next)
  if (state !== undefined) record(change, state === 'stopped' ? 'operation.stopped' : 'operation.resumed', next, actor)
  if (rate !== undefined) record(change, 'operation.rate_changed', next, actor)
  return next
}

/** An item has been settled, or its operation does not run any more: the action is not performed. */
export class ItemClosed extends Error {
  constructor() {
    super('the item has been settled, or its operation has been stopped')
  }
}

/** Throws ItemClosed unless the action may be performed now. */
export function openItem({ loaded }: Pick<Change, 'loaded'>, key: ItemKey): OperationItemRow {
  const { operationId, itemId } = key
  if (loaded.bulk === null || loaded.bulk === undefined) {
    throw new NeedMore({ bulk: [{ kind: 'items', operationId, ids: [itemId] }] })
  }
  const item = loaded.bulk.items.get(itemKey(key))
  if (item?.state !== 'pending' || loaded.bulk.states.get(operationId) !== 'running') throw new ItemClosed()
  return item
}

export interface ItemResult {
  readonly state: SettledState
  readonly code: string | null
  readonly message: string | null
  readonly newId: string | null
}

/** The item must be open. */
export function settleItem(change: Change, item: OperationItemRow, result: ItemResult): void {
  bulkOf(change).items.set(itemKey(item), { ...item, ...result, settledAt: change.now })
}

export function bulkOf(change: Pick<Change, 'bulk'>): BulkChanges {
  change.bulk ??= { operations: new Map(), items: new Map(), trees: new Set() }
  return change.bulk
}

function lockedOperation({ loaded }: Pick<Change, 'loaded'>, id: string): OperationRow {
  const row = loaded.bulk?.operations.get(id)
  if (row === undefined) throw missing('bulk operation', id)
  return row
}

type OperationEvent =
  | 'operation.created'
  | 'operation.progressed'
  | 'operation.stopped'
  | 'operation.resumed'
  | 'operation.rate_changed'
  | 'operation.completed'

function record(change: Change, type: OperationEvent, row: OperationRow, actor: string | null): void {
  const { id, action, target, reason, rate, matched, succeeded, refused, failed } = row
  const data = { operation: id, action, target, reason, rate, matched, succeeded, refused, failed }
  change.events.push(storeEvent(type, data, { actor, tenant: row.tenant, at: change.now }))
}
