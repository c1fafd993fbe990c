/** Lists and counts for operators. */
import { MAX_COUNTED_GATES, type Overview } from '../../../model/queries/overview.ts'
import type { RunStatus } from '../../../model/rows.ts'
import type { Connection } from '../connection.ts'
import { trafficOf } from '../read/queueing.ts'
import { COUNTS } from '../sweep/totals.ts'

const PRIORITIES = `SELECT priority, count(*) FROM workflow_run
  WHERE status = 'pending' AND deleted_at IS NULL AND queue = ? GROUP BY priority ORDER BY priority`
const UNIQUES = `SELECT u.key, r.id, r.type, r.queue, r.status, r.attempt, r.run_at, r.tenant, u.expires_at, u.states
  FROM workflow_unique u JOIN workflow_run r ON r.id = u.run_id
  WHERE ?1 IS NULL OR r.tenant = ?1 ORDER BY u.key LIMIT ?2 OFFSET ?3`
const TENANTS = `SELECT tenant, count(*) FROM workflow_run
  WHERE tenant IS NOT NULL AND deleted_at IS NULL GROUP BY tenant ORDER BY tenant`
/** The primary key begins with the queue: each name is found by one look into it. */
const MINUTES = `WITH RECURSIVE passed(name) AS (
    SELECT min(queue) FROM workflow_total
    UNION ALL
    SELECT (SELECT min(queue) FROM workflow_total WHERE queue > p.name) FROM passed p WHERE p.name IS NOT NULL
    LIMIT ?)
  SELECT t.minute, ${COUNTS.map((name) => `sum(t.${name})`).join(', ')}
  FROM passed p JOIN workflow_total t ON t.queue = p.name
  WHERE t.minute >= ? AND t.minute > 0 GROUP BY t.minute ORDER BY t.minute`
const OF_TENANT = `(?1 IS NULL OR EXISTS (SELECT 1 FROM workflow_instance i WHERE i.id = g.instance_id AND i.tenant IS nullif(?1, '')))`
const GATES = `SELECT count(*), min(g.created_at)
  FROM (SELECT instance_id, created_at FROM workflow_gate WHERE state = 'open' ORDER BY id LIMIT ${MAX_COUNTED_GATES}) g
  WHERE ${OF_TENANT}`
const SOONEST = `SELECT g.id, g.instance_id, g.node, g.due_at
  FROM (SELECT id, instance_id, node, due_at FROM workflow_gate WHERE state = 'open' AND due_at IS NOT NULL
    ORDER BY due_at LIMIT ${MAX_COUNTED_GATES}) g
  WHERE ${OF_TENANT} ORDER BY g.due_at LIMIT 1`
const BYTES = 'SELECT page_count * page_size FROM pragma_page_count, pragma_page_size'

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
    minutes: ({ most, since }) =>
      connection.readLong((on) =>
        on
          .statement(MINUTES)
          .all(most, since)
          .map((cells) => trafficOf('', cells as readonly number[])),
      ),
    openGates: ({ tenant }) =>
      connection.readLong((on) => {
        const [count, oldestAt] = on.statement(GATES).get(tenant) as readonly (number | null)[]
        const soonest = on.statement(SOONEST).get(tenant)
        return {
          count: count as number,
          oldestAt: oldestAt ?? null,
          soonest:
            soonest === undefined
              ? null
              : {
                  id: soonest[0] as string,
                  instanceId: soonest[1] as string,
                  node: soonest[2] as string,
                  dueAt: soonest[3] as number,
                },
        }
      }),
    bytes: () => connection.readLong((on) => on.statement(BYTES).get()?.[0] as number),
    tenants: () =>
      connection.readLong((on) =>
        on
          .statement(TENANTS)
          .all()
          .map(([tenant, runs]) => ({ tenant: tenant as string, runs: runs as number })),
      ),
  }
}
