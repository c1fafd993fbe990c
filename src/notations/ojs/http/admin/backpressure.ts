/**
 * Bounds of queues: a queue with `max_depth` takes no job over HTTP that would make it hold more jobs that have not
 * ended. Jobs of one queue are let in one request after the other, each judged by what is in the queue and what this
 * process has let in since it last counted, so one server never goes over the bound. With several servers each may let
 * in, beyond the bound, what the others did since it last counted: at most a quarter of a second ago.
 * Jobs that workflows and cron make are not held back: refusing them would break what has begun.
 */
import type { EngineApi } from '../../../../engine/api.ts'
import { RequestError } from '../../../../http/request-error.ts'
import type { Backpressure, QueueConfig } from './queue-config.ts'

/** Settings made on another server are known here after so long. */
const CONFIG_MS = 1_000
const COUNT_MS = 250
/** A queue found full stays so for a moment: whoever asks on and on must not make us count on and on. */
const FULL_MS = 50
const RETRY_SECONDS = 1

interface Lane {
  /** Who waits last. */
  turn: Promise<unknown>
  depth: number
  countedAt: number
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

  /** Something was set: read again before the next job. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
    this.#lanes.clear()
  }

  async configOf(queue: string): Promise<QueueConfig> {
    await this.#fresh()
    return this.#configs.get(queue) ?? {}
  }

  /** Lets `enqueue` put so many jobs into these queues, all or none. Tells headers about queues under pressure. */
  async admit<T>(
    counts: ReadonlyMap<string, number>,
    enqueue: () => Promise<T>,
    tell: (headers: Readonly<Record<string, string>>) => void,
  ): Promise<T> {
    await this.#fresh()
    const bounded = [...counts].flatMap(([queue, count]) => {
      const bound = this.#configs.get(queue)?.backpressure
      return bound === undefined ? [] : [{ queue, count, bound }]
    })
    if (bounded.length === 0) return enqueue()
    // Always in the same order: two requests for the same queues must not wait for each other.
    const [first, ...rest] = bounded.sort((a, b) => (a.queue < b.queue ? -1 : 1))
    return this.#inTurn(first as Bounded, rest, enqueue, tell)
  }

  #inTurn<T>(
    one: Bounded,
    rest: readonly Bounded[],
    enqueue: () => Promise<T>,
    tell: (headers: Readonly<Record<string, string>>) => void,
  ): Promise<T> {
    const lane = this.#laneOf(one.queue)
    const mine = lane.turn.then(async () => {
      await this.#refuseIfFull(one, lane)
      const [next, ...others] = rest
      const done = next === undefined ? await enqueue() : await this.#inTurn(next, others, enqueue, tell)
      lane.depth += one.count
      const headers = pressureOf(lane.depth, one.bound)
      if (headers !== null) tell(headers)
      return done
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
    throw new RequestError('QUEUE_FULL', `queue ${queue} holds ${lane.depth} jobs and takes ${bound.maxDepth}`, {
      details: { queue, depth: lane.depth, bound: bound.maxDepth, strategy: bound.strategy },
      headers: {
        'retry-after': String(RETRY_SECONDS),
        'x-ojs-queue-depth': String(lane.depth),
        'x-ojs-queue-bound': String(bound.maxDepth),
        'x-ojs-queue-pressure': '1',
      },
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

function pressureOf(
  depth: number,
  { maxDepth, warningThreshold }: Backpressure,
): Readonly<Record<string, string>> | null {
  const pressure = depth / maxDepth
  if (pressure < warningThreshold) return null
  return {
    'x-ojs-queue-depth': String(depth),
    'x-ojs-queue-bound': String(maxDepth),
    'x-ojs-queue-pressure': String(Math.round(pressure * 1000) / 1000),
  }
}

const BY_ENGINE = new WeakMap<EngineApi, Bounds>()

/** One for all routes of a server. */
export function boundsOf(engine: EngineApi): Bounds {
  let bounds = BY_ENGINE.get(engine)
  if (bounds === undefined) {
    bounds = new Bounds(engine)
    BY_ENGINE.set(engine, bounds)
  }
  return bounds
}
