/** Lists and counts for operators. */
import type { Overview } from '../../../model/queries/overview.ts'
import type { RunStatus } from '../../../model/rows.ts'
import { ask } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'

const PRIORITIES = statement(
  `SELECT r.priority, count(*) FROM workflow.workflow_run r
   WHERE r.status = 'pending' AND r.deleted_at IS NULL AND r.queue = $1 GROUP BY r.priority ORDER BY r.priority`,
)
const UNIQUES = statement(
  `SELECT u.key, r.id, r.type, r.queue, r.status, r.attempt, r.run_at, r.tenant, u.expires_at, u.states
   FROM workflow.workflow_unique u JOIN workflow.workflow_run r ON r.id = u.run_id
   WHERE $1::text IS NULL OR r.tenant = $1::text ORDER BY u.key LIMIT $2::int OFFSET $3::int`,
)
const TENANTS = statement(
  `SELECT r.tenant, count(*) FROM workflow.workflow_run r
   WHERE r.tenant IS NOT NULL AND r.deleted_at IS NULL GROUP BY r.tenant ORDER BY r.tenant`,
)

export function overviewOn(lanes: Lanes): Overview {
  return {
    priorities: ({ queue }) =>
      ask(lanes, {
        statement: PRIORITIES,
        values: [queue],
        row: ([priority, count]) => ({ priority: Number(priority), count: Number(count) }),
      }),
    uniques: ({ tenant, limit, offset }) =>
      ask(lanes, {
        statement: UNIQUES,
        values: [tenant, String(limit), String(offset)],
        row: ([key, runId, type, queue, status, attempt, runAt, owner, expiresAt, states]) => ({
          key: key as string,
          runId: runId as string,
          type: type as string,
          queue: queue as string,
          status: status as RunStatus,
          attempt: Number(attempt),
          runAt: parseTime(runAt as string),
          tenant: owner ?? null,
          expiresAt: expiresAt === null || expiresAt === undefined ? null : parseTime(expiresAt),
          states: states as string,
        }),
      }),
    tenants: () =>
      ask(lanes, { statement: TENANTS, row: ([tenant, runs]) => ({ tenant: tenant as string, runs: Number(runs) }) }),
  }
}
