/**
 * Reports on queues that cost the same however much waits in them. A short queue is counted when it is asked for. A long one
 * is counted beside, at most once a minute, by the process that is asked; in between the count is carried forward by what has
 * arrived and ended since, which is known by minute (totals.ts). Runs inserted by plain SQL are in the next count only.
 */

import type { QueueStats } from '../../model/queries/overview.ts'
import {
  MAX_COUNTED_RUNS,
  type QueueDepth,
  type QueueFront,
  type QueueReport,
  type TrafficRow,
} from '../../model/queries/queueing.ts'
import type { QueueCounts, TotalRow } from '../../model/rows.ts'
import type { Store } from '../../store/store.ts'
import type { Faults } from './faults.ts'
import type { Totals } from './totals.ts'

const MINUTE_MS = 60_000
/** A count rests for as long as a hundred counts take, and at least this long. */
const RECOUNT_MS = 60_000
const MOST_QUEUES = 1_000
/** Entries that a list of all queues counts, and those of each queue at least. */
const MOST_COUNTED = 100_000
const LEAST_COUNTED = 100

interface Base {
  readonly counts: QueueCounts
  readonly countedAt: number
  /** Begin of the minute of the count, and what had passed in that minute before it. */
  readonly minute: number
  readonly before: Passed
  /** By the clock of the process. */
  readonly restsUntil: number
}

interface Passed {
  readonly arrived: number
  readonly ended: number
}

interface Deps {
  readonly store: Store
  readonly totals: Totals
  readonly faults: Faults
}

export class QueueReports {
  readonly #deps: Deps
  readonly #bases = new Map<string, Base>()
  readonly #counting = new Map<string, Promise<void>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** `minutes`: of traffic, with the current one. `counted`: a long queue is counted before the answer. */
  async report(p: {
    readonly queue: string
    readonly minutes: number
    readonly counted: boolean
  }): Promise<QueueReport> {
    const { queue } = p
    const { store, totals } = this.#deps
    await totals.flush()
    const { queueing } = store.read
    const now = await store.now()
    const since = now - (now % MINUTE_MS) - (p.minutes - 1) * MINUTE_MS
    const [front, traffic] = await Promise.all([
      queueing.front({ queue, most: MAX_COUNTED_RUNS }),
      queueing.traffic({ queue, since }),
    ])
    const depth = front.more ? await this.#long(front, { queue, now, counted: p.counted }) : exactly(front, now)
    const { paused, oldestDueAt, concurrency, maxConcurrent } = front
    return { name: queue, paused, now, depth, oldestDueAt, concurrency, maxConcurrent, since, traffic }
  }

  /**
   * Of one queue, or of all by name: what waits and what has passed since the beginning. Each of many queues is counted less
   * far than a single one. `minutes`: how many of the latest minutes to list one by one.
   */
  async stats(p: { readonly queue: string | null; readonly minutes: number }): Promise<readonly QueueStats[]> {
    const { totals: counted, store } = this.#deps
    await counted.flush()
    const { read } = store
    const now = await store.now()
    const since = now - (now % MINUTE_MS) - (p.minutes - 1) * MINUTE_MS
    const [paused, totals, waiting] = await Promise.all([
      read.queuesPaused(),
      read.totals({ queue: p.queue, since }),
      p.queue === null ? read.queueing.names({ limit: MOST_QUEUES }) : [],
    ])
    const all = new Set([...paused.keys(), ...waiting, ...totals.map(({ queue }) => queue)])
    const names = p.queue === null ? [...all].sort() : [p.queue]
    const most = Math.max(LEAST_COUNTED, Math.min(MAX_COUNTED_RUNS, Math.floor(MOST_COUNTED / names.length)))
    const stats: QueueStats[] = []
    for (const name of names) {
      const front = await read.queueing.front({ queue: name, most })
      const depth = front.more ? await this.#long(front, { queue: name, now, counted: false }) : exactly(front, now)
      const own = totals.filter(({ queue }) => queue === name)
      stats.push({ ...statsOf(own), ...depthOf(depth), name, paused: paused.get(name) ?? false })
    }
    return stats
  }

  async idle(): Promise<void> {
    await Promise.all(this.#counting.values())
  }

  async #long(
    front: QueueFront,
    { queue, now, counted }: { readonly queue: string; readonly now: number; readonly counted: boolean },
  ): Promise<QueueDepth> {
    const known = this.#bases.get(queue)
    if (known === undefined || known.restsUntil < performance.now()) {
      const counting = this.#count(queue)
      if (counted) await counting
    }
    const base = this.#bases.get(queue)
    if (base === undefined) return { ...exactly(front, now), accuracy: 'at_least' }
    const since = passed(await this.#deps.store.read.queueing.traffic({ queue, since: base.minute }))
    return carried(base, front, {
      arrived: since.arrived - base.before.arrived,
      ended: since.ended - base.before.ended,
    })
  }

  #count(queue: string): Promise<void> {
    const begun = this.#counting.get(queue)
    if (begun !== undefined) return begun
    const counting = this.#counted(queue)
      .catch((error: unknown) => this.#deps.faults.note('queue_count_failed', queue, error))
      .finally(() => this.#counting.delete(queue))
    this.#counting.set(queue, counting)
    return counting
  }

  async #counted(queue: string): Promise<void> {
    const { store, totals } = this.#deps
    await totals.flush()
    const countedAt = await store.now()
    const minute = countedAt - (countedAt % MINUTE_MS)
    const before = passed(await store.read.queueing.traffic({ queue, since: minute }))
    const began = performance.now()
    const [found] = await store.read.queueCounts({ queue })
    const tookMs = performance.now() - began
    const counts = found ?? { queue, available: 0, scheduled: 0, retryable: 0, held: 0, leased: 0 }
    const restsUntil = performance.now() + Math.max(RECOUNT_MS, 100 * tookMs)
    this.#bases.delete(queue)
    this.#bases.set(queue, { counts, countedAt, minute, before, restsUntil })
    const [oldest] = this.#bases.keys()
    if (this.#bases.size > MOST_QUEUES && oldest !== undefined) this.#bases.delete(oldest)
  }
}

function depthOf({ available, scheduled, retryable, held, active, accuracy }: QueueDepth) {
  return { available, scheduled, retryable, held, active, accuracy }
}

function statsOf(totals: readonly TotalRow[]) {
  const sum = (key: 'succeeded' | 'failed' | 'cancelled' | 'retried'): number =>
    totals.reduce((total, row) => total + row[key], 0)
  return {
    succeeded: sum('succeeded'),
    failed: sum('failed'),
    cancelled: sum('cancelled'),
    retried: sum('retried'),
    minutes: totals.filter(({ minute }) => minute !== 0),
  }
}

function passed(traffic: readonly TrafficRow[]): Passed {
  const sum = (of: (row: TrafficRow) => number): number => traffic.reduce((total, row) => total + of(row), 0)
  return {
    arrived: sum(({ arrived }) => arrived),
    ended: sum(({ succeeded, failed, cancelled }) => succeeded + failed + cancelled),
  }
}

function exactly({ available, scheduled, retryable, held, leased }: QueueFront, now: number): QueueDepth {
  return { available, scheduled, retryable, held, active: leased, accuracy: 'exact', countedAt: now }
}

/** What arrives is available at once, except for what the next count will find to be scheduled. */
export function carried(
  { counts, countedAt }: Pick<Base, 'counts' | 'countedAt'>,
  front: QueueFront,
  since: Passed,
): QueueDepth {
  const { scheduled, retryable, held } = counts
  const open = counts.available + scheduled + retryable + held + counts.leased + since.arrived - since.ended
  const counted = front.available + front.scheduled + front.retryable + front.held
  const pending = Math.max(open - front.leased, counted)
  const available = Math.max(pending - scheduled - retryable - held, front.available)
  return { available, scheduled, retryable, held, active: front.leased, accuracy: 'estimated', countedAt }
}
