/** Lists and counts for operators. */
import { MAX_COUNTED_GATES, type Overview } from '../../../model/queries/overview.ts'
import type { RunStatus } from '../../../model/rows.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { trafficFrom } from '../read/queueing.ts'
import { COUNTS } from '../sweep/totals.ts'

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
/** The primary key begins with the queue: each name is found by one look into it. */
const MINUTES = statement(
  `WITH RECURSIVE passed(name) AS (
     SELECT min(f.queue) FROM workflow.workflow_total f
     UNION ALL
     SELECT (SELECT min(f.queue) FROM workflow.workflow_total f WHERE f.queue > p.name)
     FROM passed p WHERE p.name IS NOT NULL)
   SELECT t.minute, ${COUNTS.map((name) => `sum(t.${name})`).join(', ')}
   FROM (SELECT p.name FROM passed p LIMIT $1::int) q JOIN workflow.workflow_total t ON t.queue = q.name
   WHERE t.minute >= to_timestamp($2::float8 / 1000) AND t.minute > to_timestamp(0)
   GROUP BY t.minute ORDER BY t.minute`,
)
const OF_TENANT = `($1::text IS NULL OR EXISTS (SELECT FROM workflow.workflow_instance i
  WHERE i.id = g.instance_id AND i.tenant IS NOT DISTINCT FROM nullif($1::text, '')))`
const OPEN = "FROM workflow.workflow_gate g WHERE g.state = 'open'"
const GATES = statement(
  `SELECT count(*), min(g.created_at) FROM (SELECT g.instance_id, g.created_at ${OPEN} ORDER BY g.id LIMIT ${MAX_COUNTED_GATES}) g
   WHERE ${OF_TENANT}`,
)
const SOONEST = statement(
  `SELECT g.id, g.instance_id, g.node, g.due_at
   FROM (SELECT * ${OPEN} AND g.due_at IS NOT NULL ORDER BY g.due_at LIMIT ${MAX_COUNTED_GATES}) g
   WHERE ${OF_TENANT} ORDER BY g.due_at LIMIT 1`,
)
const BYTES = statement('SELECT pg_database_size(current_database())')

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
    minutes: ({ most, since }) =>
      ask(lanes, {
        statement: MINUTES,
        values: [String(most), String(since)],
        row: (fields) => trafficFrom('', fields),
      }),
    openGates: async ({ tenant }) => {
      const [counted, soonest] = await Promise.all([
        askOne(lanes, {
          statement: GATES,
          values: [tenant],
          row: ([count, oldest]) => ({ count: Number(count), oldestAt: oldest == null ? null : parseTime(oldest) }),
        }),
        askOne(lanes, {
          statement: SOONEST,
          values: [tenant],
          row: ([id, instanceId, node, dueAt]) => ({
            id: id as string,
            instanceId: instanceId as string,
            node: node as string,
            dueAt: parseTime(dueAt as string),
          }),
        }),
      ])
      return { ...(counted as { readonly count: number; readonly oldestAt: number | null }), soonest }
    },
    bytes: async () => (await askOne(lanes, { statement: BYTES, values: [], row: ([bytes]) => Number(bytes) })) ?? 0,
    tenants: () =>
      ask(lanes, { statement: TENANTS, row: ([tenant, runs]) => ({ tenant: tenant as string, runs: Number(runs) }) }),
  }
}
