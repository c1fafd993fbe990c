/** Lists and counts of inbox runs. */
import { type InboxPage, type InboxQuery, inboxPage, type TypeDepth } from '../../../model/inbox.ts'
import { MAX_COUNTED_RUNS } from '../../../model/queries/queueing.ts'
import { PAGE_BYTES } from '../../../model/shown.ts'
import * as column from '../columns.ts'
import { ask } from '../connection/ask.ts'
import { textArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { STEPWISE } from '../connection/settings.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'
import { ALONG, QUEUE_SCAN, WAITING } from '../load/claimable.ts'
import { shownRuns } from '../shown.ts'
import { Conditions } from './conditions.ts'

/**
 * Range of microseconds that a number represents exactly: one odd date, written by plain SQL, must not fail every list.
 */
const CREATED = `least(greatest(r.created_at, '1970-01-01 00:00:00+00'), '2255-01-01 00:00:00+00')`
const CREATED_US = `(extract(epoch FROM ${CREATED}) * 1000000)::bigint`

/** `inbox` is written as in the index: idx_workflow_run_type_status has this order. */
export async function listInbox(lanes: Lanes, query: InboxQuery): Promise<InboxPage> {
  const where = inboxConditions(query)
  const page = where.page({ limit: query.limit + 1 })
  const order = 'r.created_at DESC, r.id DESC'
  const select = `SELECT * FROM workflow.workflow_run r ${where.text()} ORDER BY ${order} ${page}`
  const text = shownRuns(select, order, where.value(String(PAGE_BYTES)), [CREATED_US])
  const at = column.RUN.columns.length
  const row = (fields: Fields) => ({ run: column.runFrom(fields), createdUs: Number(fields[at]) })
  return inboxPage(await ask(lanes, { statement: statement(text), values: where.values, row }), query.limit)
}

function inboxConditions(query: InboxQuery): Conditions {
  const where = new Conditions()
  where.conditions.push('r.inbox')
  const { type, before, deleted } = query
  if (deleted !== null) where.conditions.push(deleted ? 'r.deleted_at IS NOT NULL' : 'r.deleted_at IS NULL')
  if (query.status !== null) where.add((n) => `r.status = ANY (${n}::text[])`, textArray(query.status))
  if (query.idempotencyKey !== null) where.add((n) => `r.idempotency_key = ${n}`, query.idempotencyKey)
  if (query.queue !== null) where.add((n) => `r.queue = ${n}`, query.queue)
  if (query.tenant !== null) where.add((n) => `r.tenant = ${n}`, query.tenant)
  if (type !== null && 'exact' in type) where.add((n) => `r.type = ${n}`, type.exact)
  if (type !== null && 'prefix' in type) where.add((n) => `starts_with(r.type, ${n})`, type.prefix)
  if (before !== null) {
    const at = where.value(String(before.createdUs))
    where.add((n) => `(r.created_at, r.id) < (${moment(at)}, ${n}::uuid)`, before.id)
  }
  return where
}

/** Exact to the microsecond, which a float of seconds is not. */
function moment(parameter: string): string {
  return `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`
}

/** Counts the entries of pending and leased runs in partial indexes; a million pending take about 0.2 s. */
const DEPTHS = statement(
  `WITH RECURSIVE ${QUEUE_SCAN},
   kind(queue, type) AS (
     SELECT s.queue, n.type FROM queue_scan s CROSS JOIN LATERAL
       (SELECT r.type ${WAITING} AND r.queue = s.queue ORDER BY r.type USING ~<~ LIMIT 1) n
     UNION ALL
     SELECT k.queue, n.type FROM kind k CROSS JOIN LATERAL
       (SELECT r.type ${WAITING} AND r.queue = k.queue AND r.type ~>~ k.type ORDER BY r.type USING ~<~ LIMIT 1) n
   )
   SELECT k.type, 'pending', sum(c.n) FROM kind k CROSS JOIN LATERAL (
     SELECT count(*) AS n FROM (SELECT ${WAITING} AND r.queue = k.queue AND r.type = k.type
       ORDER BY ${ALONG} LIMIT ${MAX_COUNTED_RUNS}) w) c
   GROUP BY k.type
   UNION ALL
   SELECT x.type, 'leased', count(*) FROM (
     SELECT r.type FROM workflow.workflow_run r
     WHERE ${LEASED} AND r.deleted_at IS NULL AND r.session_id IS NOT NULL
     UNION ALL
     SELECT r.type FROM workflow.workflow_run r
     WHERE ${LEASED} AND r.deleted_at IS NULL AND r.session_id IS NULL
       AND (r.lease_until IS NOT NULL OR r.deferred)
   ) x GROUP BY x.type`,
)

export function typeDepths(lanes: Lanes): Promise<readonly TypeDepth[]> {
  const row = ([type, status, count]: Fields): TypeDepth => ({
    type: type as string,
    status: status as TypeDepth['status'],
    count: Number(count),
  })
  return ask(lanes, { statement: DEPTHS, settings: STEPWISE, row })
}
