/** What commits of this process do to runs, as reported to observers after each commit. */
import type { RunRow } from './rows.ts'

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
