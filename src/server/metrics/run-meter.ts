/**
 * Counts outcomes of runs, by type and worker: plain numbers, added up after each commit and printed on a scrape
 * (run-metrics.ts). Names of types and workers come from clients, so the number of pairs is bounded: beyond the first
 * 500, a pair counts for its type under the worker "(other)"; beyond 200 such types, for "(other)" alone.
 */

import { PetrelError } from '../../kernel/errors.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import { StoreError, StoreUnavailableError } from '../../kernel/store-errors.ts'
import type { RunRow } from '../../model/rows.ts'
import type { RunEnd, RunObserver } from '../../model/run-observer.ts'

export const OTHER = '(other)'
/**
 * The client that ended it held it under no known name: a cancel of pending work, or a client that writes plain SQL.
 */
export const NO_WORKER = '(none)'
const MOST_PAIRS = 500
const MOST_TYPES = 200
const MOST_WORKERS = 500

/** Upper bounds in seconds. */
export const SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300]

/** Executions of one type by one worker. */
export class PairCount {
  readonly type: string
  readonly worker: string
  claimed = 0
  /** Runs that ended, by status. */
  readonly ended = new Map<string, number>()
  /** Failed executions: the first, the second, and later ones. */
  readonly failed = [0, 0, 0]
  /** By status; `pending`: will be retried. */
  readonly durations = new Map<string, Durations>()

  constructor(type: string, worker: string) {
    this.type = type
    this.worker = worker
  }

  fail(attempt: number): void {
    const at = Math.min(Math.max(attempt, 1), this.failed.length) - 1
    this.failed[at] = (this.failed[at] as number) + 1
  }
}

export class Durations {
  /** One for each bound, and one for longer ones. */
  readonly buckets: number[] = [...SECONDS, 0].map(() => 0)
  sum = 0

  add(seconds: number): void {
    const at = SECONDS.findIndex((bound) => seconds <= bound)
    const bucket = at < 0 ? SECONDS.length : at
    this.buckets[bucket] = (this.buckets[bucket] as number) + 1
    this.sum += seconds
  }
}

/** Claims of one worker. */
export interface WorkerCount {
  readonly worker: string
  readonly since: number
  polls: number
  lastPollAt: number | null
  readonly errors: Map<string, number>
}

export class RunMeter implements RunObserver {
  readonly #pairs = new Map<string, Map<string, PairCount>>()
  #named = 0
  #others = 0
  readonly #workers = new Map<string, WorkerCount>()

  get pairs(): readonly PairCount[] {
    return [...this.#pairs.values()].flatMap((byWorker) => [...byWorker.values()])
  }

  get workers(): Iterable<WorkerCount> {
    return this.#workers.values()
  }

  claimed(run: RunRow): void {
    this.#pair(run.type, unscopedName(run.leasedBy) ?? NO_WORKER).claimed++
  }

  ended({ run, worker, failed, ms }: RunEnd): void {
    const pair = this.#pair(run.type, worker ?? NO_WORKER)
    if (failed) pair.fail(run.attempt)
    if (run.status !== 'pending') pair.ended.set(run.status, (pair.ended.get(run.status) ?? 0) + 1)
    if (ms === null) return
    let durations = pair.durations.get(run.status)
    if (durations === undefined) pair.durations.set(run.status, (durations = new Durations()))
    durations.add(ms / 1000)
  }

  polled(worker: string, error: unknown): void {
    const count = this.#worker(worker)
    if (error === null) {
      count.polls++
      count.lastPollAt = Date.now()
      return
    }
    const type = typeOf(error)
    count.errors.set(type, (count.errors.get(type) ?? 0) + 1)
  }

  #pair(type: string, worker: string): PairCount {
    const known = this.#pairs.get(type)?.get(worker)
    if (known !== undefined) return known
    if (this.#named < MOST_PAIRS) {
      this.#named++
      return this.#add(type, worker)
    }
    const rest = this.#pairs.get(type)?.get(OTHER)
    if (rest !== undefined) return rest
    if (this.#others < MOST_TYPES) {
      this.#others++
      return this.#add(type, OTHER)
    }
    return this.#pairs.get(OTHER)?.get(OTHER) ?? this.#add(OTHER, OTHER)
  }

  #add(type: string, worker: string): PairCount {
    const pair = new PairCount(type, worker)
    const byWorker = this.#pairs.get(type) ?? new Map<string, PairCount>()
    byWorker.set(worker, pair)
    this.#pairs.set(type, byWorker)
    return pair
  }

  #worker(given: string): WorkerCount {
    const worker = this.#workers.has(given) || this.#workers.size < MOST_WORKERS ? given : OTHER
    let count = this.#workers.get(worker)
    if (count === undefined) {
      count = { worker, since: Date.now(), polls: 0, lastPollAt: null, errors: new Map() }
      this.#workers.set(worker, count)
    }
    return count
  }
}

/** One of a few categories, for any error. */
function typeOf(error: unknown): string {
  if (error instanceof PetrelError) return error.code
  if (error instanceof StoreUnavailableError) return 'unavailable'
  return error instanceof StoreError ? 'store' : 'unknown'
}
