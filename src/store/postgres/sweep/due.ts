/**
 * Finds due work. Each statement reads along one partial index that holds little else; none locks runs (the engine's
 * settle does).
 */
import { GATE, SCHEDULE, selectList } from '../columns.ts'
import { statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'
import { ALONG, WAITING } from '../load/claimable.ts'

const KEYS = 'SELECT r.id, r.root_id, r.instance_id FROM workflow.workflow_run r'
const CLOCK = '(SELECT workflow.clock())'

/** The expression of workflow_run_due: for a pending or held run, whatever comes first. */
const RUN_DUE = `(CASE r.status WHEN 'leased' THEN least(r.lease_until, r.timeout_at)
  WHEN 'pending' THEN least(CASE WHEN r.deleted_at IS NULL THEN r.expires_at END, r.timeout_at) END)`
/** Written so that no index of all leased or all pending runs fits. */
const STATUS = "(r.status || '')"
/** The expression of workflow_instance_due. */
const INSTANCE_DUE = `(CASE WHEN i.more THEN '-infinity' WHEN i.ended_at IS NULL THEN i.deadline_at END)`

/**
 * SKIP LOCKED: a worker whose heartbeat is being written is not dead. Sessions are marked dead at once; workers with
 * leases of their own are returned, so that they are marked together with their leases.
 */
export const BURY_SESSIONS = statement(
  `WITH over AS (
     SELECT d.id, d.holds FROM workflow.workflow_worker d WHERE d.state <> 'dead' AND d.expires_at <= ${CLOCK}
     ORDER BY d.id FOR UPDATE SKIP LOCKED
   ), buried AS (
     UPDATE workflow.workflow_worker w SET state = 'dead' FROM over o WHERE w.id = o.id AND o.holds = 'session'
   )
   SELECT o.id FROM over o WHERE o.holds = 'lease'`,
)

/**
 * One statement: no reader may find the worker dead and its leases still valid. A lease whose row another transaction
 * holds ends at its own time.
 */
export const BURY_HOLDERS = statement(
  `WITH buried AS (
     UPDATE workflow.workflow_worker w SET state = 'dead' WHERE w.id IN (
       SELECT d.id FROM workflow.workflow_worker d
       WHERE d.id = ANY ($1::text[]) AND d.state <> 'dead' AND d.expires_at <= ${CLOCK} ORDER BY d.id FOR UPDATE SKIP LOCKED)
     RETURNING w.id
   )
   UPDATE workflow.workflow_run r SET lease_until = ${CLOCK}, engine_turn = NOT r.engine_turn WHERE r.id = ANY (ARRAY (
     SELECT r.id FROM workflow.workflow_run r
     WHERE ${LEASED} AND r.lease_until > ${CLOCK} AND r.session_id IS NULL AND r.lease_ms IS NOT NULL
       AND r.leased_by IN (SELECT b.id FROM buried b)
     ORDER BY r.id FOR UPDATE SKIP LOCKED))
   RETURNING r.id`,
)

/** Runs of dead sessions, and of sessions whose row no longer exists. */
export const LOST_RUNS = statement(
  `${KEYS} WHERE ${LEASED} AND r.session_id IS NOT NULL
     AND NOT EXISTS (SELECT FROM workflow.workflow_worker w WHERE w.id = r.session_id AND w.state <> 'dead')
   LIMIT $1::int`,
)

export const EXPIRED_LEASES = statement(
  `${KEYS} WHERE ${RUN_DUE} <= ${CLOCK} AND ${STATUS} = 'leased' AND r.lease_until <= ${CLOCK} ORDER BY ${RUN_DUE} LIMIT $1::int`,
)

export const OVERDUE_RUNS = statement(
  `${KEYS} WHERE ${RUN_DUE} <= ${CLOCK} AND (
     (r.timeout_at <= ${CLOCK} AND ${STATUS} IN ('pending', 'leased'))
     OR (r.expires_at <= ${CLOCK} AND ${STATUS} = 'pending' AND r.deleted_at IS NULL))
   ORDER BY ${RUN_DUE} LIMIT $1::int`,
)

export const OVERDUE_INSTANCES = statement(
  `SELECT i.id, i.root_id FROM workflow.workflow_instance i
   WHERE ${INSTANCE_DUE} <= ${CLOCK} AND i.deadline_at <= ${CLOCK} AND i.ended_at IS NULL ORDER BY ${INSTANCE_DUE} LIMIT $1::int`,
)

export const OVERDUE_GATES = statement(
  `SELECT ${selectList(GATE, 'g')} FROM workflow.workflow_gate g
   WHERE g.state = 'open' AND g.due_at <= ${CLOCK} ORDER BY g.due_at LIMIT $1::int`,
)

export const ESCALATING_GATES = statement(
  `SELECT ${selectList(GATE, 'g')} FROM workflow.workflow_gate g
   WHERE g.state = 'open' AND g.escalate_at <= ${CLOCK} ORDER BY g.escalate_at LIMIT $1::int`,
)

export const UNSETTLED_RUNS = statement(
  `${KEYS} WHERE r.settled_at IS NULL AND r.status IN ('succeeded', 'failed', 'cancelled') ORDER BY r.id LIMIT $1::int`,
)

/**
 * Along the index of runs without a session: leases of foreign clients, and of workers over HTTP, which report starts
 * themselves.
 */
export const BEGUN_OUTSIDE = statement(
  `${KEYS} JOIN workflow.workflow_instance i ON i.id = r.instance_id AND i.started_at IS NULL
   WHERE ${LEASED} AND r.lease_until IS NOT NULL AND r.session_id IS NULL AND r.lease_ms IS NULL
     AND r.started_at IS NOT NULL LIMIT $1::int`,
)

export const UNFINISHED_CASCADES = statement(
  `SELECT i.id, i.root_id FROM workflow.workflow_instance i WHERE ${INSTANCE_DUE} = '-infinity' AND i.more
   LIMIT $1::int`,
)

/** A paused one is queued beyond every clock: it keeps no other from beginning. */
const QUEUED = `workflow.workflow_instance i WHERE i.slot_key = l.key AND i.ended_at IS NULL AND i.state = 'queued'
  AND i.queued_at < '9999-01-01 00:00:00+00'`

/** A paused definition begins nothing. */
const OPEN = `NOT EXISTS (SELECT FROM workflow.workflow_pause p WHERE p.kind = 'definition' AND p.key = l.key AND p.state = 'paused')`

/** One probe of the queue's index per workflow limit that has room. */
export const FREE_QUOTAS = statement(
  `SELECT l.key FROM workflow.workflow_limit l
   WHERE l.key LIKE 'workflow:%' AND ${OPEN} AND (l.max_concurrent IS NULL OR l.in_use < l.max_concurrent)
     AND EXISTS (SELECT FROM ${QUEUED})
   ORDER BY l.key LIMIT $1::int`,
)

/** The instances that may begin; whether there is room is checked again under the lock. */
export const NEXT_QUEUED = statement(
  `SELECT n.id, n.net_hash FROM workflow.workflow_limit l CROSS JOIN LATERAL (
     SELECT i.id, i.net_hash, i.queued_at FROM ${QUEUED} AND i.id <> ALL ($3::uuid[]) ORDER BY i.queued_at, i.id
     LIMIT least(greatest(coalesce(l.max_concurrent - l.in_use, $2::int), 0), $2::int)) n
   WHERE l.key = $1 AND ${OPEN} ORDER BY n.queued_at, n.id`,
)

export const DUE_SCHEDULES = statement(
  `SELECT ${selectList(SCHEDULE, 'c')} FROM workflow.workflow_cron c
   WHERE c.enabled AND c.next_at <= ${CLOCK} ORDER BY c.next_at LIMIT $1::int`,
)

/** $1: milliseconds; NULL: everything due, however long ago. */
const AFTER = `(SELECT coalesce(to_timestamp($1::float8 / 1000), '-infinity'))`

/** Jumps through the claim index like load/claimable.ts: the next run_at of each (queue, type, priority). */
export const NEXT_DUE = statement(
  `WITH RECURSIVE line(queue, type, priority) AS (
     (SELECT r.queue, r.type, r.priority ${WAITING} ORDER BY r.queue, r.type USING ~<~, r.priority LIMIT 1)
     UNION ALL
     SELECT n.queue, n.type, n.priority FROM line l CROSS JOIN LATERAL (
       SELECT c.queue, c.type, c.priority FROM (
         (SELECT 1 AS step, r.queue, r.type, r.priority ${WAITING} AND r.queue = l.queue AND r.type = l.type AND r.priority > l.priority
          ORDER BY ${ALONG} LIMIT 1)
         UNION ALL
         (SELECT 2, r.queue, r.type, r.priority ${WAITING} AND r.queue = l.queue AND r.type ~>~ l.type
          ORDER BY r.type USING ~<~, r.priority LIMIT 1)
         UNION ALL
         (SELECT 3, r.queue, r.type, r.priority ${WAITING} AND r.queue > l.queue
          ORDER BY r.queue, r.type USING ~<~, r.priority LIMIT 1)
       ) c ORDER BY c.step LIMIT 1) n
   )
   SELECT least(
     (SELECT min(n.run_at) FROM line l CROSS JOIN LATERAL (
        SELECT r.run_at ${WAITING} AND r.queue = l.queue AND r.type = l.type AND r.priority = l.priority AND r.run_at > ${CLOCK}
        ORDER BY r.run_at LIMIT 1) n),
     (SELECT min(${RUN_DUE}) FROM workflow.workflow_run r WHERE ${RUN_DUE} > ${AFTER}),
     (SELECT min(${INSTANCE_DUE}) FROM workflow.workflow_instance i WHERE ${INSTANCE_DUE} > ${AFTER}),
     (SELECT min(g.due_at) FROM workflow.workflow_gate g WHERE g.state = 'open' AND g.due_at > ${AFTER}),
     (SELECT min(g.escalate_at) FROM workflow.workflow_gate g WHERE g.state = 'open' AND g.escalate_at > ${AFTER}),
     (SELECT min(c.next_at) FROM workflow.workflow_cron c WHERE c.enabled AND c.next_at > ${AFTER}),
     (SELECT min(d.due_at) FROM workflow.workflow_debounce d WHERE d.due_at > ${AFTER}),
     (SELECT min(s.next_run_at) FROM workflow.workflow_schedule s
      WHERE s.enabled AND s.deleted_at IS NULL AND s.next_run_at > ${AFTER}))`,
)
