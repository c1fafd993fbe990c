/**
 * The clock was set back: everything derived from a time that has not come yet would wait until it has. Each statement
 * finds rows by the time at which they were written, or by their own duration, and lets them begin now: a wait of ten
 * seconds is ten seconds again. A corrected row is not found a second time, so any number of processes may do this.
 *
 * Rows that other transactions hold are not waited for: as long as there are some, the correction is repeated.
 */
import { StoreLockedError } from '../../../kernel/store-errors.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Statement, statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'

const NOW = '(SELECT workflow.clock())'
const TURN = 'engine_turn = NOT r.engine_turn'
const ms = (column: string): string => `make_interval(secs => ${column} / 1000.0)`

/** Only the newest events are read: an engine does this once, at its start. */
const AHEAD = statement(
  `SELECT FROM (SELECT e.created_at FROM workflow.workflow_event e ORDER BY e.id DESC LIMIT 1000) e
   WHERE e.created_at > ${NOW} + interval '1 second' LIMIT 1`,
)

/** In `set` and `where` the row is r; `with` joins others, and `columns` lists the columns of p that `set` needs. */
interface Correction {
  readonly table: string
  readonly key?: string
  readonly set: string
  readonly with?: string
  readonly columns?: string
  readonly where: string
  readonly lock?: string
  /** A further statement, which reads the new rows as `moved`. */
  readonly also?: string
}

/** The newest event of a run that was written ahead and whose value the run still has. */
const event = (types: string, value: string): string => `CROSS JOIN LATERAL (
  SELECT e.created_at, e.data FROM workflow.workflow_event e
  WHERE e.workflow_id = r.id AND e.engine AND e.event_type IN (${types}) AND e.created_at > ${NOW}
    AND CASE WHEN e.engine THEN ${value} END
  ORDER BY e.id DESC LIMIT 1) e`
const far = (a: string, b: string): string => `abs(extract(epoch FROM ${a} - ${b}))`
const FOREIGN = `${LEASED} AND r.lease_ms IS NULL AND r.session_id IS NULL AND NOT r.deferred`

const CORRECTIONS: readonly Correction[] = [
  // The event that wrote its time has it; without one it was due at once. A later time given by the caller is kept.
  {
    table: 'workflow_run',
    set: `run_at = ${NOW} + greatest(r.run_at - p.at, interval '0'), ${TURN}`,
    with: event(
      "'created', 'retried', 'returned', 'redriven'",
      `CASE WHEN e.data ->> 'run_at' IS NULL
         THEN r.run_at BETWEEN e.created_at - interval '1 second' AND e.created_at + interval '1 millisecond'
         ELSE ${far('r.run_at', "(e.data ->> 'run_at')::timestamptz")} < 0.002
           AND (e.event_type <> 'created' OR e.data ->> 'delay_ms' IS NOT NULL) END`,
    ),
    columns: 'e.created_at AS at',
    where: `r.status = 'pending' AND r.run_at > ${NOW} AND r.run_at < '9999-01-01 00:00:00+00'`,
  },
  // An expiry that was counted from its creation. One given by the caller is kept.
  {
    table: 'workflow_run',
    set: `expires_at = ${NOW} + ${ms('p.length')}, ${TURN}`,
    with: event(
      "'created'",
      `${far('r.expires_at', `(e.created_at + ${ms("(e.data ->> 'expires_in_ms')::bigint")})`)} < 0.002`,
    ),
    columns: "(e.data ->> 'expires_in_ms')::bigint AS length",
    where: `r.status = 'pending' AND r.expires_at > ${NOW} AND r.created_at > ${NOW}`,
  },
  {
    table: 'workflow_run',
    set: `lease_until = ${NOW} + ${ms('r.lease_ms')}, ${TURN}`,
    where: `${LEASED} AND r.lease_ms IS NOT NULL AND r.lease_until > ${NOW} + ${ms('r.lease_ms')}`,
  },
  // Leases by plain SQL: from the last renewal, otherwise from the claim.
  {
    table: 'workflow_run',
    set: `lease_until = ${NOW} + (r.lease_until - p.at), started_at = least(r.started_at, ${NOW}), ${TURN}`,
    with: event(
      "'heartbeat'",
      `${far('r.lease_until', `(e.created_at + make_interval(secs => (e.data ->> 'extended_by_seconds')::float8))`)} <= 1`,
    ),
    columns: 'e.created_at AS at',
    where: `${FOREIGN} AND r.lease_until > ${NOW}`,
  },
  {
    table: 'workflow_run',
    set: `lease_until = ${NOW} + (r.lease_until - r.started_at), started_at = ${NOW}, ${TURN}`,
    where: `${FOREIGN} AND r.started_at > ${NOW} AND r.lease_until > r.started_at`,
  },
  {
    table: 'workflow_run',
    set: `timeout_at = ${NOW} + ${ms('r.timeout_ms')}, ${TURN}`,
    where: `r.status IN ('pending', 'leased') AND r.timeout_at > ${NOW} + ${ms('r.timeout_ms')}`,
  },
  // Later timeouts are counted from these.
  {
    table: 'workflow_run',
    set: `leased_at = CASE WHEN r.leased_at IS NOT NULL THEN least(r.leased_at, ${NOW}) END,
          started_at = CASE WHEN r.started_at IS NOT NULL THEN least(r.started_at, ${NOW}) END,
          first_started_at = CASE WHEN r.first_started_at IS NOT NULL THEN least(r.first_started_at, ${NOW}) END, ${TURN}`,
    where: `((r.status = 'leased' AND (r.leased_at > ${NOW} OR r.started_at > ${NOW} OR r.first_started_at > ${NOW}))
             OR (r.status = 'pending' AND r.first_started_at > ${NOW}))`,
  },
  // The creation time of its run determines how long a key is held.
  {
    table: 'workflow_unique',
    key: 'key',
    set: `expires_at = ${NOW} + (r.expires_at - p.at)`,
    with: 'JOIN workflow.workflow_run w ON w.id = r.run_id',
    columns: 'w.created_at AS at',
    where: `w.created_at > ${NOW} AND r.expires_at >= w.created_at`,
    lock: 'w, r',
    also: `UPDATE workflow.workflow_run r SET created_at = ${NOW}, ${TURN} FROM moved WHERE r.id = moved.run_id`,
  },
  {
    table: 'workflow_worker',
    set: `expires_at = ${NOW} + (r.expires_at - r.heartbeat_at), heartbeat_at = ${NOW}`,
    where: `r.heartbeat_at > ${NOW}`,
  },
  // The same for all instances of a net, whenever it was set.
  {
    table: 'workflow_instance',
    set: `deadline_at = ${NOW} + ${ms('p.length')}`,
    with: `JOIN (SELECT n.hash, (n.net ->> 'timeoutMs')::float8 AS forward, (n.net ->> 'undoTimeoutMs')::float8 AS undo
           FROM workflow.workflow_net n WHERE n.hash IN (SELECT i.net_hash FROM workflow.workflow_instance i
             WHERE i.deadline_at > ${NOW} AND i.ended_at IS NULL)) n ON n.hash = r.net_hash`,
    columns: "CASE r.phase WHEN 'undo' THEN n.undo ELSE n.forward END AS length",
    where: `r.ended_at IS NULL
            AND r.deadline_at > ${NOW} + ${ms("CASE r.phase WHEN 'undo' THEN n.undo ELSE n.forward END")}`,
  },
  // An instance waits for a quota behind those that came before, not behind those that come now.
  {
    table: 'workflow_instance',
    set: `queued_at = ${NOW}`,
    where: `r.slot_key IS NOT NULL AND r.ended_at IS NULL AND r.state = 'queued' AND r.queued_at > ${NOW}
            AND r.queued_at < '9999-01-01 00:00:00+00'`,
  },
  // What was parked stands still since now.
  {
    table: 'workflow_parked',
    key: 'id',
    set: `run_at = CASE WHEN r.run_at < '9999-01-01 00:00:00+00' THEN ${NOW} + (r.run_at - r.since) ELSE r.run_at END,
          expires_at = ${NOW} + (r.expires_at - r.since), timeout_at = ${NOW} + (r.timeout_at - r.since),
          due_at = ${NOW} + (r.due_at - r.since), escalate_at = ${NOW} + (r.escalate_at - r.since),
          deadline_at = ${NOW} + (r.deadline_at - r.since), since = ${NOW}`,
    where: `r.since > ${NOW}`,
  },
  {
    table: 'workflow_pause',
    key: 'key',
    set: `paused_at = ${NOW}, resumed_at = CASE WHEN r.resumed_at IS NOT NULL THEN least(r.resumed_at, ${NOW}) END`,
    where: `r.paused_at > ${NOW}`,
  },
  {
    table: 'workflow_gate',
    set: `due_at = ${NOW} + (r.due_at - r.created_at), escalate_at = ${NOW} + (r.escalate_at - r.created_at),
          created_at = ${NOW}`,
    where: `r.state = 'open' AND r.created_at > ${NOW}`,
  },
  {
    table: 'workflow_command',
    key: 'run_id',
    set: `due_at = ${NOW} + ${ms('r.resend_ms')}`,
    where: `r.due_at > ${NOW} + ${ms('r.resend_ms')}`,
  },
  // A first attempt is due at once; a later one waits after the last.
  {
    table: 'workflow_webhook_delivery',
    set: `next_at = ${NOW}`,
    where: `r.state = 'pending' AND r.attempts = 0 AND r.next_at > ${NOW}`,
  },
  {
    table: 'workflow_webhook_delivery',
    set: `next_at = ${NOW} + greatest(r.next_at - p.at, interval '0')`,
    with: 'JOIN workflow.workflow_webhook w ON w.id = r.webhook_id',
    columns: 'w.last_at AS at',
    where: `r.state = 'pending' AND w.last_at > ${NOW} AND r.next_at > ${NOW}`,
  },
  {
    table: 'workflow_webhook',
    set: `lease_until = CASE WHEN r.lease_until IS NOT NULL THEN least(r.lease_until, ${NOW}) END,
          last_at = CASE WHEN r.last_at IS NOT NULL THEN least(r.last_at, ${NOW}) END`,
    where: `(r.last_at > ${NOW} OR r.lease_until > ${NOW} + interval '1 minute')`,
  },
  {
    table: 'workflow_webhook',
    set: `old_secret_until = ${NOW} + (r.old_secret_until - r.updated_at), updated_at = ${NOW}`,
    where: `r.updated_at > ${NOW} AND r.old_secret_until > r.updated_at`,
  },
  {
    table: 'workflow_key',
    set: `expires_at = ${NOW} + (r.expires_at - r.created_at), created_at = ${NOW}`,
    where: `r.created_at > ${NOW} AND r.expires_at IS NOT NULL`,
  },
]

function update({
  table,
  key = 'id',
  set,
  with: others = '',
  columns,
  where,
  lock = 'r',
  also,
}: Correction): Statement {
  const found = columns === undefined ? `r.${key}` : `r.${key}, ${columns}`
  const text = `UPDATE workflow.${table} r SET ${set} FROM (
      SELECT ${found} FROM workflow.${table} r ${others} WHERE ${where} ORDER BY r.${key} FOR UPDATE OF ${lock} SKIP LOCKED) p
    WHERE r.${key} = p.${key}`
  return statement(also === undefined ? text : `WITH moved AS (${text} RETURNING r.*) ${also}`)
}

function left({ table, with: others = '', where }: Correction): Statement {
  return statement(`SELECT FROM workflow.${table} r ${others} WHERE ${where} LIMIT 1`)
}

const UPDATES = CORRECTIONS.map(update)
const LEFT = CORRECTIONS.map(left)

export async function clockWentBack(lanes: Lanes, { known }: { readonly known: boolean }): Promise<boolean> {
  if (!known && (await askOne(lanes, { statement: AHEAD, row: () => true })) === null) return false
  for (const update of UPDATES) await ask(lanes, { statement: update, row: () => null })
  for (const left of LEFT) {
    if ((await askOne(lanes, { statement: left, row: () => true })) !== null) throw new StoreLockedError([])
  }
  return true
}
