/** Bulk operations: what transactions write, and the queries that read them. */
import { MOST_DELAY_MS, type Operation, shownOperation } from '../../../model/bulk/rows.ts'
import type { BulkDelta, BulkQueries } from '../../../model/bulk/work.ts'
import { OPERATION, OPERATION_ITEM, selectList } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { textArray, upserter } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Call, type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { isUuid } from '../connection/uuid.ts'
import { itemFrom, operationFrom } from '../load/bulk.ts'
import { removeTreesCalls, trimTree } from '../sweep/prune.ts'

const putOperations = upserter(OPERATION, ['id'])
const putItems = upserter(OPERATION_ITEM, ['operation_id', 'item_id'])

/** Results that are not in the counts of the row yet. */
const NEWER = ['succeeded', 'refused', 'failed']
  .map(
    (state) => `(SELECT count(*) FROM workflow.workflow_operation_item i
      WHERE i.operation_id = o.id AND i.state = '${state}' AND i.item_id <= o.counted_to)`,
  )
  .join(', ')
const READ = `SELECT ${selectList(OPERATION, 'o')}, ${NEWER} FROM workflow.workflow_operation o`
const GET = statement(`${READ} WHERE o.id = $1::uuid`)
const LIST = statement(
  `${READ} WHERE ($1::text IS NULL OR o.tenant = $1::text) AND ($2::text[] IS NULL OR o.state = ANY ($2::text[]))
     AND ($3::uuid IS NULL OR o.id < $3::uuid) ORDER BY o.id DESC LIMIT $4::int`,
)
const ITEMS = `SELECT ${selectList(OPERATION_ITEM, 'i')} FROM workflow.workflow_operation_item i
   WHERE i.operation_id = $1::uuid AND ($2::uuid IS NULL OR i.item_id < $2::uuid)`
const ALL_ITEMS = statement(`${ITEMS} ORDER BY i.item_id DESC LIMIT $3::int`)
const ITEMS_IN_STATE = statement(`${ITEMS} AND i.state = $4::text ORDER BY i.item_id DESC LIMIT $3::int`)
const DUE = statement(
  `SELECT ${selectList(OPERATION, 'o')} FROM (
     SELECT d.*, row_number() OVER (PARTITION BY d.tenant ORDER BY d.due_at, d.id) AS place
     FROM workflow.workflow_operation d WHERE d.due_at <= (SELECT workflow.clock())
       OR d.due_at > (SELECT workflow.clock()) + ${MOST_DELAY_MS} * interval '1 millisecond') o
   ORDER BY o.place, o.due_at, o.id LIMIT $1::int`,
)
const NEXT_DUE = statement(
  'SELECT min(o.due_at) FROM workflow.workflow_operation o WHERE o.due_at > to_timestamp($1::float8 / 1000)',
)
const OPEN_MEMBER = statement(
  `SELECT i.id FROM workflow.workflow_instance i
   WHERE i.root_id = $1::uuid AND i.parent_id IS NOT NULL AND i.ended_at IS NULL LIMIT 1`,
)
/** Items first: what is left of an operation is removed with the next chunk. */
const PRUNE = statement(
  `WITH old AS (
     SELECT o.id FROM workflow.workflow_operation o WHERE o.ended_at < to_timestamp($1::float8 / 1000)
     ORDER BY o.ended_at LIMIT $2::int FOR UPDATE SKIP LOCKED
   ), chunk AS (
     SELECT i.operation_id, i.item_id FROM workflow.workflow_operation_item i
     WHERE i.operation_id IN (SELECT id FROM old) LIMIT $2::int
   ), items AS (
     DELETE FROM workflow.workflow_operation_item i USING chunk s
     WHERE i.operation_id = s.operation_id AND i.item_id = s.item_id RETURNING 1
   ), operations AS (
     DELETE FROM workflow.workflow_operation o WHERE o.id IN (SELECT id FROM old)
       AND NOT EXISTS (SELECT FROM workflow.workflow_operation_item i WHERE i.operation_id = o.id) RETURNING 1)
   SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM operations)`,
)

export function bulkCalls({ operations, items, trees }: BulkDelta): Call[] {
  return [
    ...(operations.length === 0 ? [] : [putOperations(operations)]),
    ...(items.length === 0 ? [] : [putItems(items)]),
    ...removeTreesCalls(trees),
  ]
}

/** `timers`: for taking work, so that lists never delay it. */
export function bulkOn(lanes: { readonly reads: Lanes; readonly timers: Lanes }): BulkQueries {
  const { reads, timers } = lanes
  return {
    get: async (id) => (isUuid(id) ? askOne(reads, { statement: GET, values: [id], row: shownFrom }) : null),
    list: async ({ tenant, states, limit, before }) => {
      if (before !== null && !isUuid(before)) return []
      const values = [tenant, states === null ? null : textArray(states), before, String(limit)]
      return ask(reads, { statement: LIST, values, row: shownFrom })
    },
    items: async ({ operationId, state, limit, before }) => {
      if (!isUuid(operationId) || (before !== null && !isUuid(before))) return []
      const values = [operationId, before, String(limit)]
      return state === null
        ? ask(reads, { statement: ALL_ITEMS, values, row: itemFrom })
        : ask(reads, { statement: ITEMS_IN_STATE, values: [...values, state], row: itemFrom })
    },
    due: ({ limit }) => ask(timers, { statement: DUE, values: [String(limit)], row: operationFrom }),
    nextDueAt: (after) => {
      const row = ([at]: Fields): number | null => (at === null || at === undefined ? null : parseTime(at))
      return askOne(timers, { statement: NEXT_DUE, values: [String(after)], row })
    },
    openMember: (rootId) => askOne(timers, { statement: OPEN_MEMBER, values: [rootId], row: ([id]) => id as string }),
    prune: async ({ endedBefore, limit }) => {
      const values = [String(endedBefore), String(limit)]
      return (await askOne(timers, { statement: PRUNE, values, row: ([removed]) => Number(removed) })) ?? 0
    },
    trim: (params) => trimTree(timers, params),
  }
}

const COUNTS = OPERATION.columns.length

function shownFrom(fields: Fields): Operation {
  const [succeeded, refused, failed] = fields.slice(COUNTS).map(Number) as [number, number, number]
  return shownOperation(operationFrom(fields), { succeeded, refused, failed })
}
