/**
 * The clock was set back: everything derived from a time that has not come yet would wait until it has. Each statement
 * finds rows by the time at which they were written, or by their own duration, and lets them begin now: a wait of ten
 * seconds is ten seconds again. A corrected row is not found a second time, so any number of processes may do this.
 */
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'

const TURN = 'engine_turn = NOT engine_turn'
const HELD_AT = Date.UTC(9999, 0, 1)

/** Only the newest events are read: an engine does this once, at its start. */
const AHEAD = `SELECT 1 FROM (SELECT created_at FROM workflow_event ORDER BY id DESC LIMIT 1000)
  WHERE created_at > ?1 + 1000 LIMIT 1`

const fromEvent = (name: string): string =>
  `CAST(round((julianday(e.data ->> '$.${name}') - 2440587.5) * 86400000) AS INTEGER)`

const CORRECTIONS: readonly string[] = [
  // The event that wrote its time has it; without one it was due at once. A later time given by the caller is kept.
  `UPDATE workflow_run SET run_at = ?1 + max(run_at - written.at, 0), ${TURN} FROM (
     SELECT w.id AS run, max(e.id), e.created_at AS at FROM workflow_run w JOIN workflow_event e ON e.workflow_id = w.id
     WHERE w.status = 'pending' AND w.run_at > ?1 AND w.run_at < ${HELD_AT} AND e.engine = 1 AND e.created_at > ?1
       AND e.event_type IN ('created', 'retried', 'returned', 'redriven')
       AND iif(e.data ->> '$.run_at' IS NULL, w.run_at BETWEEN e.created_at - 1000 AND e.created_at + 1,
         abs(w.run_at - ${fromEvent('run_at')}) <= 1 AND (e.event_type <> 'created' OR e.data ->> '$.delay_ms' IS NOT NULL))
     GROUP BY w.id) written
   WHERE workflow_run.id = written.run`,
  // An expiry that was counted from its creation. One given by the caller is kept.
  `UPDATE workflow_run SET expires_at = ?1 + e.data ->> '$.expires_in_ms', ${TURN} FROM workflow_event e
   WHERE workflow_run.status = 'pending' AND workflow_run.expires_at > ?1 AND workflow_run.created_at > ?1
     AND e.workflow_id = workflow_run.id AND e.engine = 1 AND e.event_type = 'created'
     AND workflow_run.expires_at = e.created_at + e.data ->> '$.expires_in_ms'`,
  `UPDATE workflow_run SET lease_until = ?1 + lease_ms, ${TURN}
   WHERE status = 'leased' AND lease_ms IS NOT NULL AND lease_until > ?1 + lease_ms`,
  // Leases by plain SQL: from the last renewal, otherwise from the claim.
  `UPDATE workflow_run SET lease_until = ?1 + (lease_until - renewed.at), started_at = min(started_at, ?1), ${TURN} FROM (
     SELECT w.id AS run, max(e.id), e.created_at AS at FROM workflow_run w JOIN workflow_event e ON e.workflow_id = w.id
     WHERE w.status = 'leased' AND w.lease_ms IS NULL AND w.session_id IS NULL AND w.deferred = 0 AND w.lease_until > ?1
       AND e.engine = 1 AND e.event_type = 'heartbeat' AND e.created_at > ?1
       AND abs(w.lease_until - e.created_at - 1000 * (e.data ->> '$.extended_by_seconds')) <= 1000
     GROUP BY w.id) renewed
   WHERE workflow_run.id = renewed.run`,
  `UPDATE workflow_run SET lease_until = ?1 + (lease_until - started_at), started_at = ?1, ${TURN}
   WHERE status = 'leased' AND lease_ms IS NULL AND session_id IS NULL AND deferred = 0
     AND started_at > ?1 AND lease_until > started_at`,
  `UPDATE workflow_run SET timeout_at = ?1 + timeout_ms, ${TURN}
   WHERE (status = 'pending' OR status = 'leased') AND timeout_at > ?1 + timeout_ms`,
  // Later timeouts are counted from these.
  `UPDATE workflow_run SET leased_at = min(leased_at, ?1), started_at = min(started_at, ?1),
     first_started_at = min(first_started_at, ?1), ${TURN}
   WHERE (status = 'leased' AND (leased_at > ?1 OR started_at > ?1 OR first_started_at > ?1))
     OR (status = 'pending' AND first_started_at > ?1)`,
  // The creation time of its run determines how long a key is held.
  `UPDATE workflow_unique SET expires_at = ?1 + (workflow_unique.expires_at - r.created_at) FROM workflow_run r
   WHERE r.id = workflow_unique.run_id AND r.created_at > ?1 AND workflow_unique.expires_at >= r.created_at`,
  `UPDATE workflow_run SET created_at = ?1, ${TURN}
   WHERE created_at > ?1 AND id IN (SELECT u.run_id FROM workflow_unique u WHERE u.expires_at IS NOT NULL)`,
  `UPDATE workflow_worker SET expires_at = ?1 + (expires_at - heartbeat_at), heartbeat_at = ?1 WHERE heartbeat_at > ?1`,
  // The same for all instances of a net, whenever it was set.
  `UPDATE workflow_instance SET deadline_at = ?1 + n.ms FROM (
     SELECT w.hash, p.value AS phase, n.net ->> iif(p.value = 'undo', '$.undoTimeoutMs', '$.timeoutMs') AS ms
     FROM (SELECT DISTINCT net_hash AS hash FROM workflow_instance
           WHERE deadline_at IS NOT NULL AND ended_at IS NULL AND deadline_at > ?1) w
     JOIN workflow_net n ON n.hash = w.hash, json_each('["forward", "undo"]') p) n
   WHERE ended_at IS NULL AND net_hash = n.hash AND iif(workflow_instance.phase = 'undo', 'undo', 'forward') = n.phase
     AND deadline_at > ?1 + n.ms`,
  // An instance waits for a quota behind those that came before, not behind those that come now.
  `UPDATE workflow_instance SET queued_at = ?1
   WHERE slot_key IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND queued_at > ?1 AND queued_at < ${HELD_AT}`,
  // What was parked stands still since now.
  `UPDATE workflow_parked SET run_at = iif(run_at < ${HELD_AT}, ?1 + (run_at - since), run_at),
     expires_at = ?1 + (expires_at - since), timeout_at = ?1 + (timeout_at - since), due_at = ?1 + (due_at - since),
     escalate_at = ?1 + (escalate_at - since), deadline_at = ?1 + (deadline_at - since), since = ?1 WHERE since > ?1`,
  `UPDATE workflow_pause SET paused_at = ?1, resumed_at = min(resumed_at, ?1) WHERE paused_at > ?1`,
  `UPDATE workflow_gate SET due_at = ?1 + (due_at - created_at), escalate_at = ?1 + (escalate_at - created_at),
     created_at = ?1 WHERE state = 'open' AND created_at > ?1`,
  `UPDATE workflow_command SET due_at = ?1 + resend_ms WHERE due_at > ?1 + resend_ms`,
  // A first attempt is due at once; a later one waits after the last.
  `UPDATE workflow_webhook_delivery SET next_at = ?1
   WHERE state = 'pending' AND attempts = 0 AND next_at > ?1`,
  `UPDATE workflow_webhook_delivery SET next_at = ?1 + max(workflow_webhook_delivery.next_at - w.last_at, 0)
   FROM workflow_webhook w
   WHERE w.id = workflow_webhook_delivery.webhook_id AND workflow_webhook_delivery.state = 'pending' AND w.last_at > ?1
     AND workflow_webhook_delivery.next_at > ?1`,
  `UPDATE workflow_webhook SET lease_until = min(lease_until, ?1), last_at = min(last_at, ?1)
   WHERE last_at > ?1 OR lease_until > ?1 + 60000`,
  `UPDATE workflow_webhook SET old_secret_until = ?1 + (old_secret_until - updated_at), updated_at = ?1
   WHERE updated_at > ?1 AND old_secret_until > updated_at`,
  `UPDATE workflow_key SET expires_at = ?1 + (expires_at - created_at), created_at = ?1
   WHERE created_at > ?1 AND expires_at IS NOT NULL`,
]

export async function clockWentBack(connection: Connection, { known }: { readonly known: boolean }): Promise<boolean> {
  const ahead = await connection.read(() => connection.statement(AHEAD).get(readClock(connection)) !== undefined)
  if (!known && !ahead) return false
  await connection.write(() => {
    const now = readClock(connection)
    for (const sql of CORRECTIONS) connection.statement(sql).get(now)
  })
  return true
}
