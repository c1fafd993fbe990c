/** Lists and counts for operators. */
import type { Overview } from '../../../model/queries/overview.ts'
import type { RunStatus } from '../../../model/rows.ts'
import type { Connection } from '../connection.ts'

const PRIORITIES = `SELECT priority, count(*) FROM workflow_run
  WHERE status = 'pending' AND deleted_at IS NULL AND queue = ? GROUP BY priority ORDER BY priority`
const UNIQUES = `SELECT u.key, r.id, r.type, r.queue, r.status, r.attempt, r.run_at, r.tenant, u.expires_at, u.states
  FROM workflow_unique u JOIN workflow_run r ON r.id = u.run_id
  WHERE ?1 IS NULL OR r.tenant = ?1 ORDER BY u.key LIMIT ?2 OFFSET ?3`
const TENANTS = `SELECT tenant, count(*) FROM workflow_run
  WHERE tenant IS NOT NULL AND deleted_at IS NULL GROUP BY tenant ORDER BY tenant`

export function overviewOn(connection: Connection): Overview {
  return {
    priorities: ({ queue }) =>
      connection.readLong((on) =>
        on
          .statement(PRIORITIES)
          .all(queue)
          .map(([priority, count]) => ({ priority: priority as number, count: count as number })),
      ),
    uniques: ({ tenant, limit, offset }) =>
      connection.readLong((on) =>
        on
          .statement(UNIQUES)
          .all(tenant, limit, offset)
          .map(([key, runId, type, queue, status, attempt, runAt, owner, expiresAt, states]) => ({
            key: key as string,
            runId: runId as string,
            type: type as string,
            queue: queue as string,
            status: status as RunStatus,
            attempt: attempt as number,
            runAt: runAt as number,
            tenant: owner as string | null,
            expiresAt: expiresAt as number | null,
            states: states as string,
          })),
      ),
    tenants: () =>
      connection.readLong((on) =>
        on
          .statement(TENANTS)
          .all()
          .map(([tenant, runs]) => ({ tenant: tenant as string, runs: runs as number })),
      ),
  }
}
