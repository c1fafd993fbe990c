/** The numbers of pending and held runs of queues, and what has ended. */
import { HELD_AT, type QueueCounts, type TotalRow } from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import type { Reading } from '../long-reads.ts'

/**
 * Pending runs are counted from the claim index and from that of runs to be retried: neither reads the rows. A million
 * pending runs take 0.3 s, those of one queue of ten 0.02 s.
 */
function countsSql(queue: string): string {
  return `
    SELECT queue, sum(available), sum(later) - sum(retryable), sum(retryable), sum(held), sum(leased) FROM (
      SELECT queue, sum(run_at <= ?1) AS available, sum(run_at > ?1 AND run_at < ${HELD_AT}) AS later, 0 AS retryable,
        sum(run_at >= ${HELD_AT}) AS held, 0 AS leased
      FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
      WHERE status = 'pending' AND deleted_at IS NULL ${queue} GROUP BY queue
      UNION ALL
      SELECT queue, 0, 0, count(*), 0, 0 FROM workflow_run INDEXED BY idx_workflow_run_again
      WHERE status = 'pending' AND attempt > 0 AND deleted_at IS NULL AND run_at > ?1 AND run_at < ${HELD_AT} ${queue}
      GROUP BY queue
      UNION ALL
      SELECT queue, 0, 0, 0, 0, count(*) FROM workflow_run INDEXED BY idx_workflow_run_leased
      WHERE status = 'leased' AND deleted_at IS NULL ${queue} GROUP BY queue
    ) GROUP BY queue ORDER BY queue`
}

const ALL_QUEUES = countsSql('')
const ONE_QUEUE = countsSql('AND queue = ?2')

export function queueCounts(connection: Reading, queue: string | null): QueueCounts[] {
  const now = readClock(connection)
  const rows =
    queue === null ? connection.statement(ALL_QUEUES).all(now) : connection.statement(ONE_QUEUE).all(now, queue)
  return rows.map(([name, available, scheduled, retryable, held, leased]) => ({
    queue: name as string,
    available: available as number,
    scheduled: scheduled as number,
    retryable: retryable as number,
    held: held as number,
    leased: leased as number,
  }))
}

const TOTALS = `
  SELECT queue, minute, succeeded, failed, cancelled, retried FROM workflow_total
  WHERE minute >= ?2 AND (?1 IS NULL OR queue = ?1)
  UNION ALL
  SELECT queue, 0, sum(succeeded), sum(failed), sum(cancelled), sum(retried) FROM workflow_total
  WHERE minute < ?2 AND (?1 IS NULL OR queue = ?1) GROUP BY queue
  ORDER BY 1, 2`

export function totals(
  connection: Reading,
  { queue, since }: { readonly queue: string | null; readonly since: number },
): TotalRow[] {
  return connection
    .statement(TOTALS)
    .all(queue, since)
    .map(([name, minute, succeeded, failed, cancelled, retried]) => ({
      queue: name as string,
      minute: minute as number,
      succeeded: succeeded as number,
      failed: failed as number,
      cancelled: cancelled as number,
      retried: retried as number,
    }))
}
