/** Lists and counts of inbox runs. */
import { type InboxPage, type InboxQuery, inboxPage, type TypeDepth } from '../../../model/inbox.ts'
import { PAGE_BYTES } from '../../../model/shown.ts'
import type { Value } from '../driver.ts'
import type { Reading } from '../long-reads.ts'
import { runOf, shownRuns } from '../row/run.ts'

/** Ids are text and compare as such; `inbox` is written as in the index. */
export function listInbox(connection: Reading, query: InboxQuery): InboxPage {
  const { conditions, values } = inboxConditions(query)
  const rows = connection
    .statement(
      shownRuns({
        where: `WHERE ${conditions.join(' AND ')}`,
        order: 'created_at DESC, id DESC',
        page: 'LIMIT ?',
        maxBytes: PAGE_BYTES,
      }),
    )
    .all(...values, query.limit + 1)
    .map((cells) => {
      const run = runOf(cells)
      return { run, createdUs: run.createdAt * 1000 }
    })
  return inboxPage(rows, query.limit)
}

function inboxConditions(query: InboxQuery): { readonly conditions: readonly string[]; readonly values: Value[] } {
  const conditions = ['inbox = 1']
  const values: Value[] = []
  const add = (condition: string, ...given: Value[]): void => {
    conditions.push(condition)
    values.push(...given)
  }
  const { type, before, deleted, status } = query
  if (deleted !== null) add(deleted ? 'deleted_at IS NOT NULL' : 'deleted_at IS NULL')
  if (status !== null) add(`status IN (${status.map(() => '?').join(', ')})`, ...status)
  if (query.idempotencyKey !== null) add('idempotency_key = ?', query.idempotencyKey)
  if (query.queue !== null) add('queue = ?', query.queue)
  if (query.tenant !== null) add('tenant = ?', query.tenant)
  if (type !== null && 'exact' in type) add('type = ?', type.exact)
  if (type !== null && 'prefix' in type) add('substr(type, 1, length(?)) = ?', type.prefix, type.prefix)
  if (before !== null) add('(created_at, id) < (?, ?)', Math.floor(before.createdUs / 1000), before.id)
  return { conditions, values }
}

const DEPTHS = `
  SELECT type, 'pending', count(*) FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
  WHERE status = 'pending' AND deleted_at IS NULL GROUP BY type
  UNION ALL
  SELECT type, 'leased', count(*) FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND deleted_at IS NULL GROUP BY type`

export function typeDepths(connection: Reading): readonly TypeDepth[] {
  return connection
    .statement(DEPTHS)
    .all()
    .map(([type, status, count]) => ({
      type: type as string,
      status: status as TypeDepth['status'],
      count: count as number,
    }))
}
