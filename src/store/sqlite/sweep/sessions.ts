/**
 * A session lives while it beats. running → quiet | terminate by an operator's word, which a beat never overwrites;
 * any → dead when its time is over, and dead stays dead: its runs may already be someone else's.
 */
import type { WorkerRow } from '../../rows.ts'
import type { Beat, RunKey } from '../../store.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import { runKeyOf } from './run-key.ts'

const BEAT = `INSERT INTO workflow_worker (id, name, host, pid, runtime, queues, types, concurrency, state, started_at,
    heartbeat_at, expires_at, tenant) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET queues = excluded.queues, types = excluded.types, concurrency = excluded.concurrency,
    heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at
  WHERE state <> 'dead'`
const STATE = 'SELECT state FROM workflow_worker WHERE id = ?'
/** A dead session holds nothing any more, whatever the rows still say. */
const STOP = `SELECT id FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND session_id = ? AND (cancel_requested_at IS NOT NULL OR ? = 'dead') ORDER BY id`
const OVER = `SELECT 1 FROM workflow_worker WHERE expires_at <= ? AND state <> 'dead' LIMIT 1`
const BURY = `UPDATE workflow_worker SET state = 'dead' WHERE expires_at <= ? AND state <> 'dead'`
/** From the sessions that hold something (jumping over the leased index), not from all that ever died. */
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
    .get(
      worker.id,
      worker.name,
      worker.host,
      worker.pid,
      worker.runtime,
      JSON.stringify(worker.queues),
      JSON.stringify(worker.types),
      worker.concurrency,
      worker.state,
      worker.startedAt,
      now,
      now + ttlMs,
      worker.tenant,
    )
  const state = (connection.statement(STATE).get(worker.id)?.[0] ?? 'dead') as WorkerRow['state']
  const stop = connection.statement(STOP).all(worker.id, state)
  return { state, stop: stop.map(([id]) => id as string) }
}

/** Takes the write lock only if a session has really run out. */
export async function lostRuns(connection: Connection, limit: number): Promise<RunKey[]> {
  const over = await connection.read(() => connection.statement(OVER).get(readClock(connection)) !== undefined)
  if (over) await connection.write(() => connection.statement(BURY).get(readClock(connection)))
  return connection.read(() => connection.statement(LOST).all(limit).map(runKeyOf))
}
