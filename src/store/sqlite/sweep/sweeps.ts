/** Finds due work, and makes small writes that touch no instance. */
import { HELD_AT } from '../../../model/rows.ts'
import type { RunKey, Sweeps } from '../../sweeps.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { waitingQueues, waitingTypes } from '../load/claimable.ts'
import { GATE_CELLS, gateOf, SCHEDULE_CELLS, scheduleOf } from '../row/narrow-rows.ts'
import { DUE_DEBOUNCES, debounceOf } from '../tables/debounce.ts'
import { clockWentBack } from './clock-back.ts'
import { checkpoint, extendLeases, progress, started } from './lease.ts'
import { prunable, prune } from './prune.ts'
import { recountLimits } from './recount.ts'
import { RUN_KEY_CELLS, runKeyOf } from './run-key.ts'
import { beat, beatLease, keepAlive, lostRuns } from './sessions.ts'
import { addTotals } from './totals.ts'

const EXPIRED_LEASES = `SELECT ${RUN_KEY_CELLS} FROM workflow_run
  WHERE status = 'leased' AND lease_until IS NOT NULL AND lease_until <= ?1 ORDER BY lease_until LIMIT ?2`
/** A timeout over all attempts also runs while the run waits for its next one. */
const TIMED_OUT = `SELECT ${RUN_KEY_CELLS} FROM workflow_run
  WHERE timeout_at IS NOT NULL AND (status = 'pending' OR status = 'leased') AND timeout_at <= ?1
  ORDER BY timeout_at LIMIT ?2`
const EXPIRED = `SELECT ${RUN_KEY_CELLS} FROM workflow_run
  WHERE expires_at IS NOT NULL AND status = 'pending' AND deleted_at IS NULL AND expires_at <= ?1
  ORDER BY expires_at LIMIT ?2`
const OVERDUE_INSTANCES = `SELECT id, root_id FROM workflow_instance
  WHERE deadline_at IS NOT NULL AND ended_at IS NULL AND deadline_at <= ?1 ORDER BY deadline_at LIMIT ?2`
const OVERDUE_GATES = `SELECT ${GATE_CELLS} FROM workflow_gate
  WHERE state = 'open' AND due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2`
const ESCALATING_GATES = `SELECT ${GATE_CELLS} FROM workflow_gate
  WHERE state = 'open' AND escalate_at IS NOT NULL AND escalate_at <= ?1 ORDER BY escalate_at LIMIT ?2`
const UNSETTLED_RUNS = `SELECT ${RUN_KEY_CELLS} FROM workflow_run
  WHERE settled_at IS NULL AND status <> 'pending' AND status <> 'leased' ORDER BY id LIMIT ?`
/**
 * Along the index of leases that have an end: those of foreign clients, and of workers over HTTP, which report starts
 * themselves.
 */
const BEGUN_OUTSIDE = `SELECT run.id, run.root_id, run.instance_id
  FROM workflow_run run INDEXED BY idx_workflow_run_lease_until
  JOIN workflow_instance instance ON instance.id = run.instance_id AND instance.started_at IS NULL
  WHERE run.status = 'leased' AND run.lease_until IS NOT NULL AND run.session_id IS NULL AND run.lease_ms IS NULL
    AND run.started_at IS NOT NULL LIMIT ?`
const UNFINISHED = 'SELECT id, root_id FROM workflow_instance WHERE more = 1 ORDER BY id LIMIT ?'
const QUEUED = `workflow_instance INDEXED BY idx_workflow_instance_slot
  WHERE slot_key IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND slot_key`
/** A paused one is queued beyond every clock: it keeps no other from beginning. */
const ORDERLY = `queued_at < ${HELD_AT}`
/** A paused definition begins nothing. */
const CLOSED = `SELECT 1 FROM workflow_pause p WHERE p.kind = 'definition' AND p.state = 'paused' AND p.key`
const FREE_QUOTAS = `SELECT l.key FROM workflow_limit l
  WHERE NOT EXISTS (${CLOSED} = l.key) AND l.key >= 'workflow:' AND l.key < 'workflow;' AND (l.max_concurrent IS NULL OR l.in_use < l.max_concurrent)
    AND EXISTS (SELECT 1 FROM ${QUEUED} = l.key AND ${ORDERLY}) ORDER BY l.key LIMIT ?`
/** The instances that may begin; whether there is room is checked again under the write lock. */
const NEXT_QUEUED = `SELECT id, net_hash FROM ${QUEUED} = ?1 AND ${ORDERLY}
  AND id NOT IN (SELECT value FROM json_each(?3)) AND NOT EXISTS (${CLOSED} = ?1) ORDER BY queued_at, id
  LIMIT min(max(coalesce((SELECT max_concurrent - in_use FROM workflow_limit WHERE key = ?1), ?2), 0), ?2)`
const DUE_SCHEDULES = `SELECT ${SCHEDULE_CELLS} FROM workflow_cron
  WHERE enabled = 1 AND next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at, name LIMIT ?2`

export function sweepsOn(connection: Connection): Sweeps {
  const find = <Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]) =>
    connection.read(() =>
      connection
        .statement(sql)
        .all(...values)
        .map(rowOf),
    )
  const due = <Row>(rowOf: (cells: Cells) => Row, sql: string, limit: number) =>
    connection.read(() => connection.statement(sql).all(readClock(connection), limit).map(rowOf))

  return {
    beat: (params) => connection.write(() => beat(connection, params)),
    lostRuns: (params) => lostRuns(connection, params.limit),
    expiredLeases: ({ limit }) => due(runKeyOf, EXPIRED_LEASES, limit),
    overdueRuns: ({ limit }) => connection.read(() => overdueRuns(connection, limit)),
    overdueInstances: ({ limit }) => due(instanceKeyOf, OVERDUE_INSTANCES, limit),
    overdueGates: ({ limit }) => due(gateOf, OVERDUE_GATES, limit),
    escalatingGates: ({ limit }) => due(gateOf, ESCALATING_GATES, limit),
    unsettledRuns: ({ limit }) => find(runKeyOf, UNSETTLED_RUNS, limit),
    foreignStarts: ({ limit }) => find(runKeyOf, BEGUN_OUTSIDE, limit),
    unfinishedCascades: ({ limit }) => find(instanceKeyOf, UNFINISHED, limit),
    freeQuotas: ({ limit }) => find(([key]) => key as string, FREE_QUOTAS, limit),
    nextQueued: ({ key, limit, skip }) => find(queuedOf, NEXT_QUEUED, key, limit, JSON.stringify(skip)),
    dueSchedules: ({ limit }) => due(scheduleOf, DUE_SCHEDULES, limit),
    dueDebounces: ({ limit }) => due(debounceOf, DUE_DEBOUNCES, limit),
    nextDueAt: (after) => connection.read(() => nextDueAt(connection, after)),
    started: ({ runs }) => connection.write(() => started(connection, runs)),
    extendLeases: (params) => connection.write(() => extendLeases(connection, params)),
    keepAlive: ({ workerId }) => connection.write(() => keepAlive(connection, workerId)),
    beatLease: (params) => connection.write(() => beatLease(connection, params)),
    addTotals: ({ totals }) =>
      totals.length === 0
        ? Promise.resolve()
        : connection.write(
            () => addTotals(connection, totals),
            // Nothing remembered has changed.
            () => undefined,
          ),
    checkpoint: (params) => connection.write(() => checkpoint(connection, params)),
    progress: (params) => connection.write(() => progress(connection, params)),
    recountLimits: ({ keys }) => connection.write(() => recountLimits(connection, keys)),
    clockWentBack: (params) => clockWentBack(connection, params),
    prunable: (params) => connection.read(() => prunable(connection, params)),
    prune: (params) => connection.write(() => prune(connection, params)),
  }
}

function overdueRuns(connection: Connection, limit: number): RunKey[] {
  const now = readClock(connection)
  const found = [TIMED_OUT, EXPIRED].flatMap((sql) => connection.statement(sql).all(now, limit).map(runKeyOf))
  return [...new Map(found.map((run) => [run.id, run])).values()].slice(0, limit)
}

function queuedOf(cells: Cells): { id: string; netHash: string } {
  return { id: cells[0] as string, netHash: cells[1] as string }
}

function instanceKeyOf(cells: Cells): { id: string; rootId: string } {
  return { id: cells[0] as string, rootId: cells[1] as string }
}

/** Each of these times has its own partial index, so each is one look at its first entry. */
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
  SELECT min(due_at) FROM workflow_debounce WHERE due_at > ?1
  UNION ALL
  SELECT min(next_run_at) FROM workflow_schedule WHERE enabled = 1 AND deleted_at IS NULL AND next_run_at > ?1)`
const PRIORITIES = `SELECT priority FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
  WHERE status = 'pending' AND deleted_at IS NULL AND queue = ? AND type = ? AND priority > ? ORDER BY priority LIMIT 1`
const NEXT_RUN = `SELECT run_at FROM workflow_run INDEXED BY idx_workflow_run_type_prefix
  WHERE status = 'pending' AND deleted_at IS NULL AND queue = ? AND type = ? AND priority = ? AND run_at > ?
  ORDER BY run_at LIMIT 1`

/** A run that may be claimed now is not "due next": only run_at in the future counts. */
function nextDueAt(connection: Connection, after = Number.MIN_SAFE_INTEGER): number | null {
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
