/** Lists and counts of inbox runs. */
import { type InboxPage, type InboxQuery, inboxPage, type TypeDepth } from '../../../model/inbox.ts'
import { MAX_COUNTED_RUNS } from '../../../model/queries/queueing.ts'
import { PAGE_BYTES } from '../../../model/shown.ts'
import type { Value } from '../driver.ts'
import { WAITING, waitingTypes } from '../load/claimable.ts'
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

const PENDING = `SELECT count(*) FROM (SELECT 1 ${WAITING} AND queue = ? AND type = ? LIMIT ${MAX_COUNTED_RUNS})`
const LEASED = `SELECT type, count(*) FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND deleted_at IS NULL GROUP BY type`
const NEXT_QUEUE = `SELECT queue ${WAITING} AND queue > ? ORDER BY queue LIMIT 1`

/** Jumps along the index of claims from one queue and type to the next. */
export function typeDepths(connection: Reading): readonly TypeDepth[] {
  const pending = new Map<string, number>()
  const next = (after: string): string | undefined => connection.statement(NEXT_QUEUE).get(after)?.[0] as string
  for (let queue = next(''); queue !== undefined; queue = next(queue)) {
    for (const type of waitingTypes(connection, queue, '')) {
      const [count] = (connection.statement(PENDING).get(queue, type) ?? [0]) as readonly [number]
      pending.set(type, (pending.get(type) ?? 0) + count)
    }
  }
  const leased = connection.statement(LEASED).all() as unknown as readonly (readonly [string, number])[]
  return [
    ...[...pending].map(([type, count]): TypeDepth => ({ type, status: 'pending', count })),
    ...leased.map(([type, count]): TypeDepth => ({ type, status: 'leased', count })),
  ]
}
