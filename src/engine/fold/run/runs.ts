/** Run rows and the few ways they change. Each function takes a row and returns a complete row. */

import type { RunWait } from '../../../model/queries/queries.ts'
import { HELD_AT, type JsonText, PARKED_AT, RUN, type RunRow, type RunStatus } from '../../../model/rows.ts'
import { type RunGuard, type RunHappening, transitionOf } from '../../../model/run-transitions.ts'
import { blank } from '../../../model/table.ts'
import type { Failure, Place } from '../../../net/marking.ts'
import { type ExecutionReport, NO_REPORT } from './remarks.ts'

/**
 * How many leases may end without a start before the execution counts as failed: the run may kill its worker on
 * delivery.
 */
export const MAX_DELIVERIES = 10

export const blankRun = blank(RUN)

export interface NewRun {
  readonly id: string
  readonly type: string
  readonly payload: JsonText
  readonly now: number
}

export function newRun(required: NewRun, rest: Partial<RunRow>): RunRow {
  const run = blankRun()
  run.status = transitionOf(null, 'create').to
  run.id = required.id
  run.type = required.type
  run.payload = required.payload
  run.runAt = required.now
  run.createdAt = required.now
  return Object.assign(run, rest)
}

export function placeOf(run: RunRow): Place {
  return { node: run.node ?? '', fire: run.fire, item: run.item, role: run.role, scope: run.scope }
}

export interface Holder {
  readonly id: string
  readonly name: string
}

/** The same for a run created in this transaction: no other code has the row yet, so it is not copied. */
export function createdLeased(run: RunRow, holder: Holder, now: number, reportId: string): RunRow {
  const row = run as { -readonly [K in keyof RunRow]: RunRow[K] }
  row.status = transitionOf(run.status, 'claim').to
  row.leasedBy = holder.name
  row.sessionId = holder.id
  row.leasedAt = now
  row.reportId = reportId
  return row
}

export function leased(run: RunRow, holder: Holder, now: number, reportId: string | null): RunRow {
  return {
    ...run,
    status: transitionOf(run.status, 'claim').to,
    leasedBy: holder.name,
    sessionId: holder.id,
    leaseUntil: null,
    leaseMs: null,
    leasedAt: now,
    startedAt: null,
    timeoutAt: nodeClock(run),
    reportId,
  }
}

/** A lease of its own, without a session: the start is not reported separately, so the claim is the start. */
export function leasedAlone(
  run: RunRow,
  p: { readonly holder: string; readonly leaseMs: number; readonly now: number },
): RunRow {
  const firstStartedAt = run.firstStartedAt ?? p.now
  return {
    ...run,
    status: transitionOf(run.status, 'claim', 'own_lease').to,
    leasedBy: p.holder,
    sessionId: null,
    leaseUntil: p.now + p.leaseMs,
    leaseMs: p.leaseMs,
    leasedAt: p.now,
    startedAt: p.now,
    firstStartedAt,
    timeoutAt: timeoutAt({ ...run, firstStartedAt }, p.now),
    reportId: null,
  }
}

/** The lease is over; the increased epoch makes later reports of its holder stale. */
const UNLEASED = {
  leasedBy: null,
  sessionId: null,
  leaseUntil: null,
  leaseMs: null,
  leasedAt: null,
  timeoutAt: null,
  deferred: false,
} as const

export interface Finish {
  readonly happening: RunHappening
  readonly guard?: RunGuard | null
  readonly now: number
  readonly result: JsonText | null
  readonly error: Failure | null
  readonly unknown: boolean
  readonly deadLetter: boolean
  /** true: this end counts as another failed execution. */
  readonly failure: boolean
  readonly execution: ExecutionReport
}

/** A run that was not started and that its workflow no longer needs. */
export const CANCELLED_UNSTARTED = {
  happening: 'cancel',
  result: null,
  error: null,
  unknown: false,
  deadLetter: false,
  failure: false,
  execution: NO_REPORT,
} as const

export function finished(run: RunRow, status: RunStatus, f: Finish, seq: number | null): RunRow {
  const startedAt = f.execution.startedAt ?? run.startedAt
  return {
    ...run,
    // Written out instead of a spread: every step creates such a row.
    leasedBy: null,
    sessionId: null,
    leaseUntil: null,
    leaseMs: null,
    leasedAt: null,
    timeoutAt: null,
    deferred: false,
    epoch: run.epoch + 1,
    status,
    attempt: run.attempt + (f.failure ? 1 : 0),
    result: f.result,
    lastError: f.error?.message ?? (status === 'succeeded' ? null : run.lastError),
    error: f.error === null ? (status === 'succeeded' ? null : run.error) : JSON.stringify(f.error),
    unknown: f.unknown,
    startedAt,
    firstStartedAt: run.firstStartedAt ?? startedAt,
    finishedAt: f.now,
    settledAt: f.now,
    doneSeq: seq,
    reportId: f.execution.reportId,
    deadLetter: f.deadLetter,
  }
}

/** Ended by a foreign client: its lease is removed. The write that ended it has increased the epoch. */
export function settled(
  run: RunRow,
  p: {
    readonly now: number
    readonly seq: number | null
    readonly error: Failure | null
    readonly deadLetter: boolean
  },
): RunRow {
  return {
    ...run,
    ...UNLEASED,
    lastError: p.error?.message ?? null,
    error: p.error === null ? null : JSON.stringify(p.error),
    finishedAt: run.finishedAt ?? p.now,
    settledAt: p.now,
    doneSeq: p.seq,
    reportId: null,
    deadLetter: p.deadLetter,
  }
}

/** After a failed execution that will be retried. */
export function retried(
  run: RunRow,
  p: {
    readonly runAt: number
    readonly error: Failure
    readonly startedAt: number | null
    readonly reportId: string | null
  },
): RunRow {
  const startedAt = p.startedAt ?? run.startedAt
  return {
    ...run,
    ...UNLEASED,
    epoch: run.epoch + 1,
    status: transitionOf(run.status, 'fail', 'attempt_left').to,
    timeoutAt: nodeClock({ ...run, firstStartedAt: run.firstStartedAt ?? startedAt }),
    attempt: run.attempt + 1,
    runAt: p.runAt,
    lastError: p.error.message,
    error: JSON.stringify(p.error),
    firstStartedAt: run.firstStartedAt ?? startedAt,
    startedAt: null,
    deliveries: 0,
    reportId: p.reportId,
  }
}

/** Given back or lost without a start: no attempt is spent. */
export function returned(run: RunRow, p: { readonly counted: boolean; readonly reportId: string | null }): RunRow {
  return {
    ...run,
    ...UNLEASED,
    epoch: run.epoch + 1,
    status: transitionOf(run.status, 'return').to,
    timeoutAt: nodeClock(run),
    startedAt: null,
    deliveries: run.deliveries + (p.counted ? 1 : 0),
    reportId: p.reportId,
  }
}

/** Given back by its worker after a start, which stays counted. It keeps its place in the queue. */
export function requeued(run: RunRow, p: { readonly error: Failure | null; readonly reportId: string }): RunRow {
  return {
    ...returned(run, { counted: false, reportId: p.reportId }),
    status: transitionOf(run.status, 'requeue').to,
    attempt: run.attempt + 1,
    deliveries: 0,
    lastError: p.error?.message ?? run.lastError,
    error: p.error === null ? run.error : JSON.stringify(p.error),
  }
}

/** Its worker continues later: the execution has started but not ended. A timeout over all attempts continues. */
export function postponed(
  run: RunRow,
  p: { readonly runAt: number; readonly startedAt: number | null; readonly reportId: string | null },
): RunRow {
  const firstStartedAt = run.firstStartedAt ?? p.startedAt ?? run.startedAt
  const before = { ...run, firstStartedAt }
  const { to: status } = transitionOf(run.status, 'postpone')
  return { ...returned(before, { counted: false, reportId: p.reportId }), status, runAt: p.runAt, deliveries: 0 }
}

/**
 * Its worker has finished; the outcome is reported later by id. No worker holds it, so only a timeout can end it
 * before.
 */
export function deferred(run: RunRow, p: { readonly startedAt: number | null; readonly reportId: string }): RunRow {
  const startedAt = p.startedAt ?? run.startedAt
  return {
    ...run,
    status: transitionOf(run.status, 'defer').to,
    deferred: true,
    sessionId: null,
    leaseUntil: null,
    startedAt,
    firstStartedAt: run.firstStartedAt ?? startedAt,
    timeoutAt: timeoutAt(run, startedAt),
    reportId: p.reportId,
  }
}

/** Pending again, as if new: the only exit of a terminal run. */
export function redriven(run: RunRow, now: number): RunRow {
  return {
    ...run,
    ...UNLEASED,
    epoch: run.epoch + 1,
    status: transitionOf(run.status, 'redrive').to,
    attempt: 0,
    deliveries: 0,
    runAt: now,
    lastError: null,
    error: null,
    result: null,
    unknown: false,
    startedAt: null,
    firstStartedAt: null,
    finishedAt: null,
    settledAt: null,
    doneSeq: null,
    reportId: null,
    deadLetter: false,
    cancelRequestedAt: null,
  }
}

/** Why a pending run waits; meaningless for other runs. */
export function waitOf(run: Pick<RunRow, 'runAt' | 'attempt'>, now: number): RunWait {
  if (run.runAt <= now) return 'available'
  if (run.runAt >= PARKED_AT) return 'paused'
  if (run.runAt >= HELD_AT) return 'held'
  return run.attempt > 0 ? 'retryable' : 'scheduled'
}

/** A timeout over all attempts continues while the run waits for the next one. */
function nodeClock(run: RunRow): number | null {
  return run.timeoutPer === 'node' ? timeoutAt(run, run.firstStartedAt) : null
}

function timeoutAt(run: RunRow, startedAt: number | null): number | null {
  if (run.timeoutMs === null || startedAt === null) return null
  return (run.timeoutPer === 'node' ? (run.firstStartedAt ?? startedAt) : startedAt) + run.timeoutMs
}
