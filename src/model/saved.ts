/** What a run has saved: a state to go on from, and how far it says it is. One row per run, pruned with it. */
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

/** Why nothing was saved: the run is not there (null), or has a status that does not allow it. */
export interface NotSaved {
  readonly status: RunStatus | null
}

/** Of whoever knows the run's id. Sessions save through `sweep`, fenced by their epoch. */
export interface Saved {
  of(runIds: readonly string[]): Promise<ReadonlyMap<string, SavedRow>>
  /** Only while the run has not ended; the check and the write are one statement. */
  put(params: {
    readonly runId: string
    /** Given: the run must be leased by it. */
    readonly holder: string | null
    readonly state: JsonText
  }): Promise<SavedRow | NotSaved>
  /** The sequence begins anew. Removing what is not there is fine. */
  remove(runId: string): Promise<void>
  /**
   * Only while the run is leased, and not below what was reported under the same lease; recorded as a `progress` event.
   * null: nothing was saved.
   */
  progress(params: {
    readonly runId: string
    /** Given: the run must be leased by it. */
    readonly holder: string | null
    readonly value: JsonText
    /** What `value` has as `progress`; null: nothing. */
    readonly fraction: number | null
  }): Promise<SavedRow | null>
}
