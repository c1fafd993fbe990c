/** Queues as operators see them. Nothing here reads more than a bounded number of entries of an index. */

import { NO_TRAFFIC, type QueueFront, type QueueingQueries, type TrafficRow } from '../../../model/queries/queueing.ts'
import { HELD_AT } from '../../../model/rows.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { STEPWISE } from '../connection/settings.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { LEASED } from '../leased.ts'
import { ALONG, QUEUE_SCAN, WAITING } from '../load/claimable.ts'
import { COUNTS } from '../sweep/totals.ts'
import { LINES } from './front.ts'
import { kindsOn } from './kinds.ts'

const CLOCK = '(SELECT workflow.clock())'
const HELD = `to_timestamp(${HELD_AT / 1000})`
const ADMITTED = `w.state = 'running' AND w.expires_at > ${CLOCK}
  AND (json_array_length(w.queues) = 0 OR w.queues::jsonb ? $1::text)`

/**
 * The oldest run is the oldest of the first runs of each type and priority, between which it jumps as a claim does. The
 * whole order of the index is stated, or the planner reads the table until it has found enough.
 */
const FRONT = statement(
  `WITH RECURSIVE ${LINES}
   SELECT p.pending, p.due, p.held, a.again, h.leased,
     (SELECT min(f.run_at) FROM line l CROSS JOIN LATERAL
       (SELECT r.run_at ${WAITING} AND r.queue = $1::text AND r.type = l.type AND r.priority = l.priority
        ORDER BY r.run_at, r.id LIMIT 1) f WHERE f.run_at <= ${CLOCK}),
     coalesce((SELECT q.paused FROM workflow.workflow_queue q WHERE q.name = $1::text), false),
     (SELECT coalesce(sum(w.concurrency), 0) FROM workflow.workflow_worker w WHERE ${ADMITTED}),
     (SELECT m.max_concurrent FROM workflow.workflow_limit m WHERE m.key = 'queue:' || $1::text)
   FROM
     (SELECT count(*) AS pending, count(*) FILTER (WHERE n.run_at <= ${CLOCK}) AS due, count(*) FILTER (WHERE n.run_at >= ${HELD}) AS held
      FROM (SELECT r.run_at ${WAITING} AND r.queue = $1::text
            ORDER BY r.queue, r.type USING ~<~, ${ALONG} LIMIT $2::int) n) p,
     (SELECT count(*) AS again FROM (SELECT ${WAITING} AND r.attempt > 0 AND r.queue = $1::text AND r.run_at > ${CLOCK}
        AND r.run_at < ${HELD} ORDER BY r.queue, r.run_at LIMIT $2::int) n) a,
     (SELECT count(*) AS leased FROM (SELECT FROM workflow.workflow_run r
        WHERE ${LEASED} AND r.queue = $1::text AND r.deleted_at IS NULL LIMIT $2::int) n) h`,
)
/** Runs in flight are few; of pending ones it jumps from queue to queue. */
const NAMES = statement(
  `WITH RECURSIVE ${QUEUE_SCAN}
   SELECT s.queue FROM queue_scan s UNION SELECT q.name FROM workflow.workflow_queue q
   UNION SELECT r.queue FROM workflow.workflow_run r WHERE ${LEASED} AND r.deleted_at IS NULL
   ORDER BY 1 LIMIT $1::int`,
)
const TRAFFIC = statement(
  `SELECT t.minute, ${COUNTS.map((name) => `t.${name}`).join(', ')} FROM workflow.workflow_total t
   WHERE t.queue = $1::text AND t.minute >= to_timestamp($2::float8 / 1000) AND t.minute > to_timestamp(0)
   ORDER BY t.minute`,
)
const WAITS = NO_TRAFFIC.waits.length

export function queueingOn(lanes: Lanes): QueueingQueries {
  return {
    kinds: kindsOn(lanes),
    front: async ({ queue, most }) => {
      const values = [queue, String(most)]
      const row = (fields: Fields): QueueFront => frontFrom(fields, most)
      return (await askOne(lanes, { statement: FRONT, settings: STEPWISE, values, row })) as QueueFront
    },
    names: ({ limit }) => ask(lanes, { statement: NAMES, values: [String(limit)], row: ([name]) => name as string }),
    traffic: ({ queue, since }) =>
      ask(lanes, { statement: TRAFFIC, values: [queue, String(since)], row: (fields) => trafficFrom(queue, fields) }),
  }
}

function frontFrom(fields: Fields, most: number): QueueFront {
  const [pending, due, held, again, leased, oldest, paused, concurrency, maxConcurrent] = fields
  return {
    available: Number(due),
    scheduled: Math.max(0, Number(pending) - Number(due) - Number(held) - Number(again)),
    retryable: Number(again),
    held: Number(held),
    leased: Number(leased),
    more: Number(pending) >= most,
    oldestDueAt: oldest == null ? null : parseTime(oldest),
    paused: paused === 't',
    concurrency: Number(concurrency),
    maxConcurrent: maxConcurrent == null ? null : Number(maxConcurrent),
  }
}

export function trafficFrom(queue: string, [minute, ...counts]: Fields): TrafficRow {
  const [succeeded, failed, cancelled, retried, arrived, started, waitMs, busyMs, ...times] = counts.map(Number)
  return {
    queue,
    minute: parseTime(minute as string),
    succeeded: succeeded as number,
    failed: failed as number,
    cancelled: cancelled as number,
    retried: retried as number,
    arrived: arrived as number,
    started: started as number,
    waitMs: waitMs as number,
    busyMs: busyMs as number,
    waits: times.slice(0, WAITS),
    runTimes: times.slice(WAITS),
  }
}
