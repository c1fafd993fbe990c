/** Bulk operations: what transactions write, and the queries that read them. */
import { MOST_DELAY_MS, OPERATION, OPERATION_ITEM, type Operation, shownOperation } from '../../../model/bulk/rows.ts'
import type { BulkDelta, BulkQueries } from '../../../model/bulk/work.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { ITEM_CELLS, itemOf, OPERATION_CELLS, operationOf } from '../load/bulk.ts'
import { upserter } from '../row/put.ts'
import { namesOf } from '../row/reader.ts'
import { OPEN_MEMBER, removeWholeTree, trimTree } from '../sweep/prune.ts'

const putOperation = upserter(OPERATION, { keys: ['id'], kept: ['created_at'] })
const putItem = upserter(OPERATION_ITEM, { keys: ['operation_id', 'item_id'] })

/** Results that are not in the counts of the row yet. */
const NEWER = ['succeeded', 'refused', 'failed']
  .map(
    (state) => `(SELECT count(*) FROM workflow_operation_item i
      WHERE i.operation_id = o.id AND i.state = '${state}' AND i.item_id <= o.counted_to)`,
  )
  .join(', ')
const READ = `SELECT ${namesOf(OPERATION)
  .map((name) => `o.${name}`)
  .join(', ')}, ${NEWER} FROM workflow_operation o`
const DUE = `SELECT ${OPERATION_CELLS} FROM (
    SELECT *, row_number() OVER (PARTITION BY tenant ORDER BY due_at, id) AS place FROM workflow_operation
    WHERE due_at IS NOT NULL AND (due_at <= ?1 OR due_at > ?1 + ${MOST_DELAY_MS}))
  ORDER BY place, due_at, id LIMIT ?2`
const NEXT_DUE = 'SELECT min(due_at) FROM workflow_operation WHERE due_at > ?'
const ENDED =
  'SELECT id FROM workflow_operation WHERE ended_at IS NOT NULL AND ended_at < ?1 ORDER BY ended_at LIMIT ?2'
const REMOVE_ITEMS = `DELETE FROM workflow_operation_item WHERE operation_id = ?1 AND item_id IN (
  SELECT item_id FROM workflow_operation_item WHERE operation_id = ?1 LIMIT ?2)`

export function writeBulk(connection: Connection, { operations, items, trees }: BulkDelta): void {
  for (const row of operations) putOperation(connection, row)
  for (const row of items) putItem(connection, row)
  for (const rootId of trees) removeWholeTree(connection, rootId)
}

export function bulkOn(connection: Connection): BulkQueries {
  // Nothing that is remembered of runs and instances changes with the rows of operations.
  const write = <T>(work: () => T): Promise<T> => connection.write(work, () => undefined)
  return {
    get: (id) =>
      connection.read(() => {
        const cells = connection.statement(`${READ} WHERE o.id = ?`).get(id)
        return cells === undefined ? null : shownOf(cells)
      }),
    list: ({ tenant, states, limit, before }) => {
      const where = ["o.id < coalesce(?, 'g')"]
      const values: Value[] = [before]
      if (tenant !== null) where.push('o.tenant = ?')
      if (tenant !== null) values.push(tenant)
      if (states !== null) where.push('o.state IN (SELECT value FROM json_each(?))')
      if (states !== null) values.push(JSON.stringify(states))
      const sql = `${READ} WHERE ${where.join(' AND ')} ORDER BY o.id DESC LIMIT ?`
      return connection.read(() =>
        connection
          .statement(sql)
          .all(...values, limit)
          .map(shownOf),
      )
    },
    items: ({ operationId, state, limit, before }) => {
      const sql = `SELECT ${ITEM_CELLS} FROM workflow_operation_item
        WHERE operation_id = ?1 ${state === null ? '' : 'AND state = ?4'} AND item_id < coalesce(?2, 'g')
        ORDER BY item_id DESC LIMIT ?3`
      const values = [operationId, before, limit, ...(state === null ? [] : [state])]
      return connection.read(() =>
        connection
          .statement(sql)
          .all(...values)
          .map(itemOf),
      )
    },
    due: ({ limit }) =>
      connection.read(() => connection.statement(DUE).all(readClock(connection), limit).map(operationOf)),
    nextDueAt: (after) => connection.read(() => connection.statement(NEXT_DUE).get(after)?.[0] as number | null),
    openMember: (rootId) =>
      connection.read(() => (connection.statement(OPEN_MEMBER).get(rootId)?.[0] ?? null) as string | null),
    prune: async ({ endedBefore, limit }) => {
      // Every process asks when it starts, and the lock of the writer is not for those that find nothing.
      const ended = await connection.read(() => connection.statement(ENDED).get(endedBefore, 1))
      return ended === undefined ? 0 : write(() => pruneOperations(connection, endedBefore, limit))
    },
    trim: ({ rootId, limit }) => connection.write(() => trimTree(connection, rootId, limit)),
  }
}

function pruneOperations(connection: Connection, endedBefore: number, limit: number): number {
  let left = limit
  for (const [id] of connection.statement(ENDED).all(endedBefore, limit)) {
    left -= Number(connection.statement(REMOVE_ITEMS).run(id as string, left).changes)
    if (left <= 0) break
    connection.statement('DELETE FROM workflow_operation WHERE id = ?').get(id as string)
    if (--left <= 0) break
  }
  return limit - left
}

function shownOf(cells: Cells): Operation {
  const [succeeded, refused, failed] = cells.slice(-3) as [number, number, number]
  return shownOperation(operationOf(cells), { succeeded, refused, failed })
}
