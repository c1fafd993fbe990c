/**
 * Invariants that hold in every committed state. Each check is one statement returning (subject, finding); findings are
 * sentences for an operator. At most the first 100 of each check. All in one snapshot: work continues meanwhile.
 */
import { toStoreError } from '../connection/failure.ts'
import { fly } from '../connection/flight.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Call, statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'
import { EXECUTING, ROOM_HELD } from '../sweep/recount.ts'

/** An engine settles and takes back within a second; if it takes longer than this, no engine is running. */
const SETTLE_GRACE = "interval '60 s'"

const FOREIGN = `${LEASED} AND r.lease_until IS NOT NULL AND r.session_id IS NULL AND r.lease_ms IS NULL`

/** Where foreign clients write into the tables; the last two find permitted but surprising states. */
const INBOX_CHECKS: Readonly<Record<string, string>> = {
  unsettled: `
    SELECT r.id, 'was ended as ' || r.status || ' by a foreign client ' || extract(epoch FROM c.at - r.finished_at)::bigint
      || ' s ago, and no engine has settled it'
    FROM (SELECT workflow.clock() AS at) c CROSS JOIN workflow.workflow_run r
    WHERE r.settled_at IS NULL AND r.status IN ('succeeded', 'failed', 'cancelled') AND r.finished_at < c.at - ${SETTLE_GRACE}`,
  lease_over: `
    SELECT r.id, 'is leased by ' || coalesce(r.leased_by, '?') || ', whose lease ran out '
      || extract(epoch FROM c.at - r.lease_until)::bigint || ' s ago, and no engine has taken it back'
    FROM (SELECT workflow.clock() AS at) c CROSS JOIN workflow.workflow_run r
    WHERE ${LEASED} AND r.lease_until < c.at - ${SETTLE_GRACE}`,
  deleted_step: `
    SELECT r.id, 'is deleted but still ' || r.status || ', so instance ' || r.instance_id || ' waits for it'
    FROM workflow.workflow_run r
    WHERE r.deleted_at IS NOT NULL AND r.instance_id IS NOT NULL AND r.status IN ('pending', 'leased')`,
  schedule_disabled: `
    SELECT s.id, 'of ' || s.type || ' was disabled by the engine: ' || s.disabled_reason || '; correct it and resume it'
    FROM workflow.workflow_schedule s
    WHERE NOT s.enabled AND s.disabled_reason IS NOT NULL AND s.deleted_at IS NULL`,
  paused_but_held: `
    SELECT r.queue, 'is paused, but foreign clients hold ' || count(*) || ' of its runs: a pause does not bind plain SQL'
    FROM workflow.workflow_run r JOIN workflow.workflow_queue q ON q.name = r.queue AND q.paused
    WHERE ${FOREIGN} GROUP BY r.queue`,
  limit_passed: `
    SELECT l.key, 'allows ' || l.max_concurrent || ' at the same time, but besides ' || l.in_use || ' foreign clients hold '
      || count(*) || ': limits do not bind plain SQL'
    FROM workflow.workflow_run r CROSS JOIN LATERAL (VALUES ('queue:' || r.queue), ('key:' || r.limit_key)) k(key)
    JOIN workflow.workflow_limit l ON l.key = k.key AND l.max_concurrent IS NOT NULL
    WHERE ${FOREIGN} GROUP BY l.key HAVING l.in_use + count(*) > l.max_concurrent`,
}

const MOST = 100
/** Dead sessions must be swept within this time. */
const SWEEP_GRACE = "interval '60 s'"

const ENDED = `state IN ('completed', 'failed', 'cancelled', 'compensated')`

/** A transaction of another client is reported once it has been open for this long. */
const OPEN_FOR = "interval '60 s'"

/** Work of instances that has not ended, by instance. */
const OPEN_WORK = `(
  SELECT instance_id, count(*) AS work FROM (
    SELECT instance_id FROM workflow.workflow_run
    WHERE instance_id IS NOT NULL AND (status IN ('pending', 'leased') OR settled_at IS NULL)
    UNION ALL
    SELECT instance_id FROM workflow.workflow_gate WHERE state = 'open'
    UNION ALL
    SELECT parent_id FROM workflow.workflow_instance WHERE parent_id IS NOT NULL AND parent_node IS NOT NULL AND ended_at IS NULL
  ) each_one GROUP BY instance_id)`

const CHECKS: Readonly<Record<string, string>> = {
  open_transaction: `
    SELECT a.pid::text, 'is a transaction open since ' || to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' ('
      || coalesce(nullif(a.application_name, ''), 'no name') || ', ' || coalesce(a.state, 'state unknown') || ') that may hold rows of '
      || string_agg(DISTINCT c.relname, ', ') || ': what needs those rows waits; commit it, or end it with SELECT pg_terminate_backend('
      || a.pid || ')'
    FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid AND l.granted AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
    JOIN pg_class c ON c.oid = l.relation AND c.relkind IN ('r', 'p') AND c.relnamespace = 'workflow'::regnamespace
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.application_name NOT LIKE 'petrel%'
      AND a.xact_start < clock_timestamp() - ${OPEN_FOR}
    GROUP BY a.pid, a.xact_start, a.application_name, a.state`,
  instance_end: `
    SELECT id, 'is ' || state || ' in phase ' || phase || CASE WHEN ended_at IS NULL THEN ' without' ELSE ' with' END
      || ' an end time: an ended instance has all three, any other none'
    FROM workflow.workflow_instance WHERE NOT ((${ENDED}) = (ended_at IS NOT NULL) AND (${ENDED}) = (phase = 'ended'))`,
  instance_stuck: `
    SELECT i.id, 'is ' || state || ' but nothing will move it: no open work, no held token, no unfinished cascade'
    FROM workflow.workflow_instance i LEFT JOIN ${OPEN_WORK} w ON w.instance_id = i.id
    WHERE NOT (${ENDED}) AND state NOT IN ('idle', 'queued') AND open = 0 AND held = 0 AND gates = 0 AND NOT more
      AND w.work IS NULL`,
  instance_open: `
    SELECT i.id, 'counts ' || open || ' open, but has ' || coalesce(w.work, 0) || ' unfinished runs, gates and attached children'
    FROM workflow.workflow_instance i LEFT JOIN ${OPEN_WORK} w ON w.instance_id = i.id
    WHERE ended_at IS NULL AND open <> coalesce(w.work, 0)`,
  queued_for_ever: `
    SELECT i.id, 'is queued' || CASE WHEN i.slot_key IS NULL THEN '' ELSE ' under ' || i.slot_key END
      || ', but no such limit exists that would let it begin'
    FROM workflow.workflow_instance i
    WHERE i.state = 'queued' AND NOT EXISTS (SELECT FROM workflow.workflow_limit l WHERE l.key = i.slot_key)`,
  definition_net: `
    SELECT d.id, 'version ' || d.version || ' of ' || d.name || ' names net ' || h.hash || ', which is not stored: deploy it again'
    FROM workflow.workflow_definition d
    CROSS JOIN LATERAL (SELECT d.net_hash AS hash UNION SELECT json_array_elements_text(d.plan -> 'nets')) h
    WHERE NOT EXISTS (SELECT FROM workflow.workflow_net n WHERE n.hash = h.hash)`,
  ended_with_work: `
    SELECT i.id, 'has ended, but run ' || r.id || ' is still ' || r.status
    FROM workflow.workflow_run r JOIN workflow.workflow_instance i ON i.id = r.instance_id
    WHERE r.status IN ('pending', 'leased') AND i.ended_at IS NOT NULL AND r.cancel_requested_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM workflow.workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'redriven')`,
  ended_with_gate: `
    SELECT i.id, 'has ended, but gate ' || g.id || ' is still open'
    FROM workflow.workflow_gate g JOIN workflow.workflow_instance i ON i.id = g.instance_id
    WHERE g.state = 'open' AND i.ended_at IS NOT NULL`,
  lease_without_holder: `
    SELECT id, 'is leased without a holder' FROM workflow.workflow_run r WHERE ${LEASED} AND leased_by IS NULL`,
  lease_without_session: `
    SELECT r.id, 'is held by session ' || session_id || ', which does not exist'
    FROM workflow.workflow_run r
    WHERE ${LEASED} AND session_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM workflow.workflow_worker w WHERE w.id = r.session_id)`,
  ended_run_held: `
    SELECT id, 'is ' || status || ' but still names session ' || session_id FROM workflow.workflow_run
    WHERE status NOT IN ('pending', 'leased') AND settled_at IS NOT NULL AND session_id IS NOT NULL
    UNION ALL
    SELECT id, 'is ' || status || ' but still has a lease until ' || lease_until FROM workflow.workflow_run
    WHERE status NOT IN ('pending', 'leased') AND settled_at IS NOT NULL AND lease_until IS NOT NULL`,
  attempts: `
    SELECT id, 'counts ' || attempt || ' failed attempts of ' || max_attempts || ' allowed'
    FROM workflow.workflow_run r WHERE attempt > max_attempts
      AND attempt > max_attempts + (SELECT count(*) FROM workflow.workflow_event e
                                    WHERE e.workflow_id = r.id AND e.event_type = 'returned')`,
  limit_in_use: `
    SELECT l.key, 'counts ' || l.in_use || ' in use, but ' || coalesce(h.held, 0)
      || CASE WHEN l.key LIKE 'workflow:%' THEN ' instances execute under it' ELSE ' leased runs hold it' END
    FROM workflow.workflow_limit l LEFT JOIN (
      SELECT key, count(*) AS held FROM ${ROOM_HELD} r
      CROSS JOIN LATERAL (VALUES ('queue:' || r.queue), ('key:' || r.limit_key)) k(key)
      WHERE k.key IS NOT NULL GROUP BY key
      UNION ALL
      SELECT i.slot_key, count(*) FROM workflow.workflow_instance i WHERE i.slot_key IS NOT NULL AND ${EXECUTING}
      GROUP BY i.slot_key) h ON h.key = l.key
    WHERE l.max_concurrent IS NOT NULL AND l.in_use <> coalesce(h.held, 0)`,
  event_order: `
    SELECT i.id, 'has numbered ' || i.event_seq || ' events, but the stored ones run from ' || min(e.seq) || ' to '
      || max(e.seq) || ' and are ' || count(e.seq)
    FROM workflow.workflow_instance i JOIN workflow.workflow_event e ON e.instance_id = i.id AND e.seq IS NOT NULL
    GROUP BY i.id HAVING max(e.seq) <> i.event_seq OR count(e.seq) <> max(e.seq) - min(e.seq) + 1`,
  created_once: `
    SELECT workflow_id, 'was created ' || count(*) || ' times according to its history' FROM workflow.workflow_event
    WHERE event_type = 'created' AND workflow_id IS NOT NULL GROUP BY workflow_id HAVING count(*) > 1`,
  ended_once: `
    SELECT workflow_id, 'ended ' || ends || ' times according to its history, but was redriven ' || redriven || ' times'
    FROM (SELECT workflow_id, count(*) FILTER (WHERE event_type IN ('succeeded', 'failed', 'cancelled')) AS ends,
            count(*) FILTER (WHERE event_type = 'redriven') AS redriven
          FROM workflow.workflow_event WHERE workflow_id IS NOT NULL GROUP BY workflow_id) recorded WHERE ends > 1 + redriven`,
  place_once: `
    SELECT instance_id, 'has ' || count(*) || ' runs at node ' || node || ', fire ' || fire || ', item ' || item || ', '
      || role FROM workflow.workflow_run WHERE instance_id IS NOT NULL GROUP BY instance_id, node, fire, item, role
    HAVING count(*) > 1`,
  run_without_instance: `
    SELECT r.id, 'belongs to instance ' || instance_id || ', which does not exist' FROM workflow.workflow_run r
    WHERE instance_id IS NOT NULL AND NOT EXISTS (SELECT FROM workflow.workflow_instance i WHERE i.id = r.instance_id)`,
  registry_disabled: `
    SELECT r.id, 'of type ' || r.type || ', which the registry disables, was taken by ' || coalesce(r.leased_by, 'an unnamed client') || ' at '
      || to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ': a worker on plain SQL, which the registry '
      || 'cannot hold back; stop that worker or take the type out of what it claims, or enable the type'
    FROM workflow.workflow_run r JOIN workflow.workflow_registry g ON g.workflow_name = r.type
    WHERE ${LEASED} AND r.session_id IS NULL AND r.lease_ms IS NULL AND NOT r.deferred
      AND g.deleted_at IS NULL AND NOT g.is_enabled AND r.started_at > g.updated_at`,
  command_missing: `
    SELECT r.id, 'waits for an answer, but no command of it will be published: complete it by its id, or cancel it'
    FROM workflow.workflow_run r JOIN workflow.workflow_instance i ON i.id = r.instance_id
    WHERE ${LEASED} AND r.deferred AND i.dialect = 'saga'
      AND NOT EXISTS (SELECT FROM workflow.workflow_command c
                      WHERE c.run_id = r.id AND c.epoch = r.epoch AND c.due_at IS NOT NULL)`,
  command_without_run: `
    SELECT c.run_id, 'has a command, but no such run exists' FROM workflow.workflow_command c
    WHERE NOT EXISTS (SELECT FROM workflow.workflow_run r WHERE r.id = c.run_id)`,
  dead_session_holds: `
    SELECT w.id, 'has been dead since ' || extract(epoch FROM c.at - w.expires_at)::bigint || ' s ago but still holds '
      || count(*) || ' runs'
    FROM (SELECT workflow.clock() AS at) c CROSS JOIN workflow.workflow_worker w
    JOIN workflow.workflow_run r ON r.session_id = w.id AND ${LEASED}
    WHERE w.expires_at < c.at - ${SWEEP_GRACE} GROUP BY w.id, c.at`,
}

const STATEMENTS = Object.entries({ ...CHECKS, ...INBOX_CHECKS }).map(
  ([check, sql]) => [check, statement(`SELECT * FROM (${sql}) found LIMIT ${MOST}`)] as const,
)
const BEGIN: Call = { statement: statement('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'), values: [] }
const COMMIT: Call = { statement: statement('COMMIT'), values: [] }

export interface Finding {
  readonly check: string
  readonly subject: string
  readonly finding: string
}

export async function doctor(lanes: Lanes): Promise<readonly Finding[]> {
  const found: Finding[] = []
  const calls = STATEMENTS.map(
    ([check, known]): Call => ({
      statement: known,
      values: [],
      row: (fields) => void found.push({ check, subject: fields[0] as string, finding: fields[1] as string }),
    }),
  )
  try {
    await lanes.use(async (lane) => {
      try {
        await fly(lane.client, [BEGIN, ...calls, COMMIT])
      } catch (error) {
        if (!lane.lost) await fly(lane.client, [{ statement: statement('ROLLBACK'), values: [] }]).catch(() => {})
        throw error
      }
    })
  } catch (error) {
    throw toStoreError(error)
  }
  return found
}
