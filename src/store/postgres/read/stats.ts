/** Counts for statistics. */
import { HELD_AT, type QueueCounts, type TotalRow } from '../../../model/rows.ts'
import { ask } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { LEASED } from '../leased.ts'

const CLOCK = '(SELECT workflow.clock())'
const HELD = `to_timestamp(${HELD_AT / 1000})`

/**
 * Pending runs are counted from the claim index and from that of runs to be retried, held runs from that of leased
 * ones. A million pending runs take 0.2 s, those of one queue of ten 0.03 s.
 */
function countsSql(queue: string): string {
  const pending = `FROM workflow.workflow_run r WHERE r.status = 'pending' AND r.deleted_at IS NULL ${queue}`
  const leased = `FROM workflow.workflow_run r WHERE ${LEASED} AND r.deleted_at IS NULL ${queue}`
  return `SELECT x.queue, sum(x.available), sum(x.later) - sum(x.retryable), sum(x.retryable), sum(x.held), sum(x.leased) FROM (
     SELECT r.queue, count(*) FILTER (WHERE r.run_at <= ${CLOCK}) AS available,
       count(*) FILTER (WHERE r.run_at > ${CLOCK} AND r.run_at < ${HELD}) AS later, 0 AS retryable,
       count(*) FILTER (WHERE r.run_at >= ${HELD}) AS held, 0 AS leased
     ${pending} GROUP BY r.queue
     UNION ALL
     SELECT r.queue, 0, 0, count(*), 0, 0 ${pending} AND r.attempt > 0 AND r.run_at > ${CLOCK} AND r.run_at < ${HELD}
     GROUP BY r.queue
     UNION ALL
     SELECT r.queue, 0, 0, 0, 0, count(*) ${leased} AND r.session_id IS NOT NULL GROUP BY r.queue
     UNION ALL
     SELECT r.queue, 0, 0, 0, 0, count(*) ${leased} AND r.session_id IS NULL AND (r.lease_until IS NOT NULL OR r.deferred)
     GROUP BY r.queue
   ) x GROUP BY x.queue ORDER BY x.queue`
}

const ALL_QUEUES = statement(countsSql(''))
const ONE_QUEUE = statement(countsSql('AND r.queue = $1::text'))

export function queueCounts(lanes: Lanes, queue: string | null): Promise<readonly QueueCounts[]> {
  return queue === null
    ? ask(lanes, { statement: ALL_QUEUES, row: queueCountsFrom })
    : ask(lanes, { statement: ONE_QUEUE, values: [queue], row: queueCountsFrom })
}

function queueCountsFrom(fields: Fields): QueueCounts {
  return {
    queue: fields[0] as string,
    available: Number(fields[1]),
    scheduled: Number(fields[2]),
    retryable: Number(fields[3]),
    held: Number(fields[4]),
    leased: Number(fields[5]),
  }
}

export const TOTALS = statement(
  `SELECT t.queue, t.minute, t.succeeded, t.failed, t.cancelled, t.retried FROM workflow.workflow_total t
   WHERE ($1::text IS NULL OR t.queue = $1::text) AND t.minute >= to_timestamp($2::float8 / 1000)
   UNION ALL
   SELECT t.queue, to_timestamp(0), sum(t.succeeded), sum(t.failed), sum(t.cancelled), sum(t.retried)
   FROM workflow.workflow_total t
   WHERE ($1::text IS NULL OR t.queue = $1::text) AND t.minute < to_timestamp($2::float8 / 1000) GROUP BY t.queue
   ORDER BY 1, 2`,
)

export function totalFrom(fields: Fields): TotalRow {
  return {
    queue: fields[0] as string,
    minute: parseTime(fields[1] as string),
    succeeded: Number(fields[2]),
    failed: Number(fields[3]),
    cancelled: Number(fields[4]),
    retried: Number(fields[5]),
  }
}
