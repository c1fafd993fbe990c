/**
 * What a commit did to runs, for measurements. Observers are notified after the commit by the process that made it; without
 * observers, nothing is computed.
 */

import { unscopedName } from '../../kernel/scoped-names.ts'
import type { RunRow } from '../../model/rows.ts'
import type { RunObserver } from '../../model/run-observer.ts'
import type { WorkingSet } from '../fold/working-set.ts'

export function notifyObservers(observers: Iterable<RunObserver>, change: WorkingSet): void {
  const notify = (work: (observer: RunObserver) => void): void => {
    for (const observer of observers) work(observer)
  }
  for (const run of change.newRuns.values()) if (run.status === 'leased') notify((o) => o.claimed(run))
  for (const run of change.runs.values()) {
    const before = change.loaded.runs.get(run.id)
    if (run.status === 'leased') {
      if (!run.deferred && before?.status !== 'leased') notify((o) => o.claimed(run))
      continue
    }
    const failed = run.attempt > (before?.attempt ?? run.attempt)
    if (run.status === 'pending' ? !failed : run.settledAt !== change.now) continue
    const end = { run, worker: unscopedName(before?.leasedBy ?? null), failed, ms: spent(run, before, change.now) }
    notify((o) => o.ended(end))
  }
}

/**
 * The row of a run that will be retried has no start; its row before has it, if the worker reported it before the end.
 */
function spent(run: RunRow, before: RunRow | undefined, now: number): number | null {
  if (before?.status !== 'leased') return null
  const startedAt = run.startedAt ?? before.startedAt ?? before.leasedAt
  return startedAt === null ? null : Math.max(0, now - startedAt)
}

/** Returns the claim unchanged, and notifies observers when it is over. */
export function notePoll<T>(observers: Iterable<RunObserver>, worker: string, claim: Promise<T>): Promise<T> {
  const polled = (error: unknown): void => {
    for (const observer of observers) observer.polled(worker, error)
  }
  claim.then(() => polled(null), polled)
  return claim
}
