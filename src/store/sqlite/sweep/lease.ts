/**
 * Reports by the holder of a run while it works. The epoch is the fence: a holder that lost its lease changes nothing.
 */
import type { Sweeps } from '../../sweeps.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'

const HELD = `SELECT leased_at, started_at FROM workflow_run WHERE id = ? AND epoch = ? AND status = 'leased'`
/** One timeout per start, or one from the first start over all attempts. */
const STARTED = `UPDATE workflow_run SET started_at = ?1, first_started_at = coalesce(first_started_at, ?1),
    timeout_at = CASE timeout_per WHEN 'node' THEN coalesce(first_started_at, ?1) ELSE ?1 END + timeout_ms,
    updated_at = ?2, engine_turn = NOT engine_turn WHERE id = ?3`
const HEARTBEAT = `INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  VALUES (?, 'heartbeat', json_object('extended_by_seconds', CAST(? AS INTEGER)), ?, ?, ?, ?, ?, 1)`
const OWN_LEASE = `SELECT lease_ms, instance_id, node, leased_by, tenant FROM workflow_run
  WHERE id = ?1 AND status = 'leased' AND session_id IS NULL AND lease_ms IS NOT NULL AND lease_until > ?2
    AND (?3 IS NULL OR leased_by = ?3) AND (?4 IS NULL OR epoch = ?4)`
const RENEW = `UPDATE workflow_run SET lease_ms = ?1, lease_until = ?2 + ?1, updated_at = ?2,
    engine_turn = NOT engine_turn WHERE id = ?3`
const CHECKPOINT = `INSERT INTO workflow_checkpoint (run_id, state, sequence, updated_at) VALUES (?, ?, 1, ?)
  ON CONFLICT (run_id) DO UPDATE SET state = excluded.state, sequence = sequence + 1, updated_at = excluded.updated_at
  RETURNING sequence`
const PROGRESS = `INSERT INTO workflow_checkpoint (run_id, progress, progress_epoch, updated_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (run_id) DO UPDATE SET
    progress = excluded.progress, progress_epoch = excluded.progress_epoch, updated_at = excluded.updated_at`

/**
 * The first report of a start counts. A worker's clock that is behind must not put the start before the
 * lease, nor one that is ahead into the future.
 */
export function started(
  connection: Connection,
  runs: readonly { readonly id: string; readonly epoch: number; readonly at: number }[],
): string[] {
  const now = readClock(connection)
  const held: string[] = []
  for (const { id, epoch, at } of runs) {
    const cells = connection.statement(HELD).get(id, epoch)
    if (cells === undefined) continue
    held.push(id)
    const [leasedAt, startedAt] = cells as [number | null, number | null]
    if (startedAt !== null && startedAt >= (leasedAt ?? 0)) continue
    connection.statement(STARTED).get(Math.min(Math.max(at, leasedAt ?? 0), now), now, id)
  }
  return held
}

export function extendLeases(connection: Connection, p: Parameters<Sweeps['extendLeases']>[0]): string[] {
  const now = readClock(connection)
  const renewed = new Set<string>()
  for (const [at, id] of p.runIds.entries()) {
    const cells = connection.statement(OWN_LEASE).get(id, now, p.holder, p.epochs?.[at] ?? null)
    if (cells === undefined || renewed.has(id)) continue
    const [length, ...about] = cells
    const leaseMs = p.leaseMs ?? (length as number)
    connection.statement(RENEW).get(leaseMs, now, id)
    connection.statement(HEARTBEAT).get(id, Math.round(leaseMs / 1000), now, ...about)
    renewed.add(id)
  }
  return [...renewed]
}

export function checkpoint(
  connection: Connection,
  { runId, epoch, state }: { readonly runId: string; readonly epoch: number; readonly state: string },
): number | null {
  if (connection.statement(HELD).get(runId, epoch) === undefined) return null
  return connection.statement(CHECKPOINT).get(runId, state, readClock(connection))?.[0] as number
}

export function progress(
  connection: Connection,
  { runId, epoch, value }: { readonly runId: string; readonly epoch: number; readonly value: string },
): boolean {
  if (connection.statement(HELD).get(runId, epoch) === undefined) return false
  connection.statement(PROGRESS).get(runId, value, epoch, readClock(connection))
  return true
}
