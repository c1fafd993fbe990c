import type { EngineKey } from '../kernel/scoped-names.ts'
import type { Json } from '../net/net.ts'
import type { Retry } from '../net/retry/retry.ts'
import type { LimitParams } from './limits.ts'
import type { RunWait } from './queries/queries.ts'
import type { RunRow, RunStatus } from './rows.ts'
export interface EnqueueParams {
  readonly id?: string
  readonly type: string
  readonly payload: Json
  readonly queue?: string
  /** Smaller runs earlier; default 100. */
  readonly priority?: number
  /** With runAt: the delay from which runAt was computed. */
  readonly delayMs?: number
  readonly runAt?: number
  readonly maxAttempts?: number
  readonly retry?: Partial<Retry>
  readonly timeoutMs?: number
  readonly expiresAt?: number
  /** The same, relative to the time of the enqueue: for templates. */
  readonly expiresInMs?: number
  /** Permanently unique within the tenant: a second enqueue returns the first run. Refused for another type. */
  readonly idempotencyKey?: string | EngineKey
  readonly unique?: UniqueParams
  readonly limitKey?: string
  /** Runs of a queue and priority are handed out by turns of their keys. */
  readonly fairKey?: string
  /** true: as if inserted by plain SQL. Its type is dotted and ends in a version, such as .v1. */
  readonly inbox?: boolean
  /** Limits that the transaction sets which creates it; if it is not created, they are not set. */
  readonly limits?: readonly LimitParams[]
  readonly meta?: Json
  /** Queries find it by them. */
  readonly tags?: readonly string[]
  readonly tenant?: string
  /** Who enqueues it; recorded in its `created` event. */
  readonly actor?: string
}

/**
 * Uniqueness among the runs with a key. The options of the new run decide, except that the holder's own period applies
 * to it.
 */
export interface UniqueParams {
  /** Keys of different tenants are different. */
  readonly key: string
  /** From the holder's creation; afterwards the key is free. */
  readonly periodMs?: number
  /** The holder counts while it is in one of these; its part of `pending` may be named. Default: pending and leased. */
  readonly states?: readonly (RunStatus | RunWait)[]
  /**
   * replace: the holder is cancelled, even if it is active; one that has ended only loses the key.
   * replace_except_schedule: the same, and the new run is due when the holder would have been.
   */
  readonly onConflict: 'reject' | 'ignore' | 'replace' | 'replace_except_schedule'
}

export interface Enqueued {
  readonly id: string
  /** false: the key was taken, `id` is the holder's. */
  readonly created: boolean
  /** The row as written, or the holder's; null: it was not loaded. */
  readonly run: RunRow | null
  /** The run it replaced. */
  readonly replaced?: string
}
