/**
 * What a transaction on a bulk operation loads. Its row is locked to select and take items and to change it; an item is locked to
 * settle it, after everything else that the transaction locks.
 */
import type { OperationItemRow, OperationRow, OperationState } from '../../../model/bulk/rows.ts'
import { ALL_COUNTED, itemKey, NONE_COUNTED } from '../../../model/bulk/rows.ts'
import type { BulkNeed, LoadedBulk, OperationWork } from '../../../model/bulk/work.ts'
import { decoder, OPERATION, OPERATION_ITEM, selectList } from '../columns.ts'
import { uuidArray } from '../connection/batch.ts'
import { type Call, type Fields, statement } from '../connection/statement.ts'

export const operationFrom = decoder(OPERATION)
export const itemFrom = decoder(OPERATION_ITEM)

const LOCK_OPERATION = statement(
  `SELECT ${selectList(OPERATION, 'o')} FROM workflow.workflow_operation o WHERE o.id = $1::uuid FOR UPDATE`,
)
const STATE = statement('SELECT o.state FROM workflow.workflow_operation o WHERE o.id = $1::uuid')
const LOCK_ITEMS = statement(
  `SELECT ${selectList(OPERATION_ITEM, 'i')} FROM workflow.workflow_operation_item i
   WHERE i.operation_id = $1::uuid AND i.item_id = ANY ($2::uuid[]) ORDER BY i.item_id FOR UPDATE`,
)
/**
 * An item taken later than now was taken before the clock was set back. A transaction that is settling one of these is not
 * waited for: its item is skipped.
 */
const FREE = statement(
  `SELECT ${selectList(OPERATION_ITEM, 'i')} FROM workflow.workflow_operation_item i
   WHERE i.operation_id = $1::uuid AND i.state = 'pending'
     AND (i.taken_at IS NULL OR i.taken_at <= (SELECT workflow.clock()) - $2::float8 * interval '1 millisecond'
       OR i.taken_at > (SELECT workflow.clock()))
   ORDER BY i.item_id DESC LIMIT $3::int FOR UPDATE SKIP LOCKED`,
)
const IN_STATE = `FROM workflow.workflow_operation_item i WHERE i.operation_id = o.id AND i.state`
/** Items that are still to be selected are older than the last one selected. One statement: the counts fit the place. */
const REACHED = statement(
  `WITH place AS (
     SELECT o.id, o.counted_to, p.item_id IS NOT NULL AS pending, least(o.counted_to, greatest(p.item_id,
       CASE WHEN o.selecting THEN coalesce(o.cursor, '${NONE_COUNTED}')::uuid ELSE '${ALL_COUNTED}' END)) AS reached
     FROM workflow.workflow_operation o LEFT JOIN LATERAL (
       SELECT i.item_id ${IN_STATE} = 'pending' ORDER BY i.item_id DESC LIMIT 1) p ON true
     WHERE o.id = $1::uuid)
   SELECT o.pending, o.reached, ${['succeeded', 'refused', 'failed']
     .map(
       (state) => `(SELECT count(*) ${IN_STATE} = '${state}' AND i.item_id > o.reached AND i.item_id <= o.counted_to)`,
     )
     .join(', ')}
   FROM place o`,
)

export class BulkLoading implements LoadedBulk {
  readonly operations = new Map<string, OperationRow>()
  readonly items = new Map<string, OperationItemRow>()
  readonly states = new Map<string, OperationState>()
  readonly work = new Map<string, OperationWork>()

  calls(needs: readonly BulkNeed[]): Call[] {
    return needs.flatMap((need) => {
      if (need.kind === 'operation') return [this.#operation(need.id)]
      return need.kind === 'items' ? this.#items(need) : [this.#operation(need.id), ...this.#work(need)]
    })
  }

  #operation(id: string): Call {
    const row = (fields: Fields): void => void this.operations.set(id, operationFrom(fields))
    return { statement: LOCK_OPERATION, values: [id], row }
  }

  #items({ operationId, ids }: Extract<BulkNeed, { kind: 'items' }>): Call[] {
    const state = (fields: Fields): void => void this.states.set(operationId, fields[0] as OperationState)
    const row = (fields: Fields): void => {
      const item = itemFrom(fields)
      this.items.set(itemKey(item), item)
    }
    return [
      { statement: STATE, values: [operationId], row: state },
      { statement: LOCK_ITEMS, values: [operationId, uuidArray(ids)], row },
    ]
  }

  #work({ id, limit, holdMs }: Extract<BulkNeed, { kind: 'work' }>): Call[] {
    const items: OperationItemRow[] = []
    const free = (fields: Fields): void => void items.push(itemFrom(fields))
    const reached = ([pending, countedTo, succeeded, refused, failed]: Fields): void => {
      const counted = { succeeded: Number(succeeded), refused: Number(refused), failed: Number(failed) }
      this.work.set(id, { items, pending: pending === 't', countedTo: countedTo as string, counted })
    }
    return [
      { statement: FREE, values: [id, String(holdMs), String(limit)], row: free },
      { statement: REACHED, values: [id], row: reached },
    ]
  }
}
