/** Lists and counts for operators. The cost of each grows with what it shows; none is for a hot path. */
import type { JsonText, RunStatus, TotalRow } from '../rows.ts'
import type { QueueDepth, TrafficRow } from './queueing.ts'

export interface UniqueHolder {
  readonly key: string
  readonly runId: string
  readonly type: string
  readonly queue: string
  readonly status: RunStatus
  readonly attempt: number
  readonly runAt: number
  readonly tenant: string | null
  /** When the key is free; null: when its holder no longer counts. */
  readonly expiresAt: number | null
  /** States of the holder in which it counts. */
  readonly states: JsonText
}

export interface Overview {
  /** Runs of a queue that are due or will be, by priority. */
  priorities(params: {
    readonly queue: string
  }): Promise<readonly { readonly priority: number; readonly count: number }[]>
  /** Unique keys with a holder, by key. */
  uniques(params: {
    readonly tenant: string | null
    readonly limit: number
    readonly offset: number
  }): Promise<readonly UniqueHolder[]>
  /** What passed in each minute from `since` on, through the first `most` queues by name together; `queue` is empty. */
  minutes(params: { readonly most: number; readonly since: number }): Promise<readonly TrafficRow[]>
  /** Of a tenant: among the oldest MAX_COUNTED_GATES of all. */
  openGates(params: { readonly tenant: string | null }): Promise<OpenGates>
  /** Size of the database; of an SQLite file, without its log. */
  bytes(): Promise<number>
  /** Tenants that have runs, by name, with how many. Reads every run that has a tenant. */
  tenants(): Promise<readonly { readonly tenant: string; readonly runs: number }[]>
}

/** Open gates that one read counts. */
export const MAX_COUNTED_GATES = 10_000

export interface OpenGates {
  /** At most MAX_COUNTED_GATES: then there may be more. */
  readonly count: number
  readonly oldestAt: number | null
  /** The one that is due first; null: none has a time. */
  readonly soonest: {
    readonly id: string
    readonly instanceId: string
    readonly node: string
    readonly dueAt: number
  } | null
}

/** What a queue holds and has done. */
export interface QueueStats {
  readonly name: string
  readonly paused: boolean
  readonly available: number
  readonly scheduled: number
  readonly retryable: number
  readonly held: number
  readonly active: number
  /** How exact these five are. */
  readonly accuracy: QueueDepth['accuracy']
  /** Since the database was created. */
  readonly succeeded: number
  readonly failed: number
  readonly cancelled: number
  /** Failed executions that were retried. */
  readonly retried: number
  /** The last minutes in which anything ended, oldest first. */
  readonly minutes: readonly TotalRow[]
}
