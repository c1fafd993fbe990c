/** Adds to the totals of queues. */
import type { TotalRow } from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'

const ADD = `INSERT INTO workflow_total (queue, minute, succeeded, failed, cancelled, retried) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (queue, minute) DO UPDATE SET succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed,
    cancelled = cancelled + excluded.cancelled, retried = retried + excluded.retried`
/** Minutes older than three days become one row per queue. */
const OLD = `SELECT queue, sum(succeeded), sum(failed), sum(cancelled), sum(retried) FROM workflow_total
  WHERE minute > 0 AND minute < ? GROUP BY queue`
const FORGET = 'DELETE FROM workflow_total WHERE minute > 0 AND minute < ?'
const KEPT_MS = 3 * 24 * 3_600_000
const FOLD_EVERY_MS = 3_600_000

const foldedAt = new WeakMap<Connection, number>()

export function addTotals(connection: Connection, totals: readonly TotalRow[]): void {
  for (const row of totals) {
    connection.statement(ADD).get(row.queue, row.minute, row.succeeded, row.failed, row.cancelled, row.retried)
  }
  if (performance.now() - (foldedAt.get(connection) ?? 0) < FOLD_EVERY_MS) return
  foldedAt.set(connection, performance.now())
  const before = readClock(connection) - KEPT_MS
  for (const [queue, ...sums] of connection.statement(OLD).all(before)) {
    connection.statement(ADD).get(queue as string, 0, ...sums)
  }
  connection.statement(FORGET).get(before)
}
