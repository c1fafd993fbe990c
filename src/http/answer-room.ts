/**
 * Limits how many answers are prepared at a time. An answer may contain a megabyte of values and use several of memory
 * until its client has received it, so reads beyond the limit wait: callers in rotation, and the reads of each caller
 * in order. A read leaves when its answer is short or has been received; one that is not received for too long is
 * disconnected.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callerKey } from './caller.ts'
import { RequestError } from './request-error.ts'

const AT_A_TIME = 64
const AT_A_TIME_PER_CALLER = 8
const WAITING_PER_CALLER = 2_000
/** Longer answers count until their client has taken them. */
const SHORT_BYTES = 64 * 1024
const PATIENCE_MS = 30_000

/** Probes must always get an answer. */
const EXEMPT = /^\/(?:ready|health|ojs\/v1\/health)(?:\?|$)/

export function guardAnswers(app: FastifyInstance): void {
  const room = new AnswerRoom()
  const inside = new WeakMap<FastifyRequest, { readonly leave: () => void; readonly gone: AbortSignal }>()
  app.addHook('preHandler', async (request, reply) => {
    // The answer to a HEAD is prepared like that to a GET, and not sent.
    if (!['GET', 'HEAD'].includes(request.method) || EXEMPT.test(request.url) || isStream(request)) return
    const { signal: gone } = goneWith(reply)
    const leave = await room.enter(callerKey(request), gone)
    // The client has disconnected.
    if (leave === null) return reply.hijack()
    inside.set(request, { leave, gone })
  })
  // Not before: an answer whose client has disconnected is prepared all the same.
  app.addHook('onSend', async (request, reply, payload) => {
    const held = inside.get(request)
    if (held === undefined) return
    const isLong = typeof payload !== 'string' || payload.length > SHORT_BYTES
    if (!isLong || held.gone.aborted) return held.leave()
    held.gone.addEventListener('abort', held.leave)
    cutOffSilent(reply)
  })
}

function goneWith({ raw }: FastifyReply): AbortController {
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  if (raw.destroyed) gone.abort()
  return gone
}

/**
 * Streams have separate seats. The route determines whether a path is a stream; a header alone would be a way to bypass
 * the limit.
 */
function isStream({ headers, routeOptions }: FastifyRequest): boolean {
  const { stream } = routeOptions.config
  return stream === 'always' || (stream === 'accepted' && (headers.accept ?? '').includes('text/event-stream'))
}

/** Nothing was received between two checks. */
function cutOffSilent({ raw }: FastifyReply): void {
  const { socket } = raw
  if (socket === null) return
  let before = -1
  const timer = setInterval(() => {
    const left = socket.writableLength
    if (left > 0 && left === before) socket.destroy()
    before = left
  }, PATIENCE_MS / 2).unref()
  raw.once('close', () => clearInterval(timer))
}

interface Waiting {
  turn(): void
}

export class AnswerRoom {
  readonly #inside = new Map<string, number>()
  readonly #waiting = new Map<string, Waiting[]>()
  #all = 0

  /** Resolves with a function that leaves; null: the waiting request is gone, and occupies no place. */
  async enter(caller: string, gone: AbortSignal): Promise<(() => void) | null> {
    if (gone.aborted) return null
    if (this.#hasRoom(caller)) this.#take(caller)
    else if (!(await this.#wait(caller, gone))) return null
    let left = false
    return () => {
      if (left) return
      left = true
      this.#leave(caller)
    }
  }

  /** false: gone before its turn. */
  #wait(caller: string, gone: AbortSignal): Promise<boolean> {
    const line = this.#waiting.get(caller) ?? []
    if (line.length >= WAITING_PER_CALLER) {
      throw new RequestError('rate_limited', `${line.length} requests of this caller wait for an answer already`, {
        details: { limit_per_caller: WAITING_PER_CALLER },
        headers: { 'retry-after': '1' },
      })
    }
    this.#waiting.set(caller, line)
    return new Promise((resolve) => {
      const left = (): void => {
        this.#drop(caller, waiting)
        resolve(false)
      }
      const waiting: Waiting = {
        turn: () => {
          gone.removeEventListener('abort', left)
          resolve(true)
        },
      }
      gone.addEventListener('abort', left, { once: true })
      line.push(waiting)
    })
  }

  #drop(caller: string, waiting: Waiting): void {
    const line = (this.#waiting.get(caller) ?? []).filter((one) => one !== waiting)
    if (line.length > 0) this.#waiting.set(caller, line)
    else this.#waiting.delete(caller)
  }

  #hasRoom(caller: string): boolean {
    return this.#all < AT_A_TIME && (this.#inside.get(caller) ?? 0) < AT_A_TIME_PER_CALLER
  }

  #take(caller: string): void {
    this.#all++
    this.#inside.set(caller, (this.#inside.get(caller) ?? 0) + 1)
  }

  #leave(caller: string): void {
    this.#all--
    const rest = (this.#inside.get(caller) ?? 1) - 1
    if (rest === 0) this.#inside.delete(caller)
    else this.#inside.set(caller, rest)
    for (const [next, line] of this.#waiting) {
      if (!this.#hasRoom(next)) continue
      // Its next turn comes after the others'.
      this.#waiting.delete(next)
      const first = line.shift()
      if (line.length > 0) this.#waiting.set(next, line)
      this.#take(next)
      first?.turn()
      return
    }
  }
}
