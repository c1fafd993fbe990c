/**
 * What one run waits for. Facts that several runs of a question share (workers, queues, limits, registry) are read
 * once.
 */

import { unscopedName } from '../kernel/scoped-names.ts'
import { toolsOfType, typeMatcher, typeOfTools, typeWithTools } from '../kernel/type-filters.ts'
import { limitKeys } from '../model/limits.ts'
import { type PauseKey, type PauseRow, type Pauses, pauseName } from '../model/pauses/pauses.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { StepRun } from '../model/queries/steps.ts'
import type { Registry } from '../model/registry.ts'
import { HELD_AT, type InstanceRow, type LimitRow, PARKED_AT, type WorkerRow } from '../model/rows.ts'
import { failureOf } from './steps.ts'
import type { Count, InstancePause, LeaseReason, Reason } from './why-reasons.ts'

/** Queues are counted up to this: with 1,000 runs or a million before it, its turn is not soon. */
export const MOST_AHEAD = 1_000

/** The source of the facts. */
export interface Source {
  readonly read: Queries
  readonly registry: Pick<Registry, 'runtime'>
  readonly pauses: Pick<Pauses, 'get'>
  /** The store's clock. */
  now(): Promise<number>
}

export class RunReasons {
  readonly #source: Source
  readonly now: number
  readonly #limits = new Map<string, Promise<LimitRow | null>>()
  readonly #listings = new Map<string, ReturnType<Registry['runtime']>>()
  readonly #fronts = new Map<string, Promise<ReadonlyMap<string, number>>>()
  #workers: Promise<readonly WorkerRow[]> | null = null
  readonly #pauses = new Map<string, Promise<PauseRow | null>>()
  #paused: Promise<ReadonlyMap<string, boolean>> | null = null

  constructor(source: Source, now: number) {
    this.#source = source
    this.now = now
  }

  /** `run` has not ended, or its end has not been settled. */
  async of(run: StepRun): Promise<readonly Reason[]> {
    if (run.status === 'leased') return [await this.#held(run)]
    if (run.status !== 'pending') return [{ kind: 'unsettled', status: run.status }]
    if (run.runAt >= PARKED_AT) return [await this.#parked(run)]
    if (run.runAt >= HELD_AT) return [{ kind: 'activation', run: run.id }]
    if (run.runAt > this.now) return [waiting(run)]
    return this.#due(run)
  }

  pause(key: PauseKey): Promise<PauseRow | null> {
    const name = pauseName(key)
    const known = this.#pauses.get(name)
    if (known !== undefined) return known
    const found = this.#source.pauses.get(key)
    this.#pauses.set(name, found)
    return found
  }

  /** It waits for the end of a pause: of its type, or of its tree. */
  async #parked(run: StepRun): Promise<Reason> {
    const ofTree = run.rootId === null ? null : await this.pause({ kind: 'instance', key: run.rootId })
    if (ofTree !== null) return instancePause(ofTree)
    const pause = await this.pause({ kind: 'type', key: run.type })
    return { kind: 'paused', what: 'type', type: run.type, ...factsOf(pause) }
  }

  async #held(run: StepRun): Promise<Reason> {
    if (run.deferred) {
      return { kind: 'completion', run: run.id, since: run.startedAt ?? run.leasedAt, timeoutAt: run.timeoutAt }
    }
    const by: LeaseReason['by'] = run.sessionId !== null ? 'session' : run.leaseMs !== null ? 'lease' : 'sql'
    const id = run.sessionId ?? (by === 'lease' ? run.leasedBy : null)
    this.#workers ??= this.#source.read.workers()
    const worker = id === null ? null : ((await this.#workers).find((w) => w.id === id) ?? null)
    return {
      kind: 'lease',
      by,
      holder: unscopedName(run.leasedBy),
      since: run.leasedAt,
      startedAt: run.startedAt,
      until: run.leaseUntil,
      timeoutAt: run.timeoutAt,
      worker,
      attempt: run.attempt + 1,
      maxAttempts: run.maxAttempts,
      stopAskedAt: run.cancelRequestedAt,
    }
  }

  /** Everything that prevents its hand-out, by the rules of admission, and then its place in the queue. */
  async #due(run: StepRun): Promise<readonly Reason[]> {
    const reasons: Reason[] = []
    this.#paused ??= this.#source.read.queuesPaused()
    if ((await this.#paused).get(run.queue) === true) {
      const pause = await this.pause({ kind: 'queue', key: run.queue })
      reasons.push({ kind: 'paused', what: 'queue', queue: run.queue, ...factsOf(pause) })
    }
    const ofType = await this.pause({ kind: 'type', key: run.type })
    if (ofType !== null) reasons.push({ kind: 'paused', what: 'type', type: run.type, ...factsOf(ofType) })
    for (const key of limitKeys(run)) {
      const full = await this.full(key)
      if (full !== null) reasons.push(full)
    }
    const listing = await this.#listing(run.type)
    if (listing?.isEnabled === false) reasons.push({ kind: 'disabled', type: run.type })
    const runtime = listing?.runtime ?? null
    const workers = await this.#taking(run, runtime)
    if (workers === 0) {
      const tools = await this.#lacking(run, runtime)
      reasons.push({ kind: 'worker', type: run.type, queue: run.queue, runtime, tools })
    }
    reasons.push({ kind: 'queue', queue: run.queue, ahead: counted(await this.#ahead(run)), workers })
    return reasons
  }

  /** One read per queue, however many of its runs are asked about. */
  async #ahead({ id, queue }: StepRun): Promise<number> {
    const known = this.#fronts.get(queue)
    const front = known ?? this.#source.read.steps.front({ queue, most: MOST_AHEAD + 1 }).then(positions)
    if (known === undefined) this.#fronts.set(queue, front)
    return (await front).get(id) ?? (await front).size
  }

  /** The limit under a key, if it has no room. */
  async full(key: string): Promise<Extract<Reason, { kind: 'limit' | 'rate' }> | null> {
    const row = await this.limit(key)
    if (row === null) return null
    const { maxConcurrent, inUse, ratePer, periodMs, windowStart, windowUsed } = row
    if (maxConcurrent !== null && inUse >= maxConcurrent) return { kind: 'limit', key, inUse, max: maxConcurrent }
    const opensAt = windowStart + (periodMs ?? 0)
    if (ratePer === null || windowUsed < ratePer || this.now >= opensAt) return null
    return { kind: 'rate', key, used: windowUsed, per: ratePer, periodMs: periodMs ?? 0, opensAt }
  }

  limit(key: string): Promise<LimitRow | null> {
    const known = this.#limits.get(key)
    if (known !== undefined) return known
    const found = this.#source.read.steps.limitsOf([key]).then(([row]) => row ?? null)
    this.#limits.set(key, found)
    return found
  }

  #listing(type: string): ReturnType<Registry['runtime']> {
    const known = this.#listings.get(type)
    if (known !== undefined) return known
    const found = this.#source.registry.runtime(type)
    this.#listings.set(type, found)
    return found
  }

  async #taking(run: StepRun, runtime: string | null): Promise<number> {
    return (await this.#reachable(run, runtime)).filter((worker) => takesType(worker, run.type)).length
  }

  /** Live workers that may take its type. */
  async #reachable(run: StepRun, runtime: string | null): Promise<readonly WorkerRow[]> {
    this.#workers ??= this.#source.read.workers()
    const reaches = (worker: WorkerRow): boolean =>
      worker.state === 'running' &&
      worker.expiresAt > this.now &&
      (runtime === null || worker.runtime === runtime) &&
      (worker.tenant === null || worker.tenant === run.tenant) &&
      (worker.queues.length === 0 || worker.queues.includes(run.queue))
    return (await this.#workers).filter(reaches)
  }

  /** The tools that none of them has; all of them if each is available but no worker has them all. */
  async #lacking(run: StepRun, runtime: string | null): Promise<readonly string[]> {
    const needed = toolsOfType(run.type)
    if (needed.length === 0) return []
    const workers = await this.#reachable(run, runtime)
    const alone = (tool: string): string => typeWithTools(typeOfTools(run.type), [tool]) ?? run.type
    const lacking = needed.filter((tool) => !workers.some((worker) => takesType(worker, alone(tool))))
    return lacking.length === 0 ? needed : lacking
  }

  /** How many queued instances begin before this one. */
  async queuedBefore({ quotaKey, queuedAt, id }: InstanceRow): Promise<Count> {
    if (quotaKey === null || queuedAt === null) return counted(0)
    const found = await this.#source.read.queuedBefore({ quotaKey, queuedAt, id, atMost: MOST_AHEAD + 1 })
    return counted(found)
  }
}

export function factsOf(pause: PauseRow | null): Pick<InstancePause, 'since' | 'by' | 'reason'> {
  return { since: pause?.pausedAt ?? null, by: pause?.actor ?? null, reason: pause?.reason ?? null }
}

export function instancePause(pause: PauseRow): InstancePause {
  const { key: instance, timeouts, state } = pause
  return { kind: 'paused', what: 'instance', instance, timeouts, state, ...factsOf(pause) }
}

function takesType(worker: WorkerRow, type: string): boolean {
  return typeMatcher(worker.types.length === 0 ? null : worker.types)(type)
}

function positions(ids: readonly string[]): ReadonlyMap<string, number> {
  return new Map(ids.map((id, at) => [id, at]))
}

function waiting(run: StepRun): Reason {
  if (run.attempt === 0) return { kind: 'scheduled', at: run.runAt }
  return {
    kind: 'retry',
    at: run.runAt,
    attempt: run.attempt + 1,
    maxAttempts: run.maxAttempts,
    error: failureOf(run),
    timeoutAt: run.timeoutAt,
  }
}

function counted(found: number): Count {
  return { count: Math.min(found, MOST_AHEAD), more: found > MOST_AHEAD }
}
