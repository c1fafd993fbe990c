/**
 * Limits how many requests of one kind may be held open: each takes a socket and memory as long as its caller likes.
 * Counted per caller, so that one caller cannot take the seats of another, and in total.
 */
import type { FastifyRequest } from 'fastify'
import { callerKey } from './caller.ts'
import { RequestError } from './request-error.ts'

export interface SeatRules {
  /** The requests that take a seat, in the plural: `event streams`. */
  readonly what: string
  readonly perCaller: number
  readonly all: number
  readonly hint: string
}

export const STREAM_SEATS: SeatRules = {
  what: 'event streams',
  perCaller: 200,
  all: 2_000,
  hint: 'Close streams that are no longer read; one stream can carry several channels over a WebSocket.',
}

export const POLL_SEATS: SeatRules = {
  what: 'waiting fetches',
  perCaller: 1_000,
  all: 10_000,
  hint: 'Fetch with one request per worker process and a higher count, or without waiting.',
}

export class Seats {
  readonly #rules: SeatRules
  readonly #byCaller = new Map<string, number>()
  #all = 0

  constructor(rules: SeatRules) {
    this.#rules = rules
  }

  /** Holds a seat while `body` runs. */
  async taken<T>(request: FastifyRequest, body: () => Promise<T>): Promise<T> {
    const leave = this.take(request)
    try {
      return await body()
    } finally {
      leave()
    }
  }

  take(request: FastifyRequest): () => void {
    const { what, perCaller, all, hint } = this.#rules
    const caller = callerKey(request)
    const held = this.#byCaller.get(caller) ?? 0
    if (this.#all >= all || held >= perCaller) {
      throw new RequestError('rate_limited', `${held} ${what} are open for this caller, ${this.#all} in all`, {
        details: { limit_per_caller: perCaller, limit: all },
        hint,
        headers: { 'retry-after': '5' },
      })
    }
    this.#all++
    this.#byCaller.set(caller, held + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#all--
      const rest = (this.#byCaller.get(caller) ?? 1) - 1
      if (rest === 0) this.#byCaller.delete(caller)
      else this.#byCaller.set(caller, rest)
    }
  }
}
