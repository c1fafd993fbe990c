/**
 * The doctor's checks where foreign clients write into the tables. The last two find permitted but surprising states.
 */
import { LEASED } from '../leased.ts'

/** An engine settles and takes back within a second; it only takes this long if none runs. */
const GRACE = "interval '60 s'"

const FOREIGN = `${LEASED} AND r.lease_until IS NOT NULL AND r.session_id IS NULL AND r.lease_ms IS NULL`

export const INBOX_CHECKS: Readonly<Record<string, string>> = {
  unsettled: `
    SELECT r.id, 'was ended as ' || r.status || ' by a foreign client ' || extract(epoch FROM c.at - r.finished_at)::bigint
      || ' s ago, and no engine has settled it'
    FROM (SELECT workflow.clock() AS at) c CROSS JOIN workflow.workflow_run r
    WHERE r.settled_at IS NULL AND r.status IN ('succeeded', 'failed', 'cancelled') AND r.finished_at < c.at - ${GRACE}`,
  lease_over: `
    SELECT r.id, 'is leased by ' || coalesce(r.leased_by, '?') || ', whose lease ran out '
      || extract(epoch FROM c.at - r.lease_until)::bigint || ' s ago, and no engine has taken it back'
    FROM (SELECT workflow.clock() AS at) c CROSS JOIN workflow.workflow_run r
    WHERE ${LEASED} AND r.lease_until < c.at - ${GRACE}`,
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
