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
  /** Beside runAt: what runAt was counted by. */
  readonly delayMs?: number
  readonly runAt?: number
  readonly maxAttempts?: number
  readonly retry?: Partial<Retry>
  readonly timeoutMs?: number
  readonly expiresAt?: number
  /** The same, counted from when it is enqueued: for templates. */
  readonly expiresInMs?: number
  /** Permanently unique within the tenant: a second enqueue answers with the first run. Refused for another type. */
  readonly idempotencyKey?: string | EngineKey
  readonly unique?: UniqueParams
  readonly limitKey?: string
  /** true: as if put in by plain SQL. Its type is dotted and ends in a version, such as .v1. */
  readonly inbox?: boolean
  /** Limits it brings along: set in the transaction that creates it, not if it is not created. */
  readonly limits?: readonly LimitParams[]
  readonly meta?: Json
  readonly tenant?: string
  /** Who puts it in; told with its `created` event. */
  readonly actor?: string
}

/** Unique among the runs that have the key. The newcomer's words decide; the holder's only about his own period. */
export interface UniqueParams {
  /** Of the tenant: the same key in two tenants is two keys. */
  readonly key: string
  /** Counted from the holder's creation; afterwards the key is free. */
  readonly periodMs?: number
  /** The holder counts while it is in one of these; its part of `pending` may be named. Default: pending and leased. */
  readonly states?: readonly (RunStatus | RunWait)[]
  /**
   * replace: the holder is cancelled, an active one fenced off; one that has ended only gives up the key.
   * replace_except_schedule: the same, and the newcomer is due when the holder would have been.
   */
  readonly onConflict: 'reject' | 'ignore' | 'replace' | 'replace_except_schedule'
}

export interface Enqueued {
  readonly id: string
  /** false: the key was taken, `id` is the holder's. */
  readonly created: boolean
  /** The row as written, or the holder's; null: it was not at hand. */
  readonly run: RunRow | null
  /** The run it replaced. */
  readonly replaced?: string
}
