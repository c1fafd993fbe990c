/**
 * The clock was set back: what was derived from a time that has not come yet would wait until it has. Each statement finds
 * rows by the time at which they were written, or by their own length, and lets them begin now: a wait of ten seconds is
 * ten seconds again. What was corrected is not found a second time, so any number of processes may do this.
 */
import { ask, askOne } from '../ask.ts'
import type { Lanes } from '../lanes.ts'
import { type Statement, statement } from '../statement.ts'

const NOW = '(SELECT workflow.clock())'
const TURN = 'engine_turn = NOT r.engine_turn'
const ms = (column: string): string => `make_interval(secs => ${column} / 1000.0)`

/** Only the newest events are looked at: an engine that starts asks this once. */
const AHEAD = statement(
  `SELECT FROM (SELECT e.created_at FROM workflow.workflow_event e ORDER BY e.id DESC LIMIT 1000) e
   WHERE e.created_at > ${NOW} + interval '1 second' LIMIT 1`,
)

const CORRECTIONS: readonly Statement[] = [
  // Retries, returns and what is due at once. A later time that was named when the run was put in stays.
  statement(
    `UPDATE workflow.workflow_run r SET run_at = ${NOW} + (p.run_at - p.written_at), ${TURN}
     FROM (SELECT w.id, w.run_at, e.created_at AS written_at FROM workflow.workflow_run w CROSS JOIN LATERAL (
             SELECT e.created_at, e.event_type FROM workflow.workflow_event e
             WHERE e.workflow_id = w.id AND e.engine AND e.event_type IN ('created', 'retried', 'returned', 'redriven')
             ORDER BY e.id DESC LIMIT 1) e
           WHERE w.status = 'pending' AND w.run_at > ${NOW} AND w.run_at < '9999-01-01 00:00:00+00' AND e.created_at > ${NOW}
             AND w.run_at >= e.created_at - interval '1 second'
             AND (e.event_type <> 'created' OR w.run_at <= e.created_at + interval '1 millisecond')
           ORDER BY w.id FOR UPDATE OF w) p
     WHERE r.id = p.id`,
  ),
  statement(
    `UPDATE workflow.workflow_run r SET lease_until = ${NOW} + ${ms('r.lease_ms')}, ${TURN}
     WHERE r.status = 'leased' AND r.lease_ms IS NOT NULL AND r.lease_until > ${NOW} + ${ms('r.lease_ms')}`,
  ),
  statement(
    `UPDATE workflow.workflow_run r SET lease_until = ${NOW} + (r.lease_until - r.started_at), started_at = ${NOW}, ${TURN}
     WHERE r.status = 'leased' AND r.lease_ms IS NULL AND r.session_id IS NULL AND NOT r.deferred
       AND r.started_at > ${NOW} AND r.lease_until > r.started_at`,
  ),
  statement(
    `UPDATE workflow.workflow_run r SET timeout_at = ${NOW} + ${ms('r.timeout_ms')}, ${TURN}
     WHERE r.status IN ('pending', 'leased') AND r.timeout_at > ${NOW} + ${ms('r.timeout_ms')}`,
  ),
  // The time of creation of its run tells how long a key is held.
  statement(
    `UPDATE workflow.workflow_unique u SET expires_at = ${NOW} + (u.expires_at - r.created_at)
     FROM workflow.workflow_run r WHERE r.id = u.run_id AND r.created_at > ${NOW} AND u.expires_at >= r.created_at`,
  ),
  statement(
    `UPDATE workflow.workflow_worker w SET expires_at = ${NOW} + (w.expires_at - w.heartbeat_at), heartbeat_at = ${NOW}
     WHERE w.heartbeat_at > ${NOW}`,
  ),
  statement(
    `UPDATE workflow.workflow_instance i SET deadline_at = ${NOW} + (i.deadline_at - i.created_at), created_at = ${NOW}
     WHERE i.ended_at IS NULL AND i.created_at > ${NOW} AND i.deadline_at > i.created_at`,
  ),
  statement(
    `UPDATE workflow.workflow_gate g SET due_at = ${NOW} + (g.due_at - g.created_at),
       escalate_at = ${NOW} + (g.escalate_at - g.created_at), created_at = ${NOW}
     WHERE g.state = 'open' AND g.created_at > ${NOW}`,
  ),
  statement(
    `UPDATE workflow.workflow_command c SET due_at = ${NOW} + ${ms('c.resend_ms')}
     WHERE c.due_at > ${NOW} + ${ms('c.resend_ms')}`,
  ),
  statement(
    `UPDATE workflow.workflow_webhook_delivery d SET next_at = ${NOW} + (d.next_at - w.last_at)
     FROM workflow.workflow_webhook w
     WHERE w.id = d.webhook_id AND d.state = 'pending' AND w.last_at > ${NOW} AND d.next_at >= w.last_at`,
  ),
  statement(
    `UPDATE workflow.workflow_webhook w SET lease_until = least(w.lease_until, ${NOW}), last_at = least(w.last_at, ${NOW})
     WHERE w.last_at > ${NOW} OR w.lease_until > ${NOW} + interval '1 minute'`,
  ),
]

export async function clockWentBack(lanes: Lanes, { known }: { readonly known: boolean }): Promise<boolean> {
  if (!known && (await askOne(lanes, { statement: AHEAD, row: () => true })) === null) return false
  for (const correction of CORRECTIONS) await ask(lanes, { statement: correction, row: () => null })
  return true
}
