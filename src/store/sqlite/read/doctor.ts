/**
 * Invariants that hold in every committed state. Each check is one statement returning (subject, finding); findings are
 * sentences for an operator. At most the first 100 of each check.
 */
import { readClock } from '../clock.ts'
import type { Reading } from '../long-reads.ts'
import { inUseOf } from '../sweep/recount.ts'

/** An engine settles and takes back within a second; if it takes longer than this, no engine is running. */
const SETTLE_GRACE_MS = 60_000

const FOREIGN = `r.status = 'leased' AND r.lease_until IS NOT NULL AND r.session_id IS NULL AND r.lease_ms IS NULL`

/** Where foreign clients write into the tables; the last two find permitted but surprising states. ?1 is the store's clock. */
const INBOX_CHECKS: Readonly<Record<string, string>> = {
  unsettled: `
    SELECT r.id, 'was ended as ' || r.status || ' by a foreign client ' || CAST((?1 - r.finished_at) / 1000 AS INTEGER)
      || ' s ago, and no engine has settled it'
    FROM workflow_run r INDEXED BY idx_workflow_run_unsettled
    WHERE r.settled_at IS NULL AND r.status <> 'pending' AND r.status <> 'leased' AND r.finished_at < ?1 - ${SETTLE_GRACE_MS}`,
  lease_over: `
    SELECT r.id, 'is leased by ' || coalesce(r.leased_by, '?') || ', whose lease ran out '
      || CAST((?1 - r.lease_until) / 1000 AS INTEGER) || ' s ago, and no engine has taken it back'
    FROM workflow_run r
    WHERE r.status = 'leased' AND r.lease_until IS NOT NULL AND r.lease_until < ?1 - ${SETTLE_GRACE_MS}`,
  deleted_step: `
    SELECT r.id, 'is deleted but still ' || r.status || ', so instance ' || r.instance_id || ' waits for it'
    FROM workflow_run r
    WHERE r.deleted_at IS NOT NULL AND r.instance_id IS NOT NULL AND r.status IN ('pending', 'leased')`,
  schedule_disabled: `
    SELECT s.id, 'of ' || s.type || ' was disabled by the engine: ' || s.disabled_reason || '; correct it and resume it'
    FROM workflow_schedule s WHERE s.enabled = 0 AND s.disabled_reason IS NOT NULL AND s.deleted_at IS NULL`,
  paused_but_held: `
    SELECT r.queue, 'is paused, but foreign clients hold ' || count(*) || ' of its runs: a pause does not bind plain SQL'
    FROM workflow_run r JOIN workflow_queue q ON q.name = r.queue AND q.paused = 1
    WHERE ${FOREIGN} GROUP BY r.queue`,
  limit_passed: `
    SELECT l.key, 'allows ' || l.max_concurrent || ' at the same time, but besides ' || l.in_use || ' foreign clients hold '
      || count(*) || ': limits do not bind plain SQL'
    FROM workflow_run r JOIN workflow_limit l ON l.key IN ('queue:' || r.queue, 'key:' || r.limit_key)
    WHERE ${FOREIGN} AND l.max_concurrent IS NOT NULL GROUP BY l.key HAVING l.in_use + count(*) > l.max_concurrent`,
}

const MOST = 100
/** Dead sessions must be swept within this time. */
const SWEEP_GRACE_MS = 60_000

const ENDED = `state IN ('completed', 'failed', 'cancelled', 'compensated')`

/** Work of an instance that has not ended. */
const OPEN_WORK = `(
    (SELECT count(*) FROM workflow_run r WHERE r.instance_id = i.id AND r.status IN ('pending', 'leased'))
  + (SELECT count(*) FROM workflow_run r WHERE r.instance_id = i.id AND r.settled_at IS NULL
       AND r.status NOT IN ('pending', 'leased'))
  + (SELECT count(*) FROM workflow_gate g WHERE g.instance_id = i.id AND g.state = 'open')
  + (SELECT count(*) FROM workflow_instance c WHERE c.parent_id = i.id AND c.parent_node IS NOT NULL
       AND c.ended_at IS NULL))`

/** ?1 is the store's clock. */
const CHECKS: Readonly<Record<string, string>> = {
  instance_end: `
    SELECT id, 'is ' || state || ' in phase ' || phase || CASE WHEN ended_at IS NULL THEN ' without' ELSE ' with' END
      || ' an end time: an ended instance has all three, any other none'
    FROM workflow_instance WHERE NOT ((${ENDED}) = (ended_at IS NOT NULL) AND (${ENDED}) = (phase = 'ended'))`,
  instance_stuck: `
    SELECT id, 'is ' || state || ' but nothing will move it: no open work, no held token, no unfinished cascade'
    FROM workflow_instance i
    WHERE NOT (${ENDED}) AND state NOT IN ('idle', 'queued') AND open = 0 AND held = 0 AND gates = 0 AND more = 0
      AND ${OPEN_WORK} = 0`,
  instance_open: `
    SELECT id, 'counts ' || open || ' open, but has ' || ${OPEN_WORK} || ' unfinished runs, gates and attached children'
    FROM workflow_instance i WHERE ended_at IS NULL AND open <> ${OPEN_WORK}`,
  queued_for_ever: `
    SELECT id, 'is queued' || CASE WHEN slot_key IS NULL THEN '' ELSE ' under ' || slot_key END
      || ', but no such limit exists that would let it begin'
    FROM workflow_instance i
    WHERE state = 'queued' AND NOT EXISTS (SELECT 1 FROM workflow_limit l WHERE l.key = i.slot_key)`,
  definition_net: `
    SELECT d.id, 'version ' || d.version || ' of ' || d.name || ' names net ' || h.hash || ', which is not stored: deploy it again'
    FROM workflow_definition d JOIN (
      SELECT id, net_hash AS hash FROM workflow_definition
      UNION SELECT o.id, e.value FROM workflow_definition o, json_each(o.plan, '$.nets') e) h ON h.id = d.id
    WHERE NOT EXISTS (SELECT 1 FROM workflow_net n WHERE n.hash = h.hash)`,
  ended_with_work: `
    SELECT i.id, 'has ended, but run ' || r.id || ' is still ' || r.status
    FROM workflow_run r JOIN workflow_instance i ON i.id = r.instance_id
    WHERE r.status IN ('pending', 'leased') AND i.ended_at IS NOT NULL AND r.cancel_requested_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'redriven')`,
  ended_with_gate: `
    SELECT i.id, 'has ended, but gate ' || g.id || ' is still open'
    FROM workflow_gate g JOIN workflow_instance i ON i.id = g.instance_id
    WHERE g.state = 'open' AND i.ended_at IS NOT NULL`,
  lease_without_holder: `SELECT id, 'is leased without a holder' FROM workflow_run WHERE status = 'leased' AND leased_by IS NULL`,
  lease_without_session: `
    SELECT id, 'is held by session ' || session_id || ', which does not exist'
    FROM workflow_run r
    WHERE status = 'leased' AND session_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM workflow_worker w WHERE w.id = r.session_id)`,
  ended_run_held: `
    SELECT id, 'is ' || status || ' but still names session ' || session_id FROM workflow_run
    WHERE status NOT IN ('pending', 'leased') AND settled_at IS NOT NULL AND session_id IS NOT NULL
    UNION ALL
    SELECT id, 'is ' || status || ' but still has a lease until ' || lease_until FROM workflow_run
    WHERE status NOT IN ('pending', 'leased') AND settled_at IS NOT NULL AND lease_until IS NOT NULL`,
  attempts: `
    SELECT id, 'counts ' || attempt || ' failed attempts of ' || max_attempts || ' allowed'
    FROM workflow_run r WHERE attempt > max_attempts AND attempt > max_attempts
      + (SELECT count(*) FROM workflow_event e WHERE e.workflow_id = r.id AND e.event_type = 'returned')`,
  limit_in_use: `
    SELECT key, 'counts ' || in_use || ' in use, but ' || held
      || CASE WHEN key LIKE 'workflow:%' THEN ' instances execute under it' ELSE ' leased runs hold it' END FROM (
      SELECT l.key, l.in_use, ${inUseOf('l.key')} AS held FROM workflow_limit l WHERE l.max_concurrent IS NOT NULL) WHERE in_use <> held`,
  event_order: `
    SELECT i.id, 'has numbered ' || i.event_seq || ' events, but the stored ones run from ' || min(e.seq) || ' to '
      || max(e.seq) || ' and are ' || count(e.seq)
    FROM workflow_instance i JOIN workflow_event e ON e.instance_id = i.id AND e.seq IS NOT NULL
    GROUP BY i.id HAVING max(e.seq) <> i.event_seq OR count(e.seq) <> max(e.seq) - min(e.seq) + 1`,
  created_once: `
    SELECT workflow_id, 'was created ' || count(*) || ' times according to its history' FROM workflow_event
    WHERE event_type = 'created' AND workflow_id IS NOT NULL GROUP BY workflow_id HAVING count(*) > 1`,
  ended_once: `
    SELECT workflow_id, 'ended ' || ends || ' times according to its history, but was redriven ' || redriven || ' times'
    FROM (SELECT workflow_id, sum(event_type IN ('succeeded', 'failed', 'cancelled')) AS ends,
            sum(event_type = 'redriven') AS redriven
          FROM workflow_event WHERE workflow_id IS NOT NULL GROUP BY workflow_id) WHERE ends > 1 + redriven`,
  place_once: `
    SELECT instance_id, 'has ' || count(*) || ' runs at node ' || node || ', fire ' || fire || ', item ' || item || ', '
      || role FROM workflow_run WHERE instance_id IS NOT NULL GROUP BY instance_id, node, fire, item, role
    HAVING count(*) > 1`,
  run_without_instance: `
    SELECT id, 'belongs to instance ' || instance_id || ', which does not exist' FROM workflow_run r
    WHERE instance_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = r.instance_id)`,
  registry_disabled: `
    SELECT r.id, 'of type ' || r.type || ', which the registry disables, was taken by ' || coalesce(r.leased_by, 'an unnamed client') || ' at '
      || strftime('%Y-%m-%dT%H:%M:%SZ', r.started_at / 1000, 'unixepoch') || ': a worker on plain SQL, which the registry '
      || 'cannot hold back; stop that worker or take the type out of what it claims, or enable the type'
    FROM workflow_run r JOIN workflow_registry g ON g.workflow_name = r.type
    WHERE r.status = 'leased' AND r.session_id IS NULL AND r.lease_ms IS NULL AND r.deferred = 0
      AND g.deleted_at IS NULL AND g.is_enabled = 0 AND r.started_at > g.updated_at`,
  command_missing: `
    SELECT r.id, 'waits for an answer, but no command of it will be published: complete it by its id, or cancel it'
    FROM workflow_run r JOIN workflow_instance i ON i.id = r.instance_id
    WHERE r.status = 'leased' AND r.deferred = 1 AND i.dialect = 'saga'
      AND NOT EXISTS (SELECT 1 FROM workflow_command c
                      WHERE c.run_id = r.id AND c.epoch = r.epoch AND c.due_at IS NOT NULL)`,
  command_without_run: `
    SELECT c.run_id, 'has a command, but no such run exists' FROM workflow_command c
    WHERE NOT EXISTS (SELECT 1 FROM workflow_run r WHERE r.id = c.run_id)`,
  dead_session_holds: `
    SELECT w.id, 'has been dead since ' || CAST((?1 - w.expires_at) / 1000 AS INTEGER) || ' s ago but still holds ' || count(*) || ' runs'
    FROM workflow_worker w JOIN workflow_run r ON r.session_id = w.id AND r.status = 'leased'
    WHERE w.expires_at < ?1 - ${SWEEP_GRACE_MS} GROUP BY w.id`,
}

export function findViolations(connection: Reading): { check: string; subject: string; finding: string }[] {
  const now = readClock(connection)
  return Object.entries({ ...CHECKS, ...INBOX_CHECKS }).flatMap(([check, sql]) => {
    const statement = connection.statement(`SELECT * FROM (${sql}) LIMIT ${MOST}`)
    return statement
      .all(...(sql.includes('?1') ? [now] : []))
      .map(([subject, finding]) => ({ check, subject: subject as string, finding: finding as string }))
  })
}
