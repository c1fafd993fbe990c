/** The heartbeat of a worker, and the state and signals it receives in return. */

import { statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'

/**
 * The stored state is kept: the worker's next beat does not undo an operator's command, and a dead session stays dead
 * (its runs are being handed to other workers), so its worker must begin a new one.
 */
export const BEAT = statement(
  `WITH clock AS (SELECT workflow.clock() AS at),
   beaten AS (
     INSERT INTO workflow.workflow_worker AS w
       (id, name, host, pid, runtime, queues, types, concurrency, state, started_at, tenant, heartbeat_at, expires_at, build)
     SELECT $1::text, $2::text, $3::text, $4::int, $5::text, $6::json, $7::json, $8::int, $9::text, to_timestamp($10::float8 / 1000),
            $11::text, c.at, c.at + make_interval(secs => $12::float8 / 1000), $13::text
     FROM clock c
     ON CONFLICT (id) DO UPDATE SET
       queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency,
       heartbeat_at = CASE w.state WHEN 'dead' THEN w.heartbeat_at ELSE excluded.heartbeat_at END,
       expires_at = CASE w.state WHEN 'dead' THEN w.expires_at ELSE excluded.expires_at END
     RETURNING w.state
   )
   SELECT b.state, coalesce((
     SELECT json_agg(r.id ORDER BY r.id) FROM workflow.workflow_run r
     WHERE r.session_id = $1::text AND ${LEASED} AND (r.cancel_requested_at IS NOT NULL OR b.state = 'dead')), '[]'::json)
   FROM beaten b`,
)

/**
 * A worker with leases of its own has no session that other workers could take over: a dead one can come back. Its
 * progress towards its end is never reset: running, quiet, terminate.
 */
export const BEAT_LEASE = statement(
  `INSERT INTO workflow.workflow_worker AS w
     (id, name, host, pid, runtime, queues, types, concurrency, state, started_at, tenant, heartbeat_at, expires_at, holds, build)
   SELECT $1::text, $2::text, $3::text, $4::int, $5::text, $6::json, $7::json, $8::int, $9::text, c.at, $10::text,
          c.at, c.at + make_interval(secs => $11::float8 / 1000), 'lease', $12::text
   FROM (SELECT workflow.clock() AS at) c
   ON CONFLICT (id) DO UPDATE SET
     name = excluded.name, host = excluded.host, pid = excluded.pid, runtime = excluded.runtime,
     queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency, tenant = excluded.tenant,
     build = excluded.build,
     heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at,
     started_at = CASE w.state WHEN 'dead' THEN excluded.started_at ELSE w.started_at END,
     state = CASE WHEN w.state = 'terminate' OR (w.state = 'quiet' AND excluded.state = 'running') THEN w.state
                  ELSE excluded.state END
   WHERE w.holds = 'lease'
   RETURNING w.state`,
)

export const KEEP_ALIVE = statement(
  `UPDATE workflow.workflow_worker w SET heartbeat_at = c.at, expires_at = c.at + (w.expires_at - w.heartbeat_at)
   FROM (SELECT workflow.clock() AS at) c
   WHERE w.id = $1::text AND w.holds = 'lease' AND w.state <> 'dead' AND w.heartbeat_at < c.at`,
)
