/** What workers that hold leases of their own ask of the engine. */

import type { PetrelError } from '../kernel/errors.ts'
import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import type { RunRow, WorkerRow } from './rows.ts'

/**
 * Work for clients that hold a lease of their own, renewed per run, instead of a session: workers over HTTP. A claim
 * counts as a start.
 */
export interface Leases {
  /**
   * In the given order of queues (strict), then priority, then age. Waits up to waitMs for the first run (long poll).
   */
  fetch(params: LeaseFetch): Promise<readonly RunRow[]>
  /** Ends leases, each decided by itself: a refused one changes nothing for its neighbours. Answers in their order. */
  settle(reports: readonly LeaseReport[]): Promise<readonly (LeaseSettled | PetrelError)[]>
  /** Fetched, but they cannot be delivered: they fail for good, and are recorded with the reason. */
  refuse(refused: readonly { readonly run: RunRow; readonly error: unknown }[]): Promise<void>
  /** Fetched, but more than one answer holds: claimable again at once, as if they had not been given out. */
  giveBack(runs: readonly RunRow[]): Promise<void>
  /** Renews the leases of these runs that `holder` (null: whoever) still holds; answers with the ids renewed. */
  extend(params: {
    readonly holder: string | null
    readonly runIds: readonly string[]
    /** null: as long as it was given out for, or last renewed for. */
    readonly leaseMs: number | null
    /** In the order of runIds: only leases under these epochs. */
    readonly epochs?: readonly number[]
  }): Promise<readonly string[]>
  /** A sign of life about this run, as read: renews its lease, and keeps a worker alive that sends heartbeats. */
  renew(run: RunRow): Promise<void>
  /** For a report that names no holder: the one that holds the run, if it can only come from that one; else why not. */
  holderOf(run: RunRow, speaker: Speaker | null): Promise<string | null | PetrelError>
  /**
   * A worker says that it lives, and renews. From the first beat on it must beat: silent for `ttlMs`, it is dead and
   * its leases end. One that never beats is governed by its leases alone.
   */
  beat(params: LeaseBeat): Promise<{ readonly state: WorkerRow['state']; readonly extended: readonly string[] }>
}

/** Who has sent a report, as far as this process can tell. */
export interface Speaker {
  /** The only name under which its caller has asked for work; null: there is none, or there are several. */
  readonly name: string | null
  /**
   * Whether any caller has asked under this name, without its tenant. One that asked elsewhere may share this caller's
   * address.
   */
  readonly knows: (worker: string) => boolean
}

export interface LeaseBeat {
  /** The name its runs are leased by. */
  readonly holder: string
  readonly host: string
  readonly pid: number
  readonly runtime: string
  readonly queues: readonly string[]
  readonly types: readonly string[]
  readonly concurrency: number
  /** Its own word; quiet and terminate stay. */
  readonly state: 'running' | 'quiet' | 'terminate'
  readonly tenant: string | null
  readonly runIds: readonly string[]
  readonly leaseMs: number | null
  readonly ttlMs: number
}

export interface LeaseFetch {
  /** null: any queue; then priority and age alone decide. */
  readonly queues: readonly string[] | null
  readonly types: readonly string[] | null
  readonly limit: number
  readonly holder: string
  readonly runtime: string | null
  readonly tenant: string | null
  /** Length of the lease, per run. */
  readonly leaseMs: (run: RunRow) => number
  readonly waitMs: number
  readonly signal?: AbortSignal
}

export interface LeaseReport {
  readonly runId: string
  /** Given: it must be the one that holds the run. */
  readonly holder: string | null
  /** Given: it must be the current start, counted from 1. */
  readonly attempt: number | null
  /**
   * Given: it must be the current lease's. A run given back and taken again is at the same attempt, not the same epoch.
   */
  readonly epoch?: number | null
  /**
   * A report that names neither holder, attempt nor epoch could come from a worker that lost the run. Then this counts.
   */
  readonly speaker?: Speaker
  /** Names the report: sent again, it is answered as it was the first time, unless the run has been given out since. */
  readonly reportId?: string
  readonly outcome: LeaseOutcome
  /** Context entries; null removes one. Written if the run ends with this, or goes back for later. */
  readonly set?: { readonly [name: string]: Json }
  /** For the history. What is beyond 64 KiB is dropped and counted. */
  readonly notes?: readonly Json[]
}

export type LeaseOutcome =
  | { readonly kind: 'succeeded'; readonly result: Json }
  | {
      readonly kind: 'failed'
      readonly error: Failure
      /** `policy`: the run's own. The others decide over its head; `retry` still ends when no attempt is left. */
      readonly how: 'policy' | 'retry' | 'discard' | 'dead_letter'
      /** What it made before it failed; kept if the failure is final. */
      readonly result?: Json
    }
  /** Claimable again at once; the start stays counted. */
  | { readonly kind: 'requeue'; readonly error?: Failure }
  /** Claimable again at once, as if it had not been given out. */
  | { readonly kind: 'released' }
  /** Claimable again in so long, on the same attempt: nothing counts as failed. */
  | { readonly kind: 'later'; readonly delayMs: number }

export interface LeaseSettled {
  readonly run: RunRow
  /** How long it waits before it is tried again; null: it is not. */
  readonly retryDelayMs: number | null
}
