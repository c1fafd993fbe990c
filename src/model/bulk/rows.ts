/**
 * A bulk operation: one action on everything that a search finds, carried out item by item. `workflow_operation` has what
 * was ordered and how far it is, `workflow_operation_item` one row for each item, with its result.
 *
 * An operation: running → completed; running ⇄ stopped. An item: pending → succeeded, refused or failed, and then never
 * again: its row is written by the transaction that performs the action.
 */
import type { PausedTimeouts } from '../pauses/pauses.ts'
import { bool, int, json, type RowOf, table, text, time, uuid } from '../table.ts'

export type OperationState = 'running' | 'stopped' | 'completed'
export type ItemState = 'pending' | 'succeeded' | 'refused' | 'failed'
export type SettledState = Exclude<ItemState, 'pending'>
export type Target = 'instances' | 'runs'
export type Action = 'cancel' | 'roll_back' | 'retry' | 'redrive' | 'pause' | 'resume' | 'delete' | 'dismiss'

export const OPERATION_STATES: readonly OperationState[] = ['running', 'stopped', 'completed']
export const ITEM_STATES: readonly ItemState[] = ['pending', 'succeeded', 'refused', 'failed']

/** An operation that is due later than this from now was paced by a clock that has been set back since. */
export const MOST_DELAY_MS = 120_000

/** Followed by the id of an instance: the start key of its retry by a bulk operation. There is at most one. */
export const BULK_RETRY = 'petrel:bulk-retry:'

/** Below every id: everything has been counted. */
export const ALL_COUNTED = '00000000-0000-0000-0000-000000000000'
/** Above every id: nothing has been counted. */
export const NONE_COUNTED = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export const OPERATION = table('workflow_operation', {
  id: uuid(),
  /** Only what belongs to it is selected; null: of all tenants. */
  tenant: text().orNull(),
  actor: text().orNull(),
  reason: text().orNull(),
  action: text<Action>(),
  target: text<Target>(),
  /** The search, in its canonical form; empty: everything. */
  query: text(),
  /** OperationParameters. */
  parameters: json(),
  /** Items per minute; null: no limit. */
  rate: int().orNull(),
  state: text<OperationState>().initially('running'),
  /** The last item of the last page of the search; null: no page has been read. */
  cursor: text().orNull(),
  /** true: more pages are to be read. */
  selecting: bool().initially(true),
  matched: int().initially(0),
  /** Settled items with ids greater than `countedTo`; those up to it are counted when the operation is read. */
  succeeded: int().initially(0),
  refused: int().initially(0),
  failed: int().initially(0),
  countedTo: uuid().initially(NONE_COUNTED),
  /** When the rate admits the next item. */
  paceAt: time().orNull(),
  /** When there is something to do; null: it is not running. */
  dueAt: time().orNull(),
  /** When the last event about its progress was recorded. */
  reportedAt: time().orNull(),
  createdAt: time(),
  /** When it was completed or stopped. */
  endedAt: time().orNull(),
})
export type OperationRow = RowOf<typeof OPERATION>

export const OPERATION_ITEM = table('workflow_operation_item', {
  operationId: uuid(),
  /** The instance or the run. */
  itemId: uuid(),
  state: text<ItemState>().initially('pending'),
  /** Why it was refused, or how it failed. */
  code: text().orNull(),
  message: text().orNull(),
  /** The instance or run that a retry or a redrive created. */
  newId: uuid().orNull(),
  /** When a process last took it in hand. */
  takenAt: time().orNull(),
  settledAt: time().orNull(),
})
export type OperationItemRow = RowOf<typeof OPERATION_ITEM>

export interface ItemKey {
  readonly operationId: string
  readonly itemId: string
}

export function itemKey({ operationId, itemId }: ItemKey): string {
  return `${operationId}/${itemId}`
}

export interface Counts {
  readonly succeeded: number
  readonly refused: number
  readonly failed: number
}

/** With the exact counts at the moment of reading. */
export interface Operation extends Omit<OperationRow, 'countedTo' | 'parameters'>, Counts {
  readonly parameters: OperationParameters
  readonly pending: number
}

/** What an action needs besides the item. */
export interface OperationParameters {
  /** Notations whose instances undo their work when they are cancelled. */
  readonly undo?: readonly string[]
  /** Of a pause: what happens to times meanwhile. */
  readonly timeouts?: PausedTimeouts
  /** Runs of a list instead of a search (a RunQuery without its page). */
  readonly filter?: { readonly [name: string]: unknown }
  /** The word of its caller for the action. */
  readonly word?: string
}

/** `newer`: results that are not in the counts of the row. */
export function shownOperation({ countedTo: _, ...row }: OperationRow, newer: Counts): Operation {
  const succeeded = row.succeeded + newer.succeeded
  const refused = row.refused + newer.refused
  const failed = row.failed + newer.failed
  const parameters = JSON.parse(row.parameters) as OperationParameters
  return { ...row, parameters, succeeded, refused, failed, pending: row.matched - succeeded - refused - failed }
}
