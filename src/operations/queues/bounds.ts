/**
 * Bounds of queues: a queue with a `maxDepth` accepts no run over HTTP that would make it hold more runs that have not
 * ended. Runs of one queue are admitted one request after the other, each judged by what is in the queue and what this
 * process has admitted since it last counted, so one server never exceeds the bound. With several servers, each may
 * exceed it by what the others admitted since it last counted: at most a quarter of a second ago.
 * Runs that workflows and schedules create are not held back: refusing them would break what has begun.
 */
import type { EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { Backpressure, QueueConfig } from './config.ts'

/** The delay after which settings made on another server are known here. */
const CONFIG_MS = 1_000
const COUNT_MS = 250
/** A full queue counts as full for a moment: repeated requests must not cause a count each. */
const FULL_MS = 50

interface Lane {
  /** The last request in line. */
  turn: Promise<unknown>
  depth: number
  countedAt: number
}

/** The level of a queue above its warning threshold. */
export interface QueuePressure {
  readonly depth: number
  readonly bound: number
}

export interface Admitted<T> {
  readonly done: T
  readonly pressure: QueuePressure | null
}

export class Bounds {
  readonly #engine: EngineApi
  readonly #lanes = new Map<string, Lane>()
  #configs: ReadonlyMap<string, QueueConfig> = new Map()
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | null = null

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  /** The settings have changed: they are read again before the next run. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
    this.#lanes.clear()
  }

  async configOf(queue: string): Promise<QueueConfig> {
    await this.#fresh()
    return this.#configs.get(queue) ?? {}
  }

  /** Admits that many runs to these queues, all or none. */
  async admit<T>(counts: ReadonlyMap<string, number>, enqueue: () => Promise<T>): Promise<Admitted<T>> {
    await this.#fresh()
    const bounded = [...counts].flatMap(([queue, count]) => {
      const bound = this.#configs.get(queue)?.backpressure
      return bound === undefined ? [] : [{ queue, count, bound }]
    })
    if (bounded.length === 0) return { done: await enqueue(), pressure: null }
    // Always in the same order: two requests for the same queues must not wait for each other.
    const [first, ...rest] = bounded.sort((a, b) => (a.queue < b.queue ? -1 : 1))
    return this.#inTurn(first as Bounded, rest, enqueue)
  }

  #inTurn<T>(one: Bounded, rest: readonly Bounded[], enqueue: () => Promise<T>): Promise<Admitted<T>> {
    const lane = this.#laneOf(one.queue)
    const mine = lane.turn.then(async () => {
      await this.#refuseIfFull(one, lane)
      const [next, ...others] = rest
      const { done, pressure } =
        next === undefined ? { done: await enqueue(), pressure: null } : await this.#inTurn(next, others, enqueue)
      lane.depth += one.count
      return { done, pressure: pressureOf(lane.depth, one.bound) ?? pressure }
    })
    lane.turn = mine.catch(() => undefined)
    return mine
  }

  async #refuseIfFull({ queue, count, bound }: Bounded, lane: Lane): Promise<void> {
    const age = performance.now() - lane.countedAt
    const fits = lane.depth + count <= bound.maxDepth
    if (fits ? age > COUNT_MS : age > FULL_MS) {
      const query = { status: ['pending', 'leased'] as const, queue, type: null, deadLetter: null, tenant: null }
      const { queries } = this.#engine
      lane.depth = await queries.countListedRuns({ ...query, limit: 0, before: null }, bound.maxDepth + 1)
      lane.countedAt = performance.now()
    }
    if (lane.depth + count <= bound.maxDepth) return
    const { maxDepth, strategy } = bound
    throw new PetrelError('QUEUE_FULL', `queue ${queue} holds ${lane.depth} jobs and takes ${maxDepth}`, {
      queue,
      depth: lane.depth,
      bound: maxDepth,
      strategy,
    })
  }

  #laneOf(queue: string): Lane {
    const known = this.#lanes.get(queue)
    if (known !== undefined) return known
    const lane: Lane = { turn: Promise.resolve(), depth: 0, countedAt: Number.NEGATIVE_INFINITY }
    this.#lanes.set(queue, lane)
    return lane
  }

  async #fresh(): Promise<void> {
    if (performance.now() - this.#readAt < CONFIG_MS) return
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    await this.#reading
  }

  async #read(): Promise<void> {
    const rows = await this.#engine.records.settings.queueConfigs()
    this.#configs = new Map(rows.map((row) => [row.name, JSON.parse(row.config) as QueueConfig]))
    this.#readAt = performance.now()
  }
}

interface Bounded {
  readonly queue: string
  readonly count: number
  readonly bound: Backpressure
}

function pressureOf(depth: number, { maxDepth, warningThreshold }: Backpressure): QueuePressure | null {
  return depth / maxDepth < warningThreshold ? null : { depth, bound: maxDepth }
}
