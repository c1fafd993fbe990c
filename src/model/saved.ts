/** What a run has saved: a state to continue from, and its reported progress. One row per run, pruned with it. */
import type { JsonText, RunStatus } from './rows.ts'

export interface SavedRow {
  readonly runId: string
  /** null: nothing is saved, or it was removed. */
  readonly state: JsonText | null
  /** Counts the saves since the first, or since the last removal. */
  readonly sequence: number
  /** The last report; null: there was none. */
  readonly progress: JsonText | null
  /** The epoch of the lease under which it was reported; null: not known. */
  readonly progressEpoch: number | null
  readonly updatedAt: number
}

/** Why nothing was saved: the run does not exist (null), or has a status that does not allow it. */
export interface NotSaved {
  readonly status: RunStatus | null
}

/** For clients that know the run's id. Sessions save through `sweep`, fenced by their epoch. */
export interface Saved {
  of(runIds: readonly string[]): Promise<ReadonlyMap<string, SavedRow>>
  /** Only while the run has not ended; the check and the write are one statement. */
  put(params: {
    readonly runId: string
    /** Given: the run must be leased by it. */
    readonly holder: string | null
    readonly state: JsonText
  }): Promise<SavedRow | NotSaved>
  /** The sequence starts again. Removing a missing checkpoint is not an error. */
  remove(runId: string): Promise<void>
  /**
   * Only while the run is leased, and not below the value reported under the same lease; recorded as a `progress` event.
   * null: nothing was saved.
   */
  progress(params: {
    readonly runId: string
    /** Given: the run must be leased by it. */
    readonly holder: string | null
    readonly value: JsonText
    /** The `progress` in `value`; null: none. */
    readonly fraction: number | null
  }): Promise<SavedRow | null>
}
