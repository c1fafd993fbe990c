/** How many streams may be open: each holds a socket for as long as it likes. */
import type { FastifyRequest } from 'fastify'
import { RequestError } from '../request-error.ts'

const SEATS = 2_000
const SEATS_PER_CALLER = 200

export class StreamSeats {
  readonly #byCaller = new Map<string, number>()
  #all = 0

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
    const { subject, verified } = request.caller
    const caller = verified ? `key ${subject}` : `ip ${request.ip}`
    const held = this.#byCaller.get(caller) ?? 0
    if (this.#all >= SEATS || held >= SEATS_PER_CALLER) {
      throw new RequestError('rate_limited', `${held} event streams are open for this caller, ${this.#all} in all`, {
        details: { limit_per_caller: SEATS_PER_CALLER, limit: SEATS },
        hint: 'Close streams that are no longer read; one stream can carry several channels over a WebSocket.',
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
