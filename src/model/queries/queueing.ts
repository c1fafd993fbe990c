/** Queues as an operator sees them: what waits, for how long, and what passes through. No read grows with the backlog. */
import type { TotalRow } from '../rows.ts'
import type { KindQueries } from './kinds.ts'

/** Upper bounds of how long a run was due before it was started; the last count is of longer waits. */
export const WAIT_BOUNDS_MS = [100, 500, 1_000, 5_000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000] as const

/** Upper bounds of how long an execution took; the last count is of longer ones. */
export const RUN_TIME_BOUNDS_MS = [10, 50, 100, 500, 1_000, 5_000, 30_000, 300_000, 3_600_000] as const

/** Pending runs of a queue that one read counts, and leased ones. */
export const MAX_COUNTED_RUNS = 10_000

/** What passed through a queue in one minute. Counted after the commit, as the rest of TotalRow. */
export interface Traffic {
  /** Runs created, or put back after they had ended. */
  readonly arrived: number
  /** Leases that began. */
  readonly started: number
  /** How long these runs were due before, in sum. */
  readonly waitMs: number
  /** How long the executions took that ended, in sum. */
  readonly busyMs: number
  /** Leases by how long the run was due: up to each of WAIT_BOUNDS_MS, and longer. */
  readonly waits: readonly number[]
  /** Executions that ended by how long they took: up to each of RUN_TIME_BOUNDS_MS, and longer. */
  readonly runTimes: readonly number[]
}

export type TrafficRow = TotalRow & Traffic

export const NO_TRAFFIC: Traffic = {
  arrived: 0,
  started: 0,
  waitMs: 0,
  busyMs: 0,
  waits: [...WAIT_BOUNDS_MS.map(() => 0), 0],
  runTimes: [...RUN_TIME_BOUNDS_MS.map(() => 0), 0],
}

/** The number of the first bound that a time does not exceed. */
export function bucketOf(ms: number, boundsMs: readonly number[]): number {
  const at = boundsMs.findIndex((bound) => ms <= bound)
  return at < 0 ? boundsMs.length : at
}

/** The first pending runs of a queue in the claim index, counted up to a bound. */
export interface QueueFront {
  readonly available: number
  readonly scheduled: number
  readonly retryable: number
  readonly held: number
  readonly leased: number
  /** The bound was reached: there may be more pending runs than were counted. */
  readonly more: boolean
  /** When the run that has been due longest became due; null: none is due. */
  readonly oldestDueAt: number | null
  readonly paused: boolean
  /** Runs that live workers may hold which take from this queue; and the limit of the queue, null: none. */
  readonly concurrency: number
  readonly maxConcurrent: number | null
}

export interface QueueingQueries {
  readonly kinds: KindQueries
  /** Queues that are configured or have runs, by name. */
  names(params: { readonly limit: number }): Promise<readonly string[]>
  /** Counts at most `most` pending and as many leased runs. */
  front(params: { readonly queue: string; readonly most: number }): Promise<QueueFront>
  /** By minute, from `since` on. */
  traffic(params: { readonly queue: string; readonly since: number }): Promise<readonly TrafficRow[]>
}

/** What waits in a queue. */
export interface QueueDepth {
  readonly available: number
  readonly scheduled: number
  readonly retryable: number
  readonly held: number
  readonly active: number
  /**
   * exact: counted now. estimated: counted at `countedAt`, plus what has arrived and less what has ended since. at_least: there
   * are this many or more, and they are being counted.
   */
  readonly accuracy: 'exact' | 'estimated' | 'at_least'
  readonly countedAt: number
}

export interface QueueReport {
  readonly name: string
  readonly paused: boolean
  readonly now: number
  readonly depth: QueueDepth
  readonly oldestDueAt: number | null
  /** Runs that may execute at the same time: of live workers that take from it, at most its limit. */
  readonly concurrency: number
  readonly maxConcurrent: number | null
  /** The begin of the first minute of `traffic`. */
  readonly since: number
  /** Minutes in which anything happened, oldest first. */
  readonly traffic: readonly TrafficRow[]
}
