/** Queues that were configured or have work, with what waits and what is held. Both counts come from partial indexes. */
import type { QueueRow } from '../../rows.ts'
import type { Connection } from '../connection.ts'

const COUNTS = `
  SELECT name, max(paused), sum(pending), sum(leased) FROM (
    SELECT name, paused, 0 AS pending, 0 AS leased FROM workflow_queue
    UNION ALL
    SELECT queue, 0, count(*), 0 FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
    WHERE status = 'pending' AND deleted_at IS NULL GROUP BY queue
    UNION ALL
    SELECT queue, 0, 0, count(*) FROM workflow_run INDEXED BY idx_workflow_run_leased
    WHERE status = 'leased' AND deleted_at IS NULL GROUP BY queue
  ) GROUP BY name ORDER BY name`

export function queuesWithCounts(connection: Connection): (QueueRow & { pending: number; leased: number })[] {
  return connection
    .statement(COUNTS)
    .all()
    .map(([name, paused, pending, leased]) => ({
      name: name as string,
      paused: paused === 1,
      pending: pending as number,
      leased: leased as number,
    }))
}
