/** Sets limits right from what is really leased: after foreign clients have taken or ended runs past them. */
import type { Connection } from '../connection.ts'

const RECOUNT = `UPDATE workflow_limit SET in_use = (
    SELECT count(*) FROM workflow_run run INDEXED BY idx_workflow_run_leased
    WHERE run.status = 'leased' AND ('queue:' || run.queue = workflow_limit.key OR 'key:' || run.limit_key = workflow_limit.key))
  WHERE key = ?`

export function recountLimits(connection: Connection, keys: readonly string[]): void {
  for (const key of keys) connection.statement(RECOUNT).get(key)
}
