/** What a transaction on a bulk operation loads. The write lock covers the file, so every row is locked. */

import type { OperationItemRow, OperationRow, OperationState } from '../../../model/bulk/rows.ts'
import { ALL_COUNTED, itemKey, NONE_COUNTED, OPERATION, OPERATION_ITEM } from '../../../model/bulk/rows.ts'
import type { BulkNeed, LoadedBulk, OperationWork } from '../../../model/bulk/work.ts'
import type { Connection } from '../connection.ts'
import { rowReader, selectOf } from '../row/reader.ts'

export const OPERATION_CELLS = selectOf(OPERATION)
export const operationOf = rowReader(OPERATION)
export const ITEM_CELLS = selectOf(OPERATION_ITEM)
export const itemOf = rowReader(OPERATION_ITEM)

export const GET_OPERATION = `SELECT ${OPERATION_CELLS} FROM workflow_operation WHERE id = ?`
const STATE = 'SELECT state FROM workflow_operation WHERE id = ?'
const ITEM = `SELECT ${ITEM_CELLS} FROM workflow_operation_item WHERE operation_id = ? AND item_id = ?`
/** An item taken later than now was taken before the clock was set back. */
const FREE = `SELECT ${ITEM_CELLS} FROM workflow_operation_item INDEXED BY idx_workflow_operation_item_state
  WHERE operation_id = ?1 AND state = 'pending' AND (taken_at IS NULL OR taken_at <= ?2 OR taken_at > ?3)
  ORDER BY item_id DESC LIMIT ?4 + 0`
const NEWEST_PENDING = `SELECT max(item_id) FROM workflow_operation_item WHERE operation_id = ? AND state = 'pending'`
const SETTLED_BETWEEN = `SELECT count(*) FROM workflow_operation_item
  WHERE operation_id = ? AND state = ? AND item_id > ? AND item_id <= ?`

export class BulkLoading implements LoadedBulk {
  readonly operations = new Map<string, OperationRow>()
  readonly items = new Map<string, OperationItemRow>()
  readonly states = new Map<string, OperationState>()
  readonly work = new Map<string, OperationWork>()
  readonly #connection: Connection
  readonly #now: number

  constructor(connection: Connection, now: number) {
    this.#connection = connection
    this.#now = now
  }

  load(needs: readonly BulkNeed[]): void {
    for (const need of needs) {
      if (need.kind === 'operation') this.#operation(need.id)
      else if (need.kind === 'items') this.#items(need)
      else this.#work(need)
    }
  }

  #operation(id: string): OperationRow | undefined {
    const cells = this.#connection.statement(GET_OPERATION).get(id)
    const row = cells === undefined ? undefined : operationOf(cells)
    if (row !== undefined) this.operations.set(id, row)
    return row
  }

  #items({ operationId, ids }: Extract<BulkNeed, { kind: 'items' }>): void {
    const state = this.#connection.statement(STATE).get(operationId)
    if (state !== undefined) this.states.set(operationId, state[0] as OperationState)
    for (const itemId of ids) {
      const cells = this.#connection.statement(ITEM).get(operationId, itemId)
      if (cells !== undefined) this.items.set(itemKey({ operationId, itemId }), itemOf(cells))
    }
  }

  #work({ id, limit, holdMs }: Extract<BulkNeed, { kind: 'work' }>): void {
    const operation = this.#operation(id)
    if (operation === undefined) return
    const free = this.#connection.statement(FREE).all(id, this.#now - holdMs, this.#now, limit)
    const pending = (this.#connection.statement(NEWEST_PENDING).get(id)?.[0] ?? null) as string | null
    // Items that are still to be selected are older than the last one selected.
    const open = operation.selecting ? (operation.cursor ?? NONE_COUNTED) : ALL_COUNTED
    const reached = pending !== null && pending > open ? pending : open
    const countedTo = reached < operation.countedTo ? reached : operation.countedTo
    const settled = (state: string): number =>
      countedTo === operation.countedTo
        ? 0
        : (this.#connection.statement(SETTLED_BETWEEN).get(id, state, countedTo, operation.countedTo)?.[0] as number)
    const counted = { succeeded: settled('succeeded'), refused: settled('refused'), failed: settled('failed') }
    this.work.set(id, { items: free.map(itemOf), pending: pending !== null, countedTo, counted })
  }
}
