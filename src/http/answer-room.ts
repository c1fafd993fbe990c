/**
 * How many answers are made at a time. An answer may hold a megabyte of values and several of memory until its client has
 * taken it, so reads beyond the bound wait for their turn: callers in rotation, and each caller's in their order. A read
 * leaves when its answer is short or has been taken; one that is not taken for too long is cut off.
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

/** Probes must hear how the server is. */
const EXEMPT = /^\/(?:ready|health|ojs\/v1\/health)(?:\?|$)/

export function guardAnswers(app: FastifyInstance): void {
  const room = new AnswerRoom()
  const inside = new WeakMap<FastifyRequest, { readonly leave: () => void; readonly gone: AbortSignal }>()
  app.addHook('preHandler', async (request, reply) => {
    // The answer to a HEAD is made like that to a GET, and not sent.
    if (!['GET', 'HEAD'].includes(request.method) || EXEMPT.test(request.url) || isStream(request)) return
    const { signal: gone } = goneWith(reply)
    const leave = await room.enter(callerKey(request), gone)
    // Nobody is there to be answered.
    if (leave === null) return reply.hijack()
    inside.set(request, { leave, gone })
  })
  // Not before: an answer whose client has hung up is made all the same.
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

/** Streams have seats of their own. Whether a path has one, its route says: a header alone would be a way around. */
function isStream({ headers, routeOptions }: FastifyRequest): boolean {
  const { stream } = routeOptions.config
  return stream === 'always' || (stream === 'accepted' && (headers.accept ?? '').includes('text/event-stream'))
}

/** Nothing was taken between two looks. */
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

  /** Resolves with a function that leaves; null: whoever waited has gone, and holds nothing. */
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

  /** false: gone before its turn came. */
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
      // Its turn comes again after the others'.
      this.#waiting.delete(next)
      const first = line.shift()
      if (line.length > 0) this.#waiting.set(next, line)
      this.#take(next)
      first?.turn()
      return
    }
  }
}
