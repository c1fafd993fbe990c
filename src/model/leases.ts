/** The interface for workers that hold leases of their own. */

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
  /** Fails fetched runs that cannot be delivered, with the reason, and without another attempt. */
  refuse(refused: readonly { readonly run: RunRow; readonly error: unknown }[]): Promise<void>
  /**
   * Gives back fetched runs for which the answer has no room: claimable again at once, as if they had not been handed
   * out.
   */
  giveBack(runs: readonly RunRow[]): Promise<void>
  /** Renews the leases of these runs that `holder` (null: anyone) still holds; returns the renewed ids. */
  extend(params: {
    readonly holder: string | null
    readonly runIds: readonly string[]
    /** null: the same duration as at the hand-out or the last renewal. */
    readonly leaseMs: number | null
    /** In the order of runIds: only leases under these epochs. */
    readonly epochs?: readonly number[]
  }): Promise<readonly string[]>
  /** A sign of life for this run (as read): renews its lease, and keeps a worker alive that sends heartbeats. */
  renew(run: RunRow): Promise<void>
  /**
   * The holder for a report that names none, if it can only come from the current holder; otherwise the reason for
   * refusal.
   */
  holderOf(run: RunRow, speaker: Speaker | null): Promise<string | null | PetrelError>
  /**
   * A worker's heartbeat, which also renews. After its first heartbeat, a worker that is silent for `ttlMs` is dead and its
   * leases end. For a worker that never sends one, only its leases count.
   */
  beat(params: LeaseBeat): Promise<{ readonly state: WorkerRow['state']; readonly extended: readonly string[] }>
}

/** The sender of a report, as far as this process knows. */
export interface Speaker {
  /** The only name under which its caller has asked for work; null: there is none, or there are several. */
  readonly name: string | null
  /**
   * Whether any caller has asked for work under this name, without its tenant. One that asked another process may share this
   * caller's address.
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
  /** The state that it reports; quiet and terminate are kept. */
  readonly state: 'running' | 'quiet' | 'terminate'
  readonly tenant: string | null
  /** The build of its program; null or left out: it states none. */
  readonly build?: string | null
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
   * Decides about a report that names neither holder, attempt nor epoch, which could come from a worker that lost the run.
   */
  readonly speaker?: Speaker
  /** Identifies the report: sent again, it gets the same answer, unless the run has been handed out since. */
  readonly reportId?: string
  readonly outcome: LeaseOutcome
  /** Context entries; null removes one. Written if the run ends with this report, or is to be continued later. */
  readonly set?: { readonly [name: string]: Json }
  /** For the history. Notes beyond 64 KiB are dropped and counted. */
  readonly notes?: readonly Json[]
  /** The build of the worker's program. */
  readonly build?: string
}

export type LeaseOutcome =
  | { readonly kind: 'succeeded'; readonly result: Json }
  | {
      readonly kind: 'failed'
      readonly error: Failure
      /** `policy`: the run's own decides. The others override it; `retry` still ends when no attempt is left. */
      readonly how: 'policy' | 'retry' | 'discard' | 'dead_letter'
      /** A partial result; stored if the failure is final. */
      readonly result?: Json
    }
  /** Claimable again at once; the start stays counted. */
  | { readonly kind: 'requeue'; readonly error?: Failure }
  /** Claimable again at once, as if it had not been handed out. */
  | { readonly kind: 'released' }
  /** Claimable again after this delay, on the same attempt: nothing counts as failed. */
  | { readonly kind: 'later'; readonly delayMs: number }

export interface LeaseSettled {
  readonly run: RunRow
  /** The delay until it is retried; null: it is not. */
  readonly retryDelayMs: number | null
}
