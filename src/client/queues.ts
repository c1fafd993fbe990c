import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import { MAX_FAIR_WEIGHTS } from '../kernel/limits.ts'
import { scopedName } from '../kernel/scoped-names.ts'
import type { LimitParams } from '../model/limits.ts'
import type { PauseRow } from '../model/pauses/pauses.ts'
import type { QueueStats } from '../model/queries/overview.ts'
import type { QueueReport } from '../model/queries/queueing.ts'
import { checkFairKey, checkFairWeight, type NamedWeight, namedWeight } from '../model/queues/fair.ts'
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

  /** Weights of its keys, by key. All others weigh 1. */
  async weights(queue: string): Promise<readonly NamedWeight[]> {
    return (await this.#engine.records.settings.fairWeights({ queue })).map(namedWeight)
  }

  /** How many runs a key gives in its turn, from 1 to 100; null: 1, as a key without a weight. Counts for what waits already. */
  async setWeight(queue: string, key: string, weight: number | null, { tenant }: OfTenant = {}): Promise<void> {
    checkFairKey(key, 'key')
    const { settings } = this.#engine.records
    const stored = scopedName(key, tenant ?? null)
    if (weight === null) return void (await settings.removeFairWeight({ queue, key: stored }))
    checkFairWeight(weight, 'weight')
    if (await settings.putFairWeight({ queue, key: stored, weight })) return
    throw new PetrelError('conflict', `queue ${queue} has weights for ${MAX_FAIR_WEIGHTS} keys, which is the most`)
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

export interface PauseWhy extends By {
  /** Shown to everyone who asks why something waits. */
  readonly reason?: string
}

interface OfTenant {
  readonly tenant?: string
}

/** What is paused, and pauses of definitions and types. An instance is paused by its handle, a queue by `petrel.queues`. */
export class Pauses {
  readonly #engine: EngineApi

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  /** Newest first; `before`: the last one of the page before. */
  list(page: { readonly limit?: number; readonly before?: PauseRow } = {}): Promise<readonly PauseRow[]> {
    return this.#engine.pauses.list({ tenant: null, limit: page.limit ?? 50, before: page.before ?? null })
  }

  /** New instances of the definition are accepted and wait. Those that have begun continue. */
  pauseDefinition(name: string, { reason, tenant, actor }: PauseWhy & OfTenant = {}): Promise<PauseRow> {
    const named = { name, tenant: tenant ?? null }
    return this.#engine.pauseDefinition({ ...named, reason: reason ?? null, actor: actor ?? null })
  }

  /** Those that waited begin, in their order. Returns the pause that has ended. */
  resumeDefinition(name: string, { tenant, actor }: By & OfTenant = {}): Promise<PauseRow> {
    return this.#engine.resumeDefinition({ name, tenant: tenant ?? null, actor: actor ?? null })
  }

  /** No worker takes a run of the type. */
  pauseType(type: string, { reason, actor }: PauseWhy = {}): Promise<PauseRow> {
    return this.#engine.pauseType({ type, reason: reason ?? null, actor: actor ?? null })
  }

  resumeType(type: string, { actor }: By = {}): Promise<PauseRow> {
    return this.#engine.resumeType({ type, actor: actor ?? null })
  }
}
