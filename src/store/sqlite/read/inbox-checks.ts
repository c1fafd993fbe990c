/**
 * The doctor's checks where foreign clients write into the tables. The last two find permitted but surprising states.
 */

/** An engine settles and takes back within a second; it only takes this long if none runs. */
const GRACE_MS = 60_000

const FOREIGN = `r.status = 'leased' AND r.lease_until IS NOT NULL AND r.session_id IS NULL AND r.lease_ms IS NULL`

/** ?1 is the store's clock. */
export const INBOX_CHECKS: Readonly<Record<string, string>> = {
  unsettled: `
    SELECT r.id, 'was ended as ' || r.status || ' by a foreign client ' || CAST((?1 - r.finished_at) / 1000 AS INTEGER)
      || ' s ago, and no engine has settled it'
    FROM workflow_run r INDEXED BY idx_workflow_run_unsettled
    WHERE r.settled_at IS NULL AND r.status <> 'pending' AND r.status <> 'leased' AND r.finished_at < ?1 - ${GRACE_MS}`,
  lease_over: `
    SELECT r.id, 'is leased by ' || coalesce(r.leased_by, '?') || ', whose lease ran out '
      || CAST((?1 - r.lease_until) / 1000 AS INTEGER) || ' s ago, and no engine has taken it back'
    FROM workflow_run r
    WHERE r.status = 'leased' AND r.lease_until IS NOT NULL AND r.lease_until < ?1 - ${GRACE_MS}`,
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
