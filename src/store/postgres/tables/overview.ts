/** Lists and counts for operators. */
import { MAX_COUNTED_GATES, MAX_SUMMED_MINUTES, type Overview } from '../../../model/queries/overview.ts'
import type { RunStatus } from '../../../model/rows.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { audit } from '../read/audit.ts'
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
const MINUTES = statement(
  `SELECT t.minute, ${COUNTS.map((name) => `sum(t.${name})`).join(', ')}, count(*) FROM
     (SELECT * FROM workflow.workflow_total t
      WHERE t.minute >= to_timestamp($1::float8 / 1000) AND t.minute > to_timestamp(0)
      ORDER BY t.minute DESC LIMIT ${MAX_SUMMED_MINUTES}) t
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
    minutes: async ({ since }) => {
      const row = (fields: Fields) => ({ row: trafficFrom('', fields.slice(0, -1)), summed: Number(fields.at(-1)) })
      const found = await ask(lanes, { statement: MINUTES, values: [String(since)], row })
      const summed = found.reduce((sum, one) => sum + one.summed, 0)
      return { rows: found.map((one) => one.row), cut: summed >= MAX_SUMMED_MINUTES }
    },
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
    audit: (query) => audit(lanes, query),
    bytes: async () => (await askOne(lanes, { statement: BYTES, values: [], row: ([bytes]) => Number(bytes) })) ?? 0,
    tenants: () =>
      ask(lanes, { statement: TENANTS, row: ([tenant, runs]) => ({ tenant: tenant as string, runs: Number(runs) }) }),
  }
}
