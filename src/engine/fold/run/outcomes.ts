/**
 * Outcomes of one run: reported by its worker, completed by id, lost, timed out, expired or cancelled. foreign-outcomes.ts has
 * those that foreign clients write. Each is checked against the row under its lock (the fence), and either changes run and
 * instance together or changes nothing.
 */

import { missing, runError } from '../../../kernel/errors.ts'
import type { Command } from '../../../model/commands.ts'
import type { RunRow } from '../../../model/rows.ts'
import { type RunGuard, type RunHappening, transitionOf } from '../../../model/run-transitions.ts'
import type { Entries, Failure } from '../../../net/marking.ts'
import { backoffMs, retryable } from '../../../net/retry/retry.ts'
import { noteStart, recordRunEvent } from '../events.ts'
import { happen } from '../happenings.ts'
import { applyDeadlineBeforeReport, applyPassedDeadline } from '../instance/deadline.ts'
import { memberOf } from '../members.ts'
import { NeedMore } from '../need.ts'
import { outputFailure } from '../node-schemas.ts'
import { timesStandStill } from '../parking.ts'
import type { Members, WorkingSet } from '../working-set.ts'
import { findRun, finishRun, replaceRun } from './changed-runs.ts'
import { settleForeignOutcome } from './foreign-outcomes.ts'
import { recordLateSuccess } from './late-success.ts'
import { iso, reasonOf, storyOf } from './lease-events.ts'
import { type CheckedRemarks, type ExecutionReport, NO_REPORT } from './remarks.ts'
import { policyOf } from './retry-policy.ts'
import { deferred, placeOf, postponed, requeued, retried, returned } from './runs.ts'

export interface Chance {
  readonly random: () => number
}

/** What a worker reports of an execution. */
interface Report {
  readonly delivery: { readonly runId: string; readonly epoch: number }
  readonly reportId: string
  readonly startedAt: number | null
  readonly outcome:
    | { readonly kind: 'succeeded'; readonly result: string | null }
    | { readonly kind: 'failed'; readonly error: Failure }
    | { readonly kind: 'deferred'; readonly command?: Command }
    | { readonly kind: 'released' }
    | { readonly kind: 'later'; readonly delayMs: number }
}

export const UNSTORABLE: Failure = {
  code: 'unstorable',
  message: 'the outcome cannot be stored in this database',
  retryable: false,
}

/** A worker's own report. It is stale unless it names the current lease, or is the report that ended that lease. */
export function reported(
  change: WorkingSet,
  session: { readonly id: string; readonly held: (sessionId: string) => boolean },
  report: Report,
  remarks: CheckedRemarks,
  chance: Chance,
): 'recorded' | 'stale' | 'not_found' {
  const { delivery, outcome, reportId } = report
  const asked = findRun(change, delivery.runId)
  if (asked === undefined) return 'not_found'
  // A report after the deadline is too late, even if no sweep has found the deadline yet.
  if (asked.role === 'work' && asked.instanceId !== null) applyDeadlineBeforeReport(change, asked.instanceId)
  const run = findRun(change, delivery.runId) as RunRow
  const held = run.status === 'leased' && run.epoch === delivery.epoch && session.held(run.sessionId ?? '')
  if (!held) {
    const before = run.reportId === reportId && (run.epoch === delivery.epoch + 1 || run.deferred)
    if (before) {
      // Its hand-off may still wait for the reply that was lost.
      if (!change.asked.has(reportId)) {
        change.asked.add(reportId)
        throw new NeedMore({ handedBy: [{ sessionId: session.id, reportId }] })
      }
      return 'recorded'
    }
    if (outcome.kind === 'succeeded') recordLateSuccess(change, run, delivery.epoch, outcome.result)
    settleForeignOutcome(change, run.id)
    return 'stale'
  }
  const startedAt = report.startedAt === null ? null : Math.min(report.startedAt, change.now)
  const execution: ExecutionReport = { startedAt, reportId, ...remarks }
  if (outcome.kind === 'succeeded') succeed(change, run, outcome.result, execution)
  else if (outcome.kind === 'failed') failExecution(change, run, outcome.error, false, execution, chance)
  else if (outcome.kind === 'deferred') defer(change, run, execution, outcome.command ?? null)
  else if (outcome.kind === 'later') postpone(change, run, outcome.delayMs, execution)
  else giveBack(change, run, false, execution)
  return 'recorded'
}

/** Past its timeout while active, or past its expiry while not started. */
export function overdue(change: WorkingSet, runId: string, chance: Chance): void {
  const run = findRun(change, runId)
  if (run === undefined || standsStill(change, run)) return
  const late = run.timeoutAt !== null && run.timeoutAt <= change.now
  const timeout: Failure = { code: 'timeout', message: `did not end within ${run.timeoutMs} ms`, category: 'timeout' }
  if (run.status === 'leased' && late) {
    failExecution(change, run, timeout, true, NO_REPORT, chance)
  } else if (run.status === 'pending' && late) {
    // A timeout over all attempts ran out between two of them.
    endRun(change, run, EXPIRE, timeout, false, NO_REPORT, false)
  } else if (run.status === 'pending' && run.expiresAt !== null && run.expiresAt <= change.now) {
    endRun(change, run, EXPIRE, { code: 'expired', message: 'not started before it expired' }, false, NO_REPORT, false)
  }
}

/** No worker has it, and the times of its workflow stand still. */
function standsStill(change: WorkingSet, run: RunRow): boolean {
  return (run.status === 'pending' || run.deferred) && run.rootId !== null && timesStandStill(change, run.rootId)
}

/** Folding or storing its outcome fails: the run fails, so that it neither waits nor is found by every sweep. */
export function unrecordable(change: WorkingSet, runId: string): void {
  const run = findRun(change, runId)
  if (run === undefined) return
  if (run.status !== 'pending' && run.status !== 'leased') return settleForeignOutcome(change, runId, UNSTORABLE)
  endRun(change, run, REFUSE, UNSTORABLE, run.status === 'leased', NO_REPORT, policyOf(change, run).deadLetter)
}

/** An operator cancels one run. The lease of active work ends at once; whether the work took effect is unknown. */
export function cancelled(change: WorkingSet, runId: string, actor: string | null): RunRow {
  const run = findRun(change, runId)
  if (run === undefined) throw missing('run', runId)
  const { status } = run
  if (status !== 'pending' && status !== 'leased') {
    throw runError('conflict', runId, `is already ${status}`, { status, expected: 'pending' })
  }
  const active = run.status === 'leased'
  const by = actor === null ? '' : ` by ${actor}`
  const execution = actor === null ? NO_REPORT : { ...NO_REPORT, actor }
  return endRun(change, run, CANCEL, { code: 'cancelled', message: `cancelled${by}` }, active, execution, false)
}

/** A result that does not match its schema is a failure, and is not retried: the work would return the same again. */
export function succeed(change: WorkingSet, run: RunRow, result: string | null, execution: ExecutionReport): void {
  noteStart(change, run, execution.startedAt ?? run.startedAt)
  const misfit = outputFailure(change, run, result)
  if (misfit !== null) {
    endRun(change, run, MISFIT, misfit, false, execution, policyOf(change, run).deadLetter)
    return
  }
  const row = finishRun(change, run, {
    happening: 'succeed',
    now: change.now,
    result,
    error: null,
    unknown: false,
    deadLetter: false,
    failure: false,
    execution,
  })
  if (row.instanceId !== null) {
    if (row.role === 'work') applyPassedDeadline(change, row.instanceId)
    const outcome = { kind: 'succeeded' as const, ...entriesOf(execution) }
    happen(change, row.instanceId, { kind: 'ended', place: placeOf(row), outcome })
  }
}

/** `policy`: the run's own decides. The others override it; `retry` still ends when no attempt is left. */
export type How = 'policy' | 'retry' | 'discard' | 'dead_letter'

export function failExecution(
  change: WorkingSet,
  run: RunRow,
  error: Failure,
  unknown: boolean,
  execution: ExecutionReport,
  chance: Chance,
  how: How = 'policy',
  result: string | null = null,
): void {
  noteStart(change, run, execution.startedAt ?? run.startedAt)
  const retry = policyOf(change, run)
  const failures = run.attempt + 1
  const oneClock = error.code === 'timeout' && run.timeoutPer === 'node'
  const wanted = how === 'retry' || (how === 'policy' && retryable(retry, error))
  const again =
    failures < run.maxAttempts && wanted && !oneClock && !appealable(change, run, error) && !ending(change, run)
  if (!again) {
    const deadLetter = how === 'dead_letter' || (how !== 'discard' && retry.deadLetter)
    endRun(change, run, LAST_FAILURE, error, unknown, execution, deadLetter, result)
    return
  }
  const asked = (error.details as { retry_delay_ms?: number } | null | undefined)?.retry_delay_ms
  const delay =
    typeof asked === 'number'
      ? asked
      : unknown && error.code !== 'timeout'
        ? 0
        : backoffMs(retry, failures, chance.random)
  change.admission.release(run)
  const row = retried(run, { runAt: change.now + delay, error, ...execution })
  replaceRun(change, row)
  const data = {
    ...storyOf(run, unwritten(execution)),
    ...reasonOf(error),
    attempt: row.attempt,
    error,
    run_at: iso(row.runAt),
  }
  recordRunEvent(change, row, transitionOf(run.status, 'fail', 'attempt_left').event, data)
}

interface End {
  readonly happening: RunHappening
  readonly guard: RunGuard | null
}

const LAST_FAILURE: End = { happening: 'fail', guard: 'final' }
const MISFIT: End = { happening: 'succeed', guard: 'misfit' }
const EXPIRE: End = { happening: 'expire', guard: null }
const REFUSE: End = { happening: 'refuse', guard: null }
const CANCEL: End = { happening: 'cancel', guard: null }

function endRun(
  change: WorkingSet,
  run: RunRow,
  end: End,
  error: Failure,
  unknown: boolean,
  execution: ExecutionReport,
  deadLetter: boolean,
  result: string | null = null,
): RunRow {
  const failure = run.status === 'leased' && end !== CANCEL
  const row = finishRun(change, run, {
    ...end,
    now: change.now,
    result: execution.result ?? result,
    error,
    unknown,
    deadLetter,
    failure,
    execution,
  })
  if (row.instanceId !== null) {
    const kind = unknown ? ('unknown' as const) : ('failed' as const)
    const outcome = { kind, error, ...entriesOf(execution) }
    happen(change, row.instanceId, { kind: 'ended', place: placeOf(row), outcome })
  }
  return row
}

/** A command is stored only while its workflow continues: if it is ending, no service has received the command yet. */
function defer(change: WorkingSet, run: RunRow, execution: ExecutionReport, command: Command | null): void {
  if (command !== null && ending(change, run)) return giveBack(change, run, false, execution)
  noteStart(change, run, execution.startedAt ?? run.startedAt)
  const row = deferred(run, { startedAt: execution.startedAt, reportId: execution.reportId ?? '' })
  replaceRun(change, row)
  recordRunEvent(change, row, transitionOf(run.status, 'defer').event, storyOf(run, execution))
  if (command !== null && row.instanceId !== null) {
    const { id: runId, instanceId, epoch } = row
    change.commands.set(runId, { runId, instanceId, epoch, createdAt: change.now, ...command })
  }
  patch(change, row, execution)
}

/** The work continues later, as the same attempt, unless its instance is ending. */
export function postpone(change: WorkingSet, run: RunRow, delayMs: number, execution: ExecutionReport): void {
  if (ending(change, run)) return giveBack(change, run, false, execution)
  noteStart(change, run, execution.startedAt ?? run.startedAt)
  change.admission.release(run)
  const row = postponed(run, {
    runAt: change.now + delayMs,
    startedAt: execution.startedAt,
    reportId: execution.reportId,
  })
  replaceRun(change, row)
  const { event } = transitionOf(run.status, 'postpone')
  recordRunEvent(change, row, event, { ...storyOf(run, execution), run_at: iso(row.runAt) })
  patch(change, row, execution)
}

/** Writes the context entries of work that has not ended. */
function patch(change: WorkingSet, { instanceId }: RunRow, { set }: ExecutionReport): void {
  if (instanceId !== null && set !== undefined) happen(change, instanceId, { kind: 'patched', set })
}

function entriesOf({ set }: ExecutionReport): { readonly set?: Entries } {
  return set === undefined ? {} : { set }
}

/** Context entries of an execution that did not succeed are not written. */
function unwritten({ set: _, ...execution }: ExecutionReport): ExecutionReport {
  return execution
}

/** Gives back a run that was not started; if its instance is ending, the run is cancelled. */
export function giveBack(change: WorkingSet, run: RunRow, counted: boolean, execution: ExecutionReport): void {
  if (ending(change, run)) {
    const row = finishRun(change, run, {
      happening: 'return',
      guard: 'ending',
      now: change.now,
      result: execution.result ?? null,
      error: null,
      unknown: false,
      deadLetter: false,
      failure: false,
      execution: unwritten(execution),
    })
    if (row.instanceId !== null) {
      happen(change, row.instanceId, { kind: 'ended', place: placeOf(row), outcome: { kind: 'cancelled' } })
    }
    return
  }
  change.admission.release(run)
  const row = returned(run, { counted, reportId: execution.reportId })
  replaceRun(change, row)
  const { event } = transitionOf(run.status, 'return')
  recordRunEvent(change, row, event, storyOf(run, { ...unwritten(execution), startedAt: null }))
}

/** Given back after a start: claimable again at once, unless its instance is ending. */
export function requeue(
  change: WorkingSet,
  run: RunRow,
  error: Failure | null,
  execution: ExecutionReport & { reportId: string },
): void {
  if (ending(change, run)) return giveBack(change, run, false, execution)
  noteStart(change, run, run.startedAt)
  change.admission.release(run)
  const row = requeued(run, { error, reportId: execution.reportId })
  replaceRun(change, row)
  const data = { attempt: row.attempt, ...(error === null ? {} : { error }) }
  const { event } = transitionOf(run.status, 'requeue')
  recordRunEvent(change, row, event, { ...storyOf(run, { ...unwritten(execution), startedAt: null }), ...data })
}

/** A refusal by governance is for people to overrule; another attempt would not help. */
function appealable(change: Members, run: RunRow, { category }: Failure): boolean {
  if (category !== 'governance' || run.role !== 'work' || run.instanceId === null || run.node === null) return false
  return memberOf(change, run.instanceId).net.byKey.get(run.node)?.appeal !== undefined
}

/** Nothing is retried in a drain, nor is work that the undo did not wait for. */
function ending(change: Members, run: RunRow): boolean {
  if (run.cancelRequestedAt !== null) return true
  if (run.instanceId === null) return false
  const { phase } = memberOf(change, run.instanceId).row
  return phase === 'drain' || (phase === 'undo' && run.role === 'work')
}
