/** When the next row becomes due: each time has its own partial index, so each is one look at its first entry. */
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import { waitingQueues, waitingTypes } from '../load/claimable.ts'

const TIMERS = `SELECT min(at) FROM (
  SELECT min(timeout_at) AS at FROM workflow_run WHERE timeout_at > ?1 AND (status = 'pending' OR status = 'leased')
  UNION ALL
  SELECT min(expires_at) FROM workflow_run WHERE expires_at > ?1 AND status = 'pending' AND deleted_at IS NULL
  UNION ALL
  SELECT min(lease_until) FROM workflow_run WHERE status = 'leased' AND lease_until > ?1
  UNION ALL
  SELECT min(deadline_at) FROM workflow_instance WHERE deadline_at > ?1 AND ended_at IS NULL
  UNION ALL
  SELECT min(due_at) FROM workflow_gate WHERE state = 'open' AND due_at > ?1
  UNION ALL
  SELECT min(escalate_at) FROM workflow_gate WHERE state = 'open' AND escalate_at > ?1
  UNION ALL
  SELECT min(next_at) FROM workflow_cron WHERE enabled = 1 AND next_at > ?1
  UNION ALL
  SELECT min(next_run_at) FROM workflow_schedule WHERE enabled = 1 AND deleted_at IS NULL AND next_run_at > ?1)`
const PRIORITIES = `SELECT priority FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
  WHERE status = 'pending' AND deleted_at IS NULL AND queue = ? AND type = ? AND priority > ? ORDER BY priority LIMIT 1`
const NEXT_RUN = `SELECT run_at FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
  WHERE status = 'pending' AND deleted_at IS NULL AND queue = ? AND type = ? AND priority = ? AND run_at > ?
  ORDER BY run_at LIMIT 1`

/** A run that may be claimed now is not "due next": only run_at in the future counts. */
export function nextDueAt(connection: Connection, after = Number.MIN_SAFE_INTEGER): number | null {
  const now = readClock(connection)
  let next = connection.statement(TIMERS).get(after)?.[0] as number | null
  const priorities = connection.statement(PRIORITIES)
  for (const queue of waitingQueues(connection)) {
    for (const type of waitingTypes(connection, queue, '')) {
      let cells = priorities.get(queue, type, Number.MIN_SAFE_INTEGER)
      for (; cells !== undefined; cells = priorities.get(queue, type, cells[0] as number)) {
        const at = connection.statement(NEXT_RUN).get(queue, type, cells[0] as number, now)?.[0] as number | undefined
        if (at !== undefined && (next === null || at < next)) next = at
      }
    }
  }
  return next
}
