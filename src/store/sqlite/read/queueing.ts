/** Queues as operators see them. Nothing here reads more than a bounded number of entries of an index. */
import { NO_TRAFFIC, type QueueFront, type QueueingQueries, type TrafficRow } from '../../../model/queries/queueing.ts'
import { HELD_AT } from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import { WAITING } from '../load/claimable.ts'
import type { Reading } from '../long-reads.ts'
import { COUNTS } from '../sweep/totals.ts'
import { kindsOn } from './kinds.ts'

const PENDING = `SELECT count(*), total(run_at <= ?2), total(run_at >= ${HELD_AT})
  FROM (SELECT run_at ${WAITING} AND queue = ?1 ORDER BY type, priority, run_at LIMIT ?3)`
const AGAIN = `SELECT count(*) FROM (SELECT 1 FROM workflow_run INDEXED BY idx_workflow_run_again
  WHERE status = 'pending' AND attempt > 0 AND deleted_at IS NULL AND run_at > ?2 AND run_at < ${HELD_AT} AND queue = ?1 LIMIT ?3)`
const LEASED = `SELECT count(*) FROM (SELECT 1 FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND deleted_at IS NULL AND queue = ?1 LIMIT ?2)`
/** The oldest of the first runs of each type and priority, between which it jumps as a claim does. */
const OLDEST = `WITH RECURSIVE
  kind(type) AS (
    SELECT (SELECT type ${WAITING} AND queue = ?1 ORDER BY type LIMIT 1)
    UNION ALL
    SELECT (SELECT type ${WAITING} AND queue = ?1 AND type > k.type ORDER BY type LIMIT 1)
    FROM kind k WHERE k.type IS NOT NULL),
  line(type, priority) AS (
    SELECT k.type, (SELECT priority ${WAITING} AND queue = ?1 AND type = k.type ORDER BY priority LIMIT 1)
    FROM kind k WHERE k.type IS NOT NULL
    UNION ALL
    SELECT l.type, (SELECT priority ${WAITING} AND queue = ?1 AND type = l.type AND priority > l.priority ORDER BY priority LIMIT 1)
    FROM line l WHERE l.priority IS NOT NULL)
  SELECT min((SELECT run_at ${WAITING} AND queue = ?1 AND type = l.type AND priority = l.priority ORDER BY run_at LIMIT 1))
  FROM line l WHERE l.priority IS NOT NULL`
const RULES = `SELECT coalesce((SELECT paused FROM workflow_queue WHERE name = ?1), 0),
  (SELECT coalesce(sum(concurrency), 0) FROM workflow_worker WHERE state = 'running' AND expires_at > ?2
     AND (queues = '[]' OR ?1 IN (SELECT value FROM json_each(queues)))),
  (SELECT max_concurrent FROM workflow_limit WHERE key = 'queue:' || ?1)`
/** Runs in flight are few; of pending ones it jumps from queue to queue. */
const NAMES = `WITH RECURSIVE waiting(name) AS (
    SELECT (SELECT queue ${WAITING} ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT queue ${WAITING} AND queue > w.name ORDER BY queue LIMIT 1) FROM waiting w WHERE w.name IS NOT NULL)
  SELECT name FROM waiting WHERE name IS NOT NULL UNION SELECT name FROM workflow_queue
  UNION SELECT queue FROM workflow_run INDEXED BY idx_workflow_run_leased WHERE status = 'leased' AND deleted_at IS NULL
  ORDER BY 1 LIMIT ?`
const TRAFFIC = `SELECT minute, ${COUNTS.join(', ')} FROM workflow_total
  WHERE queue = ? AND minute >= ? AND minute > 0 ORDER BY minute`
const WAITS = NO_TRAFFIC.waits.length

export function queueingOn(connection: Connection): QueueingQueries {
  return {
    kinds: kindsOn(connection),
    front: (params) => connection.readLong((on) => frontOf(on, params)),
    names: ({ limit }) =>
      connection.readLong((on) =>
        on
          .statement(NAMES)
          .all(limit)
          .map(([name]) => name as string),
      ),
    traffic: ({ queue, since }) =>
      connection.readLong((on) =>
        on
          .statement(TRAFFIC)
          .all(queue, since)
          .map((cells) => trafficOf(queue, cells as readonly number[])),
      ),
  }
}

function frontOf(on: Reading, { queue, most }: { readonly queue: string; readonly most: number }): QueueFront {
  const now = readClock(on)
  const numbers = (sql: string, ...values: (string | number)[]): readonly (number | null)[] =>
    (on.statement(sql).get(...values) ?? []) as readonly (number | null)[]
  const [pending, due, held] = numbers(PENDING, queue, now, most) as readonly number[]
  const [again] = numbers(AGAIN, queue, now, most) as readonly number[]
  const [leased] = numbers(LEASED, queue, most) as readonly number[]
  const [oldest = null] = numbers(OLDEST, queue)
  const [paused, concurrency, maxConcurrent = null] = numbers(RULES, queue, now)
  return {
    available: due as number,
    scheduled: Math.max(0, (pending as number) - (due as number) - (held as number) - (again as number)),
    retryable: again as number,
    held: held as number,
    leased: leased as number,
    more: (pending as number) >= most,
    oldestDueAt: oldest !== null && oldest <= now ? oldest : null,
    paused: paused === 1,
    concurrency: concurrency as number,
    maxConcurrent,
  }
}

export function trafficOf(queue: string, [minute, ...counts]: readonly number[]): TrafficRow {
  const [succeeded, failed, cancelled, retried, arrived, started, waitMs, busyMs, ...times] = counts
  return {
    queue,
    minute: minute as number,
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
