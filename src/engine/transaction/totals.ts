/**
 * How many runs arrived, started and ended, by queue and minute: counted beside the work, after each commit, and added to the
 * store about once a second, or every ten seconds while none ends. A killed process loses the counts of that time; in return,
 * counting does not slow the work down.
 */

import type { Logger } from '../../kernel/logger.ts'
import { bucketOf, NO_TRAFFIC, RUN_TIME_BOUNDS_MS, type Traffic, WAIT_BOUNDS_MS } from '../../model/queries/queueing.ts'
import type { RunRow, TotalRow } from '../../model/rows.ts'
import type { Store } from '../../store/store.ts'
import type { WorkingSet } from '../fold/working-set.ts'

const FLUSH_EVERY_MS = 1000
/** While runs only arrive and start: an enqueue on an idle system writes nothing else for a while. */
const FLUSH_IDLE_MS = 10_000
const MINUTE_MS = 60_000

type Count = { -readonly [K in keyof TotalRow]: TotalRow[K] } & {
  -readonly [K in Exclude<keyof Traffic, 'waits' | 'runTimes'>]: number
} & { readonly waits: number[]; readonly runTimes: number[] }

export class Totals {
  readonly #store: Store
  readonly #logger: Logger
  #counts = new Map<string, Count>()
  readonly #sums = {
    /** Created. */
    runs: 0,
    /** Transactions that handed out runs, and how many runs. */
    claims: 0,
    claimed_runs: 0,
    /** Transactions that ended executions, and how many executions. */
    settles: 0,
    settled_runs: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    retried: 0,
  }
  #minute = 0
  #timer: NodeJS.Timeout | null = null
  #timerMs = 0
  #flushing: Promise<void> | null = null

  constructor(store: Store, logger: Logger) {
    this.#store = store
    this.#logger = logger
  }

  /** After each commit. */
  count(change: WorkingSet): void {
    let claimed = 0
    let settled = 0
    for (const run of change.newRuns.values()) {
      this.#of(change, run.queue, FLUSH_IDLE_MS).arrived++
      if (run.status !== 'leased') continue
      this.#start(change, run)
      claimed++
    }
    for (const run of change.runs.values()) {
      if (run.status === 'leased') {
        if (run.leasedAt === change.now) this.#start(change, run)
        // Deferred by its holder, or taken.
        if (!run.deferred) claimed++
      } else if (run.status === 'pending') {
        const before = change.loaded.runs.get(run.id)
        if (run.attempt > (before?.attempt ?? run.attempt)) {
          const count = this.#of(change, run.queue, FLUSH_EVERY_MS)
          count.retried++
          took(count, startOfRetried(run, before), change.now)
          this.#sums.retried++
          settled++
        } else if (before?.finishedAt != null) this.#of(change, run.queue, FLUSH_IDLE_MS).arrived++
      } else if (run.settledAt === change.now) {
        const count = this.#of(change, run.queue, FLUSH_EVERY_MS)
        count[run.status]++
        took(count, run.startedAt, change.now)
        this.#sums[run.status]++
        settled++
      }
    }
    this.#sums.runs += change.newRuns.size
    this.#sums.claimed_runs += claimed
    this.#sums.settled_runs += settled
    if (claimed > 0) this.#sums.claims++
    if (settled > 0) this.#sums.settles++
  }

  counters(): Readonly<Record<string, number>> {
    return { ...this.#sums }
  }

  #start(change: WorkingSet, { queue, runAt }: RunRow): void {
    const waitMs = Math.max(0, change.now - runAt)
    const count = this.#of(change, queue, FLUSH_IDLE_MS)
    count.started++
    count.waitMs += waitMs
    ;(count.waits[bucketOf(waitMs, WAIT_BOUNDS_MS)] as number)++
  }

  /** `withinMs`: when it is written at the latest. */
  #of(change: WorkingSet, queue: string, withinMs: number): Count {
    const minute = change.now - (change.now % MINUTE_MS)
    if (minute !== this.#minute) {
      // Keys contain the queue only: in a new minute the counts of the last one have been written.
      if (this.#counts.size > 0) void this.flush()
      this.#minute = minute
    }
    let count = this.#counts.get(queue)
    if (count === undefined) {
      const nothing = { succeeded: 0, failed: 0, cancelled: 0, retried: 0 }
      count = {
        queue,
        minute,
        ...nothing,
        ...NO_TRAFFIC,
        waits: [...NO_TRAFFIC.waits],
        runTimes: [...NO_TRAFFIC.runTimes],
      }
      this.#counts.set(queue, count)
    }
    if (this.#timer === null || withinMs < this.#timerMs) this.#flushWithin(withinMs)
    return count
  }

  #flushWithin(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timerMs = ms
    this.#timer = setTimeout(() => void this.flush(), ms).unref()
  }

  /** Adds the counts to the store. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const totals = [...this.#counts.values()]
    this.#counts = new Map()
    const before = this.#flushing
    const flushing = (async () => {
      await before
      if (totals.length === 0) return
      await this.#store.sweep.addTotals({ totals }).catch((error: unknown) => {
        this.#logger.warn({}, `statistics of ${totals.length} queues were lost: ${(error as Error).message}`)
      })
    })()
    this.#flushing = flushing
    await flushing
  }

  forget(): void {
    this.#counts = new Map()
  }
}

/** When the execution began that is retried. A session reports it with the outcome: then only the first one is known to the row. */
function startOfRetried(run: RunRow, before: RunRow | undefined): number | null {
  if (before === undefined) return null
  return before.startedAt ?? (before.firstStartedAt === null ? run.firstStartedAt : before.leasedAt)
}

/** The execution that ends now, if one was started. */
function took(count: Count, startedAt: number | null, now: number): void {
  if (startedAt === null) return
  const ms = Math.max(0, now - startedAt)
  count.busyMs += ms
  ;(count.runTimes[bucketOf(ms, RUN_TIME_BOUNDS_MS)] as number)++
}
