/**
 * The part of the overview that concerns all tenants. It is read at most once a second, however many people look. Invariants
 * take longer on a large store: they are checked beside other work, at most once a minute and for at most a hundredth of the
 * time, and the overview shows what was found last.
 */
import type { EngineApi } from '../../engine/api.ts'
import type { QueueFront, TrafficRow } from '../../model/queries/queueing.ts'
import type { WorkerRow } from '../../model/rows.ts'

export interface Finding {
  readonly check: string
  readonly subject: string
  readonly finding: string
}

const READ_EVERY_MS = 1_000
const CHECKED_EVERY_MS = 60_000
const CHECKED_SHARE = 100
const SIZED_EVERY_MS = 60_000
const MINUTE_MS = 60_000
const MINUTES = 60
/** Queues that are looked at, and how many of their runs are counted. */
export const MOST_QUEUES = 50
export const MOST_COUNTED = 1_000
/** Queues whose traffic is added up, whether or not anything waits in them now. */
const MOST_PASSED = 1_000

export interface QueueSeen extends QueueFront {
  readonly name: string
}

export interface Shared {
  readonly at: number
  /** The begin of the first minute of `traffic`. */
  readonly since: number
  readonly traffic: readonly TrafficRow[]
  readonly queues: readonly QueueSeen[]
  /** There are further queues, which nothing here contains. */
  readonly moreQueues: boolean
  readonly workers: readonly WorkerRow[]
  readonly bytes: number
  /** null: not checked yet, or the last check failed. */
  readonly checked: { readonly at: number; readonly findings: readonly Finding[] } | null
}

export class SharedOverview {
  readonly #engine: EngineApi
  #read: Promise<Shared> | null = null
  #readAt = Number.NEGATIVE_INFINITY
  #bytes: Promise<number> | null = null
  #sizedAt = Number.NEGATIVE_INFINITY
  #checked: Shared['checked'] = null
  #checkAfter = Number.NEGATIVE_INFINITY

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  get(): Promise<Shared> {
    if (this.#read === null || performance.now() - this.#readAt > READ_EVERY_MS) {
      this.#readAt = performance.now()
      this.#read = this.#readAll()
      this.#read.then(
        () => this.#check(),
        () => {
          this.#readAt = Number.NEGATIVE_INFINITY
        },
      )
    }
    return this.#read
  }

  async #readAll(): Promise<Shared> {
    const { queries } = this.#engine
    const [at, names] = await Promise.all([queries.now(), queries.queueing.names({ limit: MOST_QUEUES + 1 })])
    const since = Math.floor(at / MINUTE_MS) * MINUTE_MS - (MINUTES - 1) * MINUTE_MS
    const seen = names.slice(0, MOST_QUEUES)
    const [traffic, queues, workers, bytes] = await Promise.all([
      queries.overview.minutes({ most: MOST_PASSED, since }),
      Promise.all(
        seen.map(async (name) => ({ name, ...(await queries.queueing.front({ queue: name, most: MOST_COUNTED })) })),
      ),
      queries.workers(),
      this.#size(),
    ])
    const moreQueues = names.length > seen.length
    return { at, since, traffic, queues: queues.sort(worstFirst), moreQueues, workers, bytes, checked: this.#checked }
  }

  #size(): Promise<number> {
    if (this.#bytes === null || performance.now() - this.#sizedAt > SIZED_EVERY_MS) {
      this.#sizedAt = performance.now()
      this.#bytes = this.#engine.queries.overview.bytes()
    }
    return this.#bytes
  }

  /** Not waited for. */
  #check(): void {
    const began = performance.now()
    if (began < this.#checkAfter) return
    this.#checkAfter = Number.POSITIVE_INFINITY
    this.#checkNow()
      .catch(() => {
        this.#checked = null
      })
      .finally(() => {
        const now = performance.now()
        this.#checkAfter = now + Math.max(CHECKED_EVERY_MS, (now - began) * CHECKED_SHARE)
      })
  }

  async #checkNow(): Promise<void> {
    const findings = await this.#engine.queries.doctor()
    this.#checked = { at: await this.#engine.queries.now(), findings }
  }
}

/** Due longest; then the most pending ones. */
function worstFirst(a: QueueSeen, b: QueueSeen): number {
  const due = (queue: QueueSeen): number => queue.oldestDueAt ?? Number.POSITIVE_INFINITY
  const pending = ({ available, scheduled, retryable }: QueueSeen): number => available + scheduled + retryable
  if (due(a) !== due(b)) return due(a) < due(b) ? -1 : 1
  return pending(b) - pending(a) || (a.name < b.name ? -1 : 1)
}
