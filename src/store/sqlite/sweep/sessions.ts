/**
 * A session lives while it beats. running → quiet | terminate by an operator's command, which a beat never overwrites;
 * any → dead when its time is over, and dead is final: another worker may already have its runs.
 */
import type { WorkerRow } from '../../../model/rows.ts'
import type { Beat, RunKey } from '../../sweeps.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Value } from '../driver.ts'
import { runKeyOf } from './run-key.ts'

const BEAT = `INSERT INTO workflow_worker (id, name, host, pid, runtime, queues, types, concurrency, state, started_at,
    heartbeat_at, expires_at, tenant, build) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency,
    heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
  WHERE state <> 'dead'`
/**
 * A worker with leases of its own has no session that other workers could take over: a dead one can come back. Its
 * progress towards its end is never reset: running, quiet, terminate.
 */
const BEAT_LEASE = `INSERT INTO workflow_worker (id, name, host, pid, runtime, queues, types, concurrency, state, started_at,
    heartbeat_at, expires_at, tenant, build, holds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'lease')
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, host = excluded.host, pid = excluded.pid,
    runtime = excluded.runtime, queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency,
    tenant = excluded.tenant, build = excluded.build, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at,
    started_at = CASE state WHEN 'dead' THEN excluded.started_at ELSE started_at END,
    state = CASE WHEN state = 'terminate' OR (state = 'quiet' AND excluded.state = 'running') THEN state
                 ELSE excluded.state END
  WHERE holds = 'lease'`
const STATE = 'SELECT state FROM workflow_worker WHERE id = ?'
/** A dead session no longer holds anything, even if rows still name it. */
const STOP = `SELECT id FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND session_id = ? AND (cancel_requested_at IS NOT NULL OR ? = 'dead') ORDER BY id`
const OVER = `SELECT 1 FROM workflow_worker WHERE expires_at <= ? AND state <> 'dead' LIMIT 1`
const BURY = `UPDATE workflow_worker SET state = 'dead' WHERE expires_at <= ? AND state <> 'dead' RETURNING id, holds`
/** The leases of a worker end when it dies. */
const END_LEASES = `UPDATE workflow_run SET lease_until = ?1, engine_turn = NOT engine_turn
  WHERE status = 'leased' AND lease_until IS NOT NULL AND lease_until > ?1 AND session_id IS NULL
    AND lease_ms IS NOT NULL AND leased_by = ?2`
const KEEP_ALIVE = `UPDATE workflow_worker SET heartbeat_at = ?1, expires_at = ?1 + (expires_at - heartbeat_at)
  WHERE id = ?2 AND holds = 'lease' AND state <> 'dead' AND heartbeat_at < ?1`

/** Starts from the sessions that hold something (jumping over the leased index), not from all that ever died. */
const LOST = `
  WITH RECURSIVE holder (id) AS (
    SELECT min(session_id) FROM workflow_run INDEXED BY idx_workflow_run_leased
    WHERE status = 'leased' AND session_id IS NOT NULL
    UNION ALL
    SELECT (SELECT min(session_id) FROM workflow_run INDEXED BY idx_workflow_run_leased
            WHERE status = 'leased' AND session_id > holder.id)
    FROM holder WHERE holder.id IS NOT NULL
  )
  SELECT run.id, run.root_id, run.instance_id
  FROM holder
  JOIN workflow_worker worker ON worker.id = holder.id AND worker.state = 'dead'
  JOIN workflow_run run ON run.status = 'leased' AND run.session_id = holder.id
  LIMIT ?`

export function beat(connection: Connection, { worker, ttlMs }: { worker: WorkerRow; ttlMs: number }): Beat {
  const now = readClock(connection)
  connection
    .statement(BEAT)
    .get(...aboutWorker(worker), worker.startedAt, now, now + ttlMs, worker.tenant, worker.build)
  const state = (connection.statement(STATE).get(worker.id)?.[0] ?? 'dead') as WorkerRow['state']
  const stop = connection.statement(STOP).all(worker.id, state)
  return { state, stop: stop.map(([id]) => id as string) }
}

export function beatLease(
  connection: Connection,
  { worker, ttlMs }: { readonly worker: WorkerRow; readonly ttlMs: number },
): WorkerRow['state'] {
  const now = readClock(connection)
  connection.statement(BEAT_LEASE).get(...aboutWorker(worker), now, now, now + ttlMs, worker.tenant, worker.build)
  return (connection.statement(STATE).get(worker.id)?.[0] ?? 'dead') as WorkerRow['state']
}

export function keepAlive(connection: Connection, workerId: string): void {
  connection.statement(KEEP_ALIVE).get(readClock(connection), workerId)
}

function bury(connection: Connection): void {
  const now = readClock(connection)
  for (const [id, holds] of connection.statement(BURY).all(now)) {
    if (holds === 'lease') connection.statement(END_LEASES).get(now, id as string)
  }
}

/** Takes the write lock only if a session has really expired. */
export async function lostRuns(connection: Connection, limit: number): Promise<RunKey[]> {
  const over = await connection.read(() => connection.statement(OVER).get(readClock(connection)) !== undefined)
  if (over) await connection.write(() => bury(connection))
  return connection.read(() => connection.statement(LOST).all(limit).map(runKeyOf))
}

/** The first nine columns: identity and state. */
function aboutWorker(worker: WorkerRow): readonly Value[] {
  const { id, name, host, pid, runtime, queues, types, concurrency, state } = worker
  return [id, name, host, pid, runtime, JSON.stringify(queues), JSON.stringify(types), concurrency, state]
}
