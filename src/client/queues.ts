import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { LimitParams } from '../model/limits.ts'
import type { QueueStats } from '../model/queries/overview.ts'
import type { QueueReport } from '../model/queries/queueing.ts'
import type { LimitRow } from '../model/rows.ts'

/** Who did it, for the history. */
export interface By {
  readonly actor?: string
}

const MINUTES = 60

/** A queue exists as soon as a run names it. */
export class Queues {
  readonly #engine: EngineApi

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  /** All queues, by name. */
  list(): Promise<readonly QueueStats[]> {
    return this.#engine.queueStats({ queue: null, minutes: 0 })
  }

  /** One queue, with its last 60 minutes. */
  async stats(queue: string): Promise<QueueStats> {
    const [found] = await this.#engine.queueStats({ queue, minutes: MINUTES })
    if (found === undefined) throw new PetrelError('not_found', `there is no queue '${queue}'`)
    return found
  }

  /** What waits, for how long, and what passed through in the last minutes; costs the same however long the queue is. */
  report(queue: string, { minutes = 5 }: { readonly minutes?: number } = {}): Promise<QueueReport> {
    return this.#engine.queueReport({ queue, minutes, counted: true })
  }

  /** No further work of the queue is handed out. Work that a worker holds continues. */
  pause(queue: string, by: By = {}): Promise<void> {
    return this.#engine.pauseQueue({ queue, paused: true, actor: by.actor ?? null })
  }

  resume(queue: string, by: By = {}): Promise<void> {
    return this.#engine.pauseQueue({ queue, paused: false, actor: by.actor ?? null })
  }
}

/** How much runs at the same time, or per period. */
export class Limits {
  readonly #engine: EngineApi

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  list(): Promise<readonly LimitRow[]> {
    return this.#engine.queries.limits()
  }

  /** `queue:<name>` limits a queue, `key:<limit key>` the runs that carry the key. What is left out stays as it is. */
  set(limit: LimitParams): Promise<void> {
    return this.#engine.setLimit(limit)
  }
}
