/** Sets limits right from what really holds room under them. */
import type { Connection } from '../connection.ts'

/**
 * Who holds room: leased by a worker of ours, or deferred by one. What a foreign client ended meanwhile gives its room
 * back only when it is settled; what a foreign client leased never took any.
 */
const HOLDS_ROOM = '(run.session_id IS NOT NULL OR run.lease_ms IS NOT NULL OR run.deferred = 1)'
const UNSETTLED = "run.settled_at IS NULL AND run.status <> 'pending' AND run.status <> 'leased'"

/** Runs that hold room under a limit; two parts, each along its own index. `key` is the SQL of the limit's key. */
function holdersOf(key: string): string {
  const under = `${HOLDS_ROOM} AND ('queue:' || run.queue = ${key} OR 'key:' || run.limit_key = ${key})`
  return `SELECT run.id FROM workflow_run run INDEXED BY idx_workflow_run_leased WHERE run.status = 'leased' AND ${under}
    UNION ALL
    SELECT run.id FROM workflow_run run INDEXED BY idx_workflow_run_unsettled WHERE ${UNSETTLED} AND ${under}`
}

/** What holds room under a limit, counted: runs, or under a limit of instances those that execute. */
export function inUseOf(key: string): string {
  return `CASE WHEN ${key} LIKE 'workflow:%'
    THEN (SELECT count(*) FROM workflow_instance instance INDEXED BY idx_workflow_instance_slot
      WHERE slot_key IS NOT NULL AND ended_at IS NULL AND slot_key = ${key}
        AND state IN ('running', 'waiting', 'cancelling', 'compensating'))
    ELSE (SELECT count(*) FROM (${holdersOf(key)})) END`
}

const RECOUNT = `UPDATE workflow_limit SET in_use = ${inUseOf('workflow_limit.key')} WHERE key = ?`

export function recountLimits(connection: Connection, keys: readonly string[]): void {
  for (const key of keys) connection.statement(RECOUNT).get(key)
}
