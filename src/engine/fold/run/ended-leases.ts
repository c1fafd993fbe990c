/**
 * Leases that end without a report of their worker: its session died, the lease ran out, or no worker received the run.
 */

import type { RunRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import { NeedMore } from '../need.ts'
import type { WorkingSet } from '../working-set.ts'
import { findRun } from './changed-runs.ts'
import type { Chance } from './outcomes.ts'
import { failExecution, giveBack, overdue } from './outcomes.ts'
import { NO_REPORT } from './remarks.ts'
import { MAX_DELIVERIES } from './runs.ts'
/**
 * The session of a run died. Started work counts as a failed execution; a delivery without a start does not, up to a
 * limit.
 */
export function lost(change: WorkingSet, runId: string, chance: Chance): void {
  const run = findRun(change, runId)
  if (run === undefined || run.status !== 'leased' || run.sessionId === null) return
  const session = change.loaded.sessions.get(run.sessionId)
  if (session === undefined && !change.asked.has(run.sessionId)) {
    change.asked.add(run.sessionId)
    throw new NeedMore({ sessions: [run.sessionId] })
  }
  if (session !== undefined && session.state !== 'dead') return
  if (run.startedAt === null && run.deliveries + 1 < MAX_DELIVERIES) return giveBack(change, run, true, NO_REPORT)
  const message =
    run.startedAt === null ? 'delivered too often without a start' : `worker ${run.leasedBy ?? '?'} was lost`
  failExecution(change, run, { code: 'worker_lost', message, category: 'transient' }, true, NO_REPORT, chance)
}

/**
 * A run is leased to a session whose worker does not hold it. If it never started it is given back as if it had not been
 * leased; otherwise its outcome is lost, which costs an attempt.
 */
export function strayed(
  change: WorkingSet,
  runId: string,
  held: { readonly sessionId: string; readonly epoch: number; readonly chance: Chance },
): void {
  const run = findRun(change, runId)
  if (run?.status !== 'leased' || run.sessionId !== held.sessionId || run.epoch !== held.epoch) return
  if (run.startedAt === null) return giveBack(change, run, false, NO_REPORT)
  const message = `worker ${run.leasedBy ?? '?'} no longer holds it, and its outcome is not recorded`
  failExecution(change, run, { code: 'worker_lost', message, category: 'transient' }, true, NO_REPORT, held.chance)
}

/** A lease ran out: the run is claimable at once, and one execution is spent. */
export function leaseExpired(change: WorkingSet, runId: string, chance: Chance): void {
  const run = findRun(change, runId)
  if (run === undefined || run.status !== 'leased' || run.leaseUntil === null || run.leaseUntil > change.now) return
  // Timeout or lease: whichever ended first decides, however late this is noticed.
  if (run.timeoutAt !== null && run.timeoutAt <= run.leaseUntil) return overdue(change, runId, chance)
  failExecution(change, run, expiry(change, run), true, NO_REPORT, chance)
}

function expiry(change: Pick<WorkingSet, 'loaded' | 'asked'>, run: RunRow): Failure {
  const category = 'transient'
  const holder = run.leasedBy ?? ''
  const silent = `worker ${holder} neither ended it nor extended its lease in time`
  // A foreign client holds it by plain SQL: it is named in the row only, and sends no heartbeats.
  if (run.leaseMs === null) return { code: 'lease_expired', message: silent, category }
  const worker = change.loaded.sessions.get(holder)
  if (worker === undefined && !change.asked.has(`worker ${holder}`)) {
    change.asked.add(`worker ${holder}`)
    throw new NeedMore({ sessions: [holder] })
  }
  if (worker?.holds === 'lease' && worker.state === 'dead') {
    const code = 'worker_death'
    return { code, type: code, message: `worker ${holder} stopped sending heartbeats`, category }
  }
  // The inbox has one code for it, for every kind of holder.
  if (run.inbox) return { code: 'lease_expired', message: silent, category }
  const code = 'visibility_timeout'
  return { code, type: code, message: `neither ended nor renewed within ${run.leaseMs} ms`, category }
}

/**
 * A run with a lease of its own was claimed, but its requester had gone by then: it is given back as if it had not been
 * leased.
 */
export function unclaimed(change: WorkingSet, runId: string, epoch: number): void {
  const run = findRun(change, runId)
  if (run?.status !== 'leased' || run.leaseMs === null || run.epoch !== epoch) return
  const before = run.attempt === 0 ? { ...run, firstStartedAt: null } : run
  giveBack(change, before, false, NO_REPORT)
}
