/** Small writes by the holder of a run under an epoch. */
import { statement } from '../connection/statement.ts'

/**
 * Locked in the order of ids, as everywhere. A row that another transaction holds delays no other row: it is returned
 * as locked (true) and retried, since a start that is left out would count as "never started" later. The first report
 * of a start counts. A worker's clock that is behind must not put the start before the lease, nor one that is ahead
 * into the future. Timeouts are measured from here: per attempt from this start, per node from the first one.
 */
export const STARTED = statement(
  `WITH held AS MATERIALIZED (
     SELECT r.id, least(greatest(to_timestamp(x.at / 1000), r.leased_at), workflow.clock()) AS at,
            r.started_at >= coalesce(r.leased_at, '-infinity') AS known
     FROM unnest($1::uuid[], $2::int4[], $3::float8[]) x(id, epoch, at)
     JOIN workflow.workflow_run r ON r.id = x.id AND r.epoch = x.epoch AND r.status = 'leased'
     ORDER BY r.id FOR UPDATE OF r SKIP LOCKED
   ), marked AS (
   UPDATE workflow.workflow_run r SET
     started_at = h.at,
     first_started_at = coalesce(r.first_started_at, h.at),
     timeout_at = CASE WHEN r.timeout_per = 'node' THEN coalesce(r.first_started_at, h.at) ELSE h.at END
                  + make_interval(secs => r.timeout_ms / 1000.0),
     updated_at = now(), engine_turn = NOT r.engine_turn
   FROM held h WHERE r.id = h.id AND h.known IS NOT TRUE
   )
   SELECT r.id, r.id NOT IN (SELECT h.id FROM held h) FROM unnest($1::uuid[], $2::int4[]) x(id, epoch)
   JOIN workflow.workflow_run r ON r.id = x.id AND r.epoch = x.epoch AND r.status = 'leased'`,
)

const HELD = "r.id = $1::uuid AND r.epoch = $2::int AND r.status = 'leased'"

const RENEWABLE = `r.id = ANY ($1::uuid[]) AND r.status = 'leased' AND r.session_id IS NULL AND r.lease_ms IS NOT NULL
       AND r.lease_until > (SELECT at FROM clock) AND ($2::text IS NULL OR r.leased_by = $2::text)
       AND ($4::int4[] IS NULL OR (r.id, r.epoch) IN (SELECT x.id, x.epoch FROM unnest($1::uuid[], $4::int4[]) x(id, epoch)))`

/**
 * Locked in the order of ids, as everywhere. A row that another transaction holds delays no other: it is returned
 * (true), since its holder still has it.
 */
export const EXTEND_LEASES = statement(
  `WITH clock AS (SELECT workflow.clock() AS at),
   held AS MATERIALIZED (
     SELECT r.id FROM workflow.workflow_run r WHERE ${RENEWABLE} ORDER BY r.id FOR UPDATE SKIP LOCKED
   ), extended AS (
     UPDATE workflow.workflow_run r SET
       lease_ms = coalesce($3::bigint, r.lease_ms),
       lease_until = (SELECT at FROM clock) + make_interval(secs => coalesce($3::bigint, r.lease_ms) / 1000.0),
       updated_at = now(), engine_turn = NOT r.engine_turn
     FROM held h WHERE r.id = h.id
     RETURNING r.id, r.instance_id, r.node, r.leased_by, r.tenant, r.lease_ms
   ), recorded AS (
     INSERT INTO workflow.workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
     SELECT e.id, 'heartbeat', jsonb_build_object('extended_by_seconds', round(e.lease_ms / 1000.0)),
       (SELECT at FROM clock), e.instance_id, e.node, e.leased_by, e.tenant, true
     FROM extended e
   )
   SELECT r.id, r.id NOT IN (SELECT h.id FROM held h) FROM workflow.workflow_run r WHERE ${RENEWABLE}`,
)

export const CHECKPOINT = statement(
  `INSERT INTO workflow.workflow_checkpoint AS c (run_id, state, sequence, updated_at)
   SELECT r.id, $3::json, 1, workflow.clock() FROM workflow.workflow_run r WHERE ${HELD}
   ON CONFLICT (run_id) DO UPDATE SET state = excluded.state, sequence = c.sequence + 1, updated_at = excluded.updated_at
   RETURNING c.sequence`,
)

export const PROGRESS = statement(
  `INSERT INTO workflow.workflow_checkpoint AS c (run_id, progress, progress_epoch, updated_at)
   SELECT r.id, $3::json, r.epoch, workflow.clock() FROM workflow.workflow_run r WHERE ${HELD}
   ON CONFLICT (run_id) DO UPDATE SET
     progress = excluded.progress, progress_epoch = excluded.progress_epoch, updated_at = excluded.updated_at
   RETURNING c.run_id`,
)
