/**
 * The clock was set back: what was derived from a time that has not come yet would wait until it has. Each statement finds
 * rows by the time at which they were written, or by their own length, and lets them begin now: a wait of ten seconds is
 * ten seconds again. What was corrected is not found a second time, so any number of processes may do this.
 */
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'

const TURN = 'engine_turn = NOT engine_turn'
const HELD_AT = Date.UTC(9999, 0, 1)

/** Only the newest events are looked at: an engine that starts asks this once. */
const AHEAD = `SELECT 1 FROM (SELECT created_at FROM workflow_event ORDER BY id DESC LIMIT 1000)
  WHERE created_at > ?1 + 1000 LIMIT 1`

const CORRECTIONS: readonly string[] = [
  // Retries, returns and what is due at once. A later time that was named when the run was put in stays.
  `UPDATE workflow_run SET run_at = ?1 + (run_at - e.written_at), ${TURN} FROM (
     SELECT w.id AS run, e.created_at AS written_at, e.event_type AS word FROM workflow_run w
     JOIN workflow_event e ON e.id = (SELECT max(l.id) FROM workflow_event l WHERE l.workflow_id = w.id AND l.engine = 1
       AND l.event_type IN ('created', 'retried', 'returned', 'redriven'))
     WHERE w.status = 'pending' AND w.run_at > ?1 AND w.run_at < ${HELD_AT} AND e.created_at > ?1
       AND w.run_at >= e.created_at - 1000 AND (e.event_type <> 'created' OR w.run_at <= e.created_at + 1)) e
   WHERE workflow_run.id = e.run`,
  `UPDATE workflow_run SET lease_until = ?1 + lease_ms, ${TURN}
   WHERE status = 'leased' AND lease_ms IS NOT NULL AND lease_until > ?1 + lease_ms`,
  `UPDATE workflow_run SET lease_until = ?1 + (lease_until - started_at), started_at = ?1, ${TURN}
   WHERE status = 'leased' AND lease_ms IS NULL AND session_id IS NULL AND deferred = 0
     AND started_at > ?1 AND lease_until > started_at`,
  `UPDATE workflow_run SET timeout_at = ?1 + timeout_ms, ${TURN}
   WHERE (status = 'pending' OR status = 'leased') AND timeout_at > ?1 + timeout_ms`,
  // The time of creation of its run tells how long a key is held.
  `UPDATE workflow_unique SET expires_at = ?1 + (workflow_unique.expires_at - r.created_at) FROM workflow_run r
   WHERE r.id = workflow_unique.run_id AND r.created_at > ?1 AND workflow_unique.expires_at >= r.created_at`,
  `UPDATE workflow_worker SET expires_at = ?1 + (expires_at - heartbeat_at), heartbeat_at = ?1 WHERE heartbeat_at > ?1`,
  `UPDATE workflow_instance SET deadline_at = ?1 + (deadline_at - created_at), created_at = ?1
   WHERE ended_at IS NULL AND created_at > ?1 AND deadline_at > created_at`,
  `UPDATE workflow_gate SET due_at = ?1 + (due_at - created_at), escalate_at = ?1 + (escalate_at - created_at),
     created_at = ?1 WHERE state = 'open' AND created_at > ?1`,
  `UPDATE workflow_command SET due_at = ?1 + resend_ms WHERE due_at > ?1 + resend_ms`,
  `UPDATE workflow_webhook_delivery SET next_at = ?1 + (workflow_webhook_delivery.next_at - w.last_at) FROM workflow_webhook w
   WHERE w.id = workflow_webhook_delivery.webhook_id AND workflow_webhook_delivery.state = 'pending' AND w.last_at > ?1
     AND workflow_webhook_delivery.next_at >= w.last_at`,
  `UPDATE workflow_webhook SET lease_until = min(lease_until, ?1), last_at = min(last_at, ?1)
   WHERE last_at > ?1 OR lease_until > ?1 + 60000`,
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
