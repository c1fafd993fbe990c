/** Adds to the totals of queues. */

import { NO_TRAFFIC, type Traffic } from '../../../model/queries/queueing.ts'
import type { TotalRow } from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'

/** The counts of a minute, in the order in which they are read and written. */
export const COUNTS: readonly string[] = [
  'succeeded',
  'failed',
  'cancelled',
  'retried',
  'arrived',
  'started',
  'wait_ms',
  'busy_ms',
  ...NO_TRAFFIC.waits.map((_, at) => `wait_${at + 1}`),
  ...NO_TRAFFIC.runTimes.map((_, at) => `busy_${at + 1}`),
]
const ADD = `INSERT INTO workflow_total (queue, minute, ${COUNTS.join(', ')}) VALUES (?, ?, ${COUNTS.map(() => '?').join(', ')})
  ON CONFLICT (queue, minute) DO UPDATE SET ${COUNTS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`
/** Minutes older than three days become one row per queue. */
const OLD = `SELECT queue, ${COUNTS.map((name) => `sum(${name})`).join(', ')} FROM workflow_total
  WHERE minute > 0 AND minute < ? GROUP BY queue`
const FORGET = 'DELETE FROM workflow_total WHERE minute > 0 AND minute < ?'
const KEPT_MS = 3 * 24 * 3_600_000
const FOLD_EVERY_MS = 3_600_000

const foldedAt = new WeakMap<Connection, number>()

export function addTotals(connection: Connection, totals: readonly (TotalRow & Partial<Traffic>)[]): void {
  for (const row of totals) {
    const { succeeded, failed, cancelled, retried } = row
    const { arrived, started, waitMs, busyMs, waits, runTimes } = { ...NO_TRAFFIC, ...row }
    const counts = [succeeded, failed, cancelled, retried, arrived, started, waitMs, busyMs, ...waits, ...runTimes]
    connection.statement(ADD).get(row.queue, row.minute, ...counts)
  }
  if (performance.now() - (foldedAt.get(connection) ?? 0) < FOLD_EVERY_MS) return
  foldedAt.set(connection, performance.now())
  const before = readClock(connection) - KEPT_MS
  for (const [queue, ...sums] of connection.statement(OLD).all(before)) {
    connection.statement(ADD).get(queue as string, 0, ...sums)
  }
  connection.statement(FORGET).get(before)
}
