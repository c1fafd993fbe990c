/** Successes that are reported after the run was given up: the instance must know of the effect if it is to undo it. */

import type { RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import type { Happening } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { undoesInPlace, undoFollows } from '../../../net/transitions.ts'
import { recordRunEvent } from '../events.ts'
import { happen } from '../happenings.ts'
import { memberOf } from '../members.ts'
import type { WorkingSet } from '../working-set.ts'
import { findRun, finishRun, replaceRun } from './changed-runs.ts'
import { settleForeignOutcome } from './foreign-outcomes.ts'
import type { ExecutionReport } from './remarks.ts'
import { placeOf } from './runs.ts'

/** Records that the work took effect after the run was given up, for the undo and for operators. */
export function recordLateSuccess(change: WorkingSet, run: RunRow, epoch: number, result: string | null): void {
  if (lastExecution(run) === epoch) applyLateSuccess(change, run, result)
}

/** The same where it is certain that it was this run's work. */
export function applyLateSuccess(change: WorkingSet, run: RunRow, result: string | null): void {
  if (run.instanceId === null) return
  const undoable = memberOf(change, run.instanceId).net.byKey.get(run.node ?? '')?.undo != null
  // It cannot be undone, and it is settled that it was given up.
  if (!undoable && !run.unknown) return
  recordRunEvent(change, run, transitionOf(run.status, 'report_late').event, null)
  const returned = result === null ? null : (JSON.parse(result) as Json)
  const cancelled = !run.unknown
  happenLate(change, run, { result: returned, cancelled })
  // A foreign client cancelled it in this transaction: to its net the outcome is unknown, as it would be a moment
  // later.
  settleForeignOutcome(change, run.id)
  const row = findRun(change, run.id) as RunRow
  // The undo needs the result; its presence also shows that the late success was recorded.
  replaceRun(change, { ...row, unknown: false, result: undoable ? (result ?? 'null') : row.result })
}

/** A late report that the work was not done: a rollback has nothing to undo there, and its doubt is resolved. */
export function recordLateRefusal(change: WorkingSet, run: RunRow): void {
  if (run.instanceId === null || !run.unknown || run.role === 'undo') return
  const { net, row } = memberOf(change, run.instanceId)
  if (!undoFollows(net.net, row) || !undoesInPlace(net.net)) return
  happenLate(change, run, { refused: true })
  replaceRun(change, { ...run, unknown: false })
}

/** true: the undo at which a rollback stopped has succeeded after all, and the rollback continues with the next one. */
export function undoneLate(change: WorkingSet, run: RunRow, result: string, execution: ExecutionReport): boolean {
  if (run.role !== 'undo' || run.status !== 'failed' || run.instanceId === null) return false
  const { net, row } = memberOf(change, run.instanceId)
  if (!undoesInPlace(net.net) || row.parentNode !== null) return false
  const how = { result, error: null, unknown: false, deadLetter: false, failure: false, execution, now: change.now }
  recordRunEvent(change, run, transitionOf(run.status, 'redrive').event, { because: 'late_success' })
  finishRun(change, run, { ...how, happening: 'undo_late' })
  happenLate(change, run, {})
  return true
}

type Late = Omit<Extract<Happening, { kind: 'late' }>, 'kind' | 'place'>

/** A nested instance that has ended does not continue: its parent has already advanced. */
function happenLate(change: WorkingSet, run: RunRow, about: Late): void {
  const instanceId = run.instanceId as string
  const { phase, parentNode } = memberOf(change, instanceId).row
  if (phase === 'ended' && parentNode !== null) return
  happen(change, instanceId, { kind: 'late', place: placeOf(run), ...about })
}

const LOST: ReadonlySet<unknown> = new Set([
  'worker_lost',
  'worker_death',
  'lease_expired',
  'visibility_timeout',
  'timeout',
])

/** The epoch of the execution with which a run was given up, if the outcome is unknown; otherwise null. */
export function lastExecution(run: RunRow): number | null {
  if (run.status !== 'failed' && run.status !== 'cancelled') return null
  if (run.unknown) return run.epoch - 1
  if (run.status !== 'cancelled' || run.result !== null || run.error === null) return null
  // It was lost, was to be retried, and was cancelled before the retry.
  const { code } = JSON.parse(run.error) as { readonly code?: unknown }
  return LOST.has(code) ? run.epoch - 2 : null
}
