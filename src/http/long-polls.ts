/**
 * Waiting requests: each ends when its client disconnects or asks for its end, and all end when the server stops. There
 * is one list for the whole server: a caller's seats apply to all waiting routes.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { POLL_SEATS, Seats } from './seats.ts'

export class LongPolls {
  /** Thousands may wait at a time, so the server's own signal has one listener, not one for each. */
  readonly #waiting = new Map<AbortController, string | null>()
  readonly #closing: AbortSignal
  readonly #seats = new Seats(POLL_SEATS)

  constructor(closing: AbortSignal) {
    this.#closing = closing
    closing.addEventListener('abort', () => {
      for (const poll of this.#waiting.keys()) poll.abort()
    })
  }

  /** `name`: its owner, for `stop`. */
  async during<T>(
    { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
    work: (signal: AbortSignal) => Promise<T>,
    name: string | null = null,
  ): Promise<T> {
    return this.#seats.taken(request, async () => {
      const poll = new AbortController()
      const hungUp = (): void => poll.abort()
      if (this.#closing.aborted || reply.raw.destroyed) poll.abort()
      reply.raw.once('close', hungUp)
      this.#waiting.set(poll, name)
      try {
        return await work(poll.signal)
      } finally {
        this.#waiting.delete(poll)
        reply.raw.off('close', hungUp)
      }
    })
  }

  /** Ends those with this name; they are answered. Returns their number. */
  stop(name: string): number {
    const own = [...this.#waiting].filter(([, whose]) => whose === name)
    for (const [poll] of own) poll.abort()
    return own.length
  }
}
