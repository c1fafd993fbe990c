/**
 * The report of a worker with a lease of its own: checked against the row under its lock, and applied completely or not
 * at all.
 */

import { type ErrorDetails, missing, type PetrelError, runError } from '../../kernel/errors.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { LeaseReport, LeaseSettled } from '../../model/leases.ts'
import type { RunRow } from '../../model/rows.ts'
import { memberOf } from '../fold/members.ts'
import { findRun } from '../fold/run/changed-runs.ts'
import { leaseExpired } from '../fold/run/ended-leases.ts'
import { settleForeignOutcome } from '../fold/run/foreign-outcomes.ts'
import { lastExecution, recordLateSuccess } from '../fold/run/late-success.ts'
import { type Chance, failExecution, giveBack, overdue, postpone, requeue, succeed } from '../fold/run/outcomes.ts'
import type { CheckedRemarks } from '../fold/run/remarks.ts'
import { waitOf } from '../fold/run/runs.ts'
import type { WorkingSet } from '../fold/working-set.ts'

/** A report whose parts are known to be storable. */
export interface CheckedReport {
  readonly report: LeaseReport
  readonly remarks: CheckedRemarks
  /** JSON text. */
  readonly result: string | null
  /** Identifies this report if its commit is uncertain. */
  readonly reportId: string
  /** When the report arrived, if its row was locked then: a lease that ran out later does not count. */
  readonly inTimeAt: number | null
}

/** Checks the fence and folds. A refused report changes nothing, except that a lease that has run out is ended. */
export function settleLease(change: WorkingSet, checked: CheckedReport, chance: Chance): LeaseSettled | PetrelError {
  const { report, remarks, result, reportId, inTimeAt } = checked
  const { runId, outcome } = report
  const before = findRun(change, runId)
  if (before === undefined) return missing('run', runId)
  // Its commit was uncertain, and the same report was sent again.
  if (before.status !== 'leased' && before.reportId === reportId) return settledAs(before, change.now)
  if (before.leaseMs !== null && !cameInTime(before, inTimeAt)) {
    leaseExpired(change, runId, chance)
    overdue(change, runId, chance)
  }
  const run = findRun(change, runId) as RunRow
  const refusal = refusalOf(run, report, change.now)
  if (refusal !== null) {
    if (outcome.kind === 'succeeded') noteIfUndoable(change, run, report, result)
    settleForeignOutcome(change, runId)
    return refusal
  }
  const execution = { startedAt: null, reportId, ...remarks }
  if (outcome.kind === 'succeeded') succeed(change, run, result, execution)
  else if (outcome.kind === 'requeue') requeue(change, run, outcome.error ?? null, execution)
  else if (outcome.kind === 'released') giveBack(change, run, false, execution)
  else if (outcome.kind === 'later') postpone(change, run, outcome.delayMs, execution)
  else failExecution(change, run, outcome.error, false, execution, chance, outcome.how, result)
  return settledAs(findRun(change, runId) as RunRow, change.now)
}

function cameInTime({ leaseUntil, timeoutAt }: RunRow, at: number | null): boolean {
  const over = Math.min(leaseUntil ?? Number.POSITIVE_INFINITY, timeoutAt ?? Number.POSITIVE_INFINITY)
  return at !== null && at < over
}

function settledAs(run: RunRow, now: number): LeaseSettled {
  return { run, retryDelayMs: run.status === 'pending' ? Math.max(0, run.runAt - now) : null }
}

function refusalOf(run: RunRow, { holder, attempt, epoch = null }: LeaseReport, now: number): PetrelError | null {
  if (run.status !== 'leased')
    return conflict(run, now, `is ${wordOf(run, now)}; only the holder of its lease may report`)
  if (run.leaseMs === null || run.deferred) {
    const who = run.deferred
      ? 'was deferred and is completed by its id'
      : `is held by worker ${unscopedName(run.leasedBy) ?? '?'}`
    return conflict(run, now, `${who}, not under a lease of its own`)
  }
  if (holder !== null && run.leasedBy !== holder) {
    return conflict(run, now, `is held by worker ${unscopedName(run.leasedBy) ?? '?'}, not by ${unscopedName(holder)}`)
  }
  if (epoch !== null && epoch !== run.epoch) {
    return conflict(run, now, 'was given out again since', { given_out_again: true })
  }
  if (attempt !== null && attempt !== run.attempt + 1) {
    return conflict(run, now, `is at attempt ${run.attempt + 1}, not ${attempt}`)
  }
  return null
}

/** Whether two workers have held the run and the report does not name its worker. */
export function ambiguous(run: RunRow): PetrelError {
  const what = 'was given out again after a lease that ended without a report: name worker_id or attempt in the report'
  return conflict(run, run.runAt, what)
}

function conflict(run: RunRow, now: number, problem: string, more: ErrorDetails = {}): PetrelError {
  const { id, status } = run
  const wait = status === 'pending' ? { wait: waitOf(run, now) } : {}
  return runError('conflict', id, problem, { status, ...wait, expected: 'leased', ...more })
}

function wordOf(run: RunRow, now: number): string {
  return run.status === 'pending' ? waitOf(run, now) : run.status
}

/** A success of the execution that was given up: if the work can be undone, the undo must know of it. */
function noteIfUndoable(
  change: WorkingSet,
  run: RunRow,
  { attempt, epoch = null }: LeaseReport,
  result: string | null,
): void {
  const last = lastExecution(run)
  if (run.instanceId === null || run.node === null || last === null) return
  const theVeryStart = epoch === null ? attempt !== null && attempt === run.attempt : epoch === last
  if (!theVeryStart || memberOf(change, run.instanceId).net.byKey.get(run.node)?.undo === null) return
  recordLateSuccess(change, run, last, result)
}
