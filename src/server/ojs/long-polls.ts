/** Requests that wait: each ends when its client hangs up, all of them when the server stops. */
import type { FastifyReply } from 'fastify'

export class LongPolls {
  /** Thousands may wait at a time, so the server's own signal has one listener, not one for each. */
  readonly #waiting = new Set<AbortController>()
  readonly #closing: AbortSignal

  constructor(closing: AbortSignal) {
    this.#closing = closing
    closing.addEventListener('abort', () => {
      for (const poll of this.#waiting) poll.abort()
    })
  }

  async during<T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const poll = new AbortController()
    const hungUp = (): void => poll.abort()
    if (this.#closing.aborted || reply.raw.destroyed) poll.abort()
    reply.raw.once('close', hungUp)
    this.#waiting.add(poll)
    try {
      return await work(poll.signal)
    } finally {
      this.#waiting.delete(poll)
      reply.raw.off('close', hungUp)
    }
  }
}
