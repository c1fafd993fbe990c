/** Adds to the totals of queues. A lost connection may make an addition count twice: these are statistics only. */
import { NO_TRAFFIC, type Traffic } from '../../../model/queries/queueing.ts'
import type { TotalRow } from '../../../model/rows.ts'
import { ask } from '../connection/ask.ts'
import { numberArray, textArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'

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
const NAMES = COUNTS.join(', ')
const ADDED = `ON CONFLICT (queue, minute) DO UPDATE SET ${COUNTS.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}`

/** Ordered by the key: two concurrent processes meet the rows in the same order. */
const ADD = statement(
  `INSERT INTO workflow.workflow_total AS t (queue, minute, ${NAMES})
   SELECT x.queue, to_timestamp(x.minute / 1000), ${COUNTS.map((name) => `x.${name}`).join(', ')}
   FROM unnest($1::text[], $2::float8[], ${COUNTS.map((_, at) => `$${at + 3}::int8[]`).join(', ')}) x(queue, minute, ${NAMES})
   ORDER BY x.queue, x.minute
   ${ADDED}`,
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
   INSERT INTO workflow.workflow_total AS t (queue, minute, ${NAMES})
   SELECT o.queue, to_timestamp(0), ${COUNTS.map((name) => `sum(o.${name})`).join(', ')}
   FROM old o GROUP BY o.queue ORDER BY o.queue
   ${ADDED}`,
)

const FOLD_EVERY_MS = 3_600_000
const foldedAt = new WeakMap<Lanes, number>()

export async function addTotals(lanes: Lanes, totals: readonly (TotalRow & Partial<Traffic>)[]): Promise<void> {
  if (totals.length === 0) return
  if (performance.now() - (foldedAt.get(lanes) ?? 0) > FOLD_EVERY_MS) {
    foldedAt.set(lanes, performance.now())
    await ask(lanes, { statement: FOLD, row: () => null })
  }
  const counts = totals.map(countsOf)
  const values = [
    textArray(totals.map((row) => row.queue)),
    numberArray(totals.map((row) => row.minute)),
    ...COUNTS.map((_, at) => numberArray(counts.map((row) => row[at] as number))),
  ]
  await ask(lanes, { statement: ADD, values, row: () => null })
}

/** In the order of COUNTS. */
function countsOf(row: TotalRow & Partial<Traffic>): readonly number[] {
  const { succeeded, failed, cancelled, retried } = row
  const { arrived, started, waitMs, busyMs, waits, runTimes } = { ...NO_TRAFFIC, ...row }
  return [succeeded, failed, cancelled, retried, arrived, started, waitMs, busyMs, ...waits, ...runTimes]
}
