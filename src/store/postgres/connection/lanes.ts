/**
 * A few connections of one kind. A caller has a lane to itself while it works; others wait in line. A lane whose
 * connection broke is discarded and the next caller connects again, with growing pauses, for at most five seconds.
 */

import pg from 'pg'
import { sleep } from '../../../kernel/sleep.ts'
import { StoreUnavailableError, StoreUnusableError } from '../../../kernel/store-errors.ts'
import type { SchemaCheck } from '../migrate.ts'
import { causeOf, isConnectionLoss, isRefusal } from './failure.ts'

export interface Lane {
  readonly client: pg.Client
  /** true once the connection was lost. */
  lost: boolean
  /** When its plans were made. */
  plannedAt: number
}

export interface LanesParams {
  readonly url: string
  readonly size: number
  /** Shown in pg_stat_activity. */
  readonly name: string
  /** Session settings, sent with the start-up message; empty behind a pooler, which would refuse them. */
  readonly settings: Readonly<Record<string, string>>
  /** Of the database; shared by all connections to it. */
  readonly schema: SchemaCheck
  /** A connection was lost, or a new one opened: the server behind it may be another. */
  readonly changed?: () => void
}

/**
 * Three kinds of reads, none of which waits behind a slower kind: `reads` by id, which the engine itself depends on;
 * `views` of one instance or run with all that belongs to it; `lists`, counts and checks over whole tables.
 */
export interface ReadLanes {
  readonly reads: Lanes
  readonly views: Lanes
  readonly lists: Lanes
}

const PATIENCE_MS = 5000

export class Lanes {
  readonly #params: LanesParams
  readonly #free: Lane[] = []
  readonly #waiting: { resolve(lane: Lane | null): void; reject(error: Error): void }[] = []
  readonly #all = new Set<Lane>()
  /** Lanes in use or being connected. */
  #busy = 0
  #closed = false

  constructor(params: LanesParams) {
    this.#params = params
  }

  async use<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    const lane = await this.#take()
    try {
      return await work(lane)
    } finally {
      this.#give(lane)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const waiter of this.#waiting.splice(0)) waiter.reject(closedError())
    // current work may end by itself: if it were cut off in its COMMIT, the outcome would be unknown
    const giveUpAt = performance.now() + PATIENCE_MS
    while (this.#busy > 0 && performance.now() < giveUpAt) await sleep(5)
    await Promise.all([...this.#all].map((lane) => lane.client.end().catch(() => {})))
  }

  /** Every caller from now on gets a connection that is opened, and checked, after this. */
  renew(): void {
    for (const lane of this.#all) lane.lost = true
    for (const lane of this.#free.splice(0)) lane.client.end().catch(() => {})
  }

  async #take(): Promise<Lane> {
    if (this.#closed) throw closedError()
    const free = this.#free.pop()
    if (free !== undefined) {
      this.#busy++
      return free
    }
    if (this.#busy >= this.#params.size) {
      const handed = await new Promise<Lane | null>((resolve, reject) => this.#waiting.push({ resolve, reject }))
      if (handed !== null) return handed
    } else {
      this.#busy++
    }
    try {
      return await this.#connect()
    } catch (error) {
      this.#pass(null)
      throw error
    }
  }

  #give(lane: Lane): void {
    if (lane.lost) lane.client.end().catch(() => {})
    this.#pass(lane.lost || this.#closed ? null : lane)
  }

  /** Gives the lane, or the right to connect one, to the next in line. */
  #pass(lane: Lane | null): void {
    const next = this.#waiting.shift()
    if (next !== undefined) next.resolve(lane)
    else {
      this.#busy--
      if (lane !== null) this.#free.push(lane)
    }
  }

  async #connect(): Promise<Lane> {
    const giveUpAt = performance.now() + PATIENCE_MS
    for (let pause = 25; ; pause = Math.min(pause * 2, 1000)) {
      try {
        return await this.#open()
      } catch (error) {
        if (error instanceof StoreUnusableError) throw error
        const cause = causeOf(error)
        if (isRefusal(cause))
          throw new StoreUnusableError('refused', `PostgreSQL refused the connection: ${cause.message}`, { cause })
        const mayPass = isConnectionLoss(cause) || cause.code === '53300'
        if (!mayPass || this.#closed || performance.now() + pause > giveUpAt) {
          throw new StoreUnavailableError('unreachable', `cannot connect to PostgreSQL: ${cause.message}`, { cause })
        }
        await sleep(pause * (0.5 + Math.random()))
      }
    }
  }

  async #open(): Promise<Lane> {
    const client = new pg.Client(clientConfig(this.#params))
    const lane: Lane = { client, lost: false, plannedAt: performance.now() }
    const drop = (): void => {
      if (!lane.lost && !this.#closed) this.#params.changed?.()
      lane.lost = true
      this.#all.delete(lane)
      const at = this.#free.indexOf(lane)
      if (at >= 0) this.#free.splice(at, 1)
    }
    // without a listener the loss of an idle connection would end the process
    client.on('error', drop)
    client.on('end', drop)
    this.#all.add(lane)
    try {
      await client.connect()
      await this.#params.schema.ofNew(client)
    } catch (error) {
      drop()
      client.end().catch(() => {})
      throw error
    }
    if (this.#closed) {
      await client.end()
      throw closedError()
    }
    this.#params.changed?.()
    return lane
  }
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('closed', 'the store is closed')
}

export function clientConfig(params: Pick<LanesParams, 'url' | 'name' | 'settings'>): pg.ClientConfig {
  const url = new URL(params.url)
  const own = Object.entries(params.settings).map(([key, value]) => `-c ${key}=${value.replaceAll(' ', '\\ ')}`)
  const options = [url.searchParams.get('options') ?? '', ...own].filter((part) => part !== '').join(' ')
  url.searchParams.delete('options')
  return {
    connectionString: url.toString(),
    ...(options === '' ? {} : { options }),
    application_name: params.name,
    keepAlive: true,
    connectionTimeoutMillis: 5000,
  }
}
