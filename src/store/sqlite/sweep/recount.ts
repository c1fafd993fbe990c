/** Sets limits to the number of runs or instances that hold room under them. */
import type { Connection } from '../connection.ts'

/**
 * Runs that hold room: leased by a worker of ours, or deferred by one. A run that a foreign client has ended returns
 * its room only when it is settled; one that a foreign client leased never took any.
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

/** The number of holders of room under a limit: runs, or under a limit of instances those that execute. */
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
