/** Releases runs that claims by plain SQL have parked, because their type was paused (repeatable/60_run_update.sql). */

import type { PausePortion } from '../../../model/pauses/pauses.ts'
import { PARKED_AT } from '../../../model/rows.ts'
import { ask } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'

/**
 * $1 type, $2 limit. A run of a paused tree stays parked, and belongs to the tree from now on. The roots are locked before
 * the runs, as everywhere: whether they are paused must not change meanwhile.
 */
const RELEASE = statement(
  `WITH picked AS MATERIALIZED (
     SELECT k.id, k.since, k.run_at FROM workflow.workflow_parked k
     WHERE k.owner = 'type:' || $1::text
       AND NOT EXISTS (SELECT FROM workflow.workflow_pause p WHERE p.kind = 'type' AND p.key = $1::text)
     ORDER BY k.id LIMIT $2::int4
   ), root AS MATERIALIZED (
     SELECT i.id, i.paused FROM workflow.workflow_instance i
     WHERE i.id IN (SELECT r.root_id FROM picked k JOIN workflow.workflow_run r ON r.id = k.id) ORDER BY i.id FOR KEY SHARE
   ), held AS MATERIALIZED (
     SELECT r.id, r.root_id FROM workflow.workflow_run r
     WHERE r.id = ANY (ARRAY (SELECT k.id FROM picked k)) AND r.status || '' = 'pending'
       AND r.run_at >= to_timestamp(${PARKED_AT / 1000})
       AND (SELECT count(*) FROM root) >= 0
     ORDER BY r.id FOR UPDATE
   ), released AS (
     UPDATE workflow.workflow_run r SET run_at = k.run_at, engine_turn = NOT r.engine_turn
     FROM held h JOIN picked k ON k.id = h.id LEFT JOIN root ON root.id = h.root_id
     WHERE r.id = h.id AND root.paused IS NULL RETURNING r.queue
   ), moved AS (
     INSERT INTO workflow.workflow_parked (owner, id, kind, since, run_at)
     SELECT root.id::text, k.id, 'run', k.since, k.run_at
     FROM held h JOIN picked k ON k.id = h.id JOIN root ON root.id = h.root_id WHERE root.paused IS NOT NULL
     ON CONFLICT (owner, id) DO NOTHING
   ), gone AS (
     DELETE FROM workflow.workflow_parked w USING picked k WHERE w.owner = 'type:' || $1::text AND w.id = k.id
   )
   SELECT (SELECT count(*) FROM picked), (SELECT coalesce(json_agg(DISTINCT r.queue), '[]') FROM released r)`,
)

export async function releaseType(
  lanes: Lanes,
  { type, limit }: { readonly type: string; readonly limit: number },
): Promise<PausePortion> {
  const [portion] = await ask(lanes, {
    statement: RELEASE,
    values: [type, String(limit)],
    row: ([count, queues]): PausePortion => ({ done: Number(count) < limit, queues: JSON.parse(queues as string) }),
  })
  return portion as PausePortion
}
