/**
 * The state of a job, derived from its run. It is not stored: a scheduled job becomes available when its time has come,
 * without any write.
 *
 *   scheduled   pending, runs later for the first time        pending     pending, waits for `activate`
 *   available   pending and due                               retryable   pending, runs again later
 *   active      leased                                        completed   succeeded
 *   discarded   failed for good, or expired unstarted         cancelled   cancelled
 */

import type { RunRow } from '../../../model/rows.ts'
import { HELD_AT } from '../../../model/rows.ts'

export const JOB_STATES = [
  'scheduled',
  'available',
  'pending',
  'active',
  'completed',
  'retryable',
  'cancelled',
  'discarded',
] as const

export type JobState = (typeof JOB_STATES)[number]

const BY_STATUS = { leased: 'active', succeeded: 'completed', failed: 'discarded', cancelled: 'cancelled' } as const

type Standing = Pick<RunRow, 'status' | 'attempt' | 'runAt'>

export function jobState(run: Standing, now: number): JobState {
  return run.status === 'pending' ? waitingState(run, now) : BY_STATUS[run.status]
}

/** The state of a cancelled run before the cancel, which its row still shows. */
export function stateBeforeCancel(run: Standing & Pick<RunRow, 'unknown' | 'finishedAt'>): JobState {
  return run.unknown ? 'active' : waitingState(run, run.finishedAt ?? run.runAt)
}

function waitingState(run: Standing, now: number): JobState {
  if (run.runAt >= HELD_AT) return 'pending'
  if (run.runAt <= now) return 'available'
  return run.attempt > 0 ? 'retryable' : 'scheduled'
}

/** OJS counts starts, rows count failed executions: they differ by an execution that is running or has succeeded. */
export function startsOf(run: Pick<RunRow, 'status' | 'attempt' | 'unknown'>): number {
  const oneMore = run.status === 'leased' || run.status === 'succeeded' || (run.status === 'cancelled' && run.unknown)
  return run.attempt + (oneMore ? 1 : 0)
}
