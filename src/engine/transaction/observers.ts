/**
 * What a commit did to runs, for measurements. Observers are notified after the commit by the process that made it; without
 * observers, nothing is computed.
 */

import { unscopedName } from '../../kernel/scoped-names.ts'
import type { RunRow } from '../../model/rows.ts'
import type { WorkingSet } from '../fold/working-set.ts'

export interface RunObserver {
  /** Handed out to a worker. */
  claimed(run: RunRow): void
  /** An execution ended, or a run that no worker held. */
  ended(end: RunEnd): void
  /** A worker's request for work was answered, perhaps with nothing; with `error`, it failed. */
  polled(worker: string, error: unknown): void
}

export interface RunEnd {
  /** The run after it: ended, or pending if it will be retried. */
  readonly run: RunRow
  /** The worker that held it; null: none, or a foreign client that wrote its end by plain SQL. */
  readonly worker: string | null
  /** true: an execution failed. */
  readonly failed: boolean
  /** How long the execution took; null: it never began, or its start is unknown. */
  readonly ms: number | null
}

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
