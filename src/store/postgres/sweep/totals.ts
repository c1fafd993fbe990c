/** Adds to the totals of queues. A lost connection may make an addition count twice: these are statistics only. */
import type { TotalRow } from '../../../model/rows.ts'
import { ask } from '../connection/ask.ts'
import { numberArray, textArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'

/** Ordered by the key: two concurrent processes meet the rows in the same order. */
const ADD = statement(
  `INSERT INTO workflow.workflow_total AS t (queue, minute, succeeded, failed, cancelled, retried)
   SELECT x.queue, to_timestamp(x.minute / 1000), x.succeeded, x.failed, x.cancelled, x.retried
   FROM unnest($1::text[], $2::float8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[])
     x(queue, minute, succeeded, failed, cancelled, retried)
   ORDER BY x.queue, x.minute
   ON CONFLICT (queue, minute) DO UPDATE SET
     succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
     cancelled = t.cancelled + excluded.cancelled, retried = t.retried + excluded.retried`,
)

/** Minutes older than three days become one row per queue. SKIP LOCKED: no row is folded by two processes. */
const FOLD = statement(
  `WITH old AS (
     DELETE FROM workflow.workflow_total t WHERE (t.queue, t.minute) IN (
       SELECT o.queue, o.minute FROM workflow.workflow_total o
       WHERE o.minute > to_timestamp(0) AND o.minute < (SELECT workflow.clock()) - interval '3 days'
       ORDER BY o.queue, o.minute LIMIT 1000 FOR UPDATE SKIP LOCKED)
     RETURNING t.*
   )
   INSERT INTO workflow.workflow_total AS t (queue, minute, succeeded, failed, cancelled, retried)
   SELECT o.queue, to_timestamp(0), sum(o.succeeded), sum(o.failed), sum(o.cancelled), sum(o.retried)
   FROM old o GROUP BY o.queue ORDER BY o.queue
   ON CONFLICT (queue, minute) DO UPDATE SET
     succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
     cancelled = t.cancelled + excluded.cancelled, retried = t.retried + excluded.retried`,
)

const FOLD_EVERY_MS = 3_600_000
const foldedAt = new WeakMap<Lanes, number>()

export async function addTotals(lanes: Lanes, totals: readonly TotalRow[]): Promise<void> {
  if (totals.length === 0) return
  if (performance.now() - (foldedAt.get(lanes) ?? 0) > FOLD_EVERY_MS) {
    foldedAt.set(lanes, performance.now())
    await ask(lanes, { statement: FOLD, row: () => null })
  }
  const values = [
    textArray(totals.map((row) => row.queue)),
    numberArray(totals.map((row) => row.minute)),
    numberArray(totals.map((row) => row.succeeded)),
    numberArray(totals.map((row) => row.failed)),
    numberArray(totals.map((row) => row.cancelled)),
    numberArray(totals.map((row) => row.retried)),
  ]
  await ask(lanes, { statement: ADD, values, row: () => null })
}
