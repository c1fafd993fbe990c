/** What a transaction on a bulk operation loads and writes, and the queries that read operations. */
import type { Counts, ItemState, Operation, OperationItemRow, OperationRow, OperationState } from './rows.ts'

export type BulkNeed =
  /** Its row, locked. */
  | { readonly kind: 'operation'; readonly id: string }
  /** These items, locked, and the state of their operation. */
  | { readonly kind: 'items'; readonly operationId: string; readonly ids: readonly string[] }
  /** Its progress, and pending items that no process has in hand, the newest first. Its row must be locked. */
  | { readonly kind: 'work'; readonly id: string; readonly limit: number; readonly holdMs: number }

export interface OperationWork {
  readonly items: readonly OperationItemRow[]
  /** Whether any item is pending. */
  readonly pending: boolean
  /** Up to where items are settled without a gap, from the newest on, and the results that this adds to the counts. */
  readonly countedTo: string
  readonly counted: Counts
}

export interface LoadedBulk {
  readonly operations: ReadonlyMap<string, OperationRow>
  /** By itemKey. */
  readonly items: ReadonlyMap<string, OperationItemRow>
  /** Of the operations of the requested items. */
  readonly states: ReadonlyMap<string, OperationState>
  readonly work: ReadonlyMap<string, OperationWork>
}

export interface BulkDelta {
  readonly operations: readonly OperationRow[]
  readonly items: readonly OperationItemRow[]
  /** Roots of ended trees that are removed with everything that belongs to them. */
  readonly trees: readonly string[]
}

export interface OperationQuery {
  readonly tenant: string | null
  readonly states: readonly OperationState[] | null
  readonly limit: number
  /** Newest first, strictly older than this id. */
  readonly before: string | null
}

export interface ItemQuery {
  readonly operationId: string
  readonly state: ItemState | null
  readonly limit: number
  /** By id, strictly older than this one. */
  readonly before: string | null
}

export interface BulkQueries {
  get(id: string): Promise<Operation | null>
  list(query: OperationQuery): Promise<readonly Operation[]>
  /** Newest first. */
  items(query: ItemQuery): Promise<readonly OperationItemRow[]>
  /** Running and due: one of each tenant, then the next of each, those due longest first. */
  due(params: { readonly limit: number }): Promise<readonly OperationRow[]>
  /** When the next running operation is due, later than `after`; null: none is. */
  nextDueAt(after: number): Promise<number | null>
  /** An instance of this tree that has not ended, other than its root; null: all have. */
  openMember(rootId: string): Promise<string | null>
  /** Removes items of operations that ended before, then the operations; returns the number of rows. */
  prune(params: { readonly endedBefore: number; readonly limit: number }): Promise<number>
  /**
   * Removes `limit` runs of an ended tree that has more than that, but not its instances; returns how many. So of a large
   * tree, only the rest is left for the transaction that removes it.
   */
  trim(params: { readonly rootId: string; readonly limit: number }): Promise<number>
}
