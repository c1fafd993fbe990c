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

/** Streams have seats of their own, and probes must hear how the server is. */
const EXEMPT = /^\/(?:ready|health|ojs\/v1\/health|ojs\/v1\/ws)(?:\?|$)/

export function guardAnswers(app: FastifyInstance): void {
  const room = new AnswerRoom()
  const leaves = new WeakMap<FastifyRequest, () => void>()
  app.addHook('preHandler', async (request, reply) => {
    if (request.method !== 'GET' || EXEMPT.test(request.url) || isStream(request)) return
    const leave = await room.enter(callerKey(request))
    leaves.set(request, leave)
    reply.raw.once('close', leave)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const leave = leaves.get(request)
    if (leave === undefined) return
    const isLong = typeof payload !== 'string' || payload.length > SHORT_BYTES
    if (isLong) cutOffSilent(reply)
    else leave()
  })
}

function isStream({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? '').includes('text/event-stream')
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

export class AnswerRoom {
  readonly #inside = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()
  #all = 0

  /** Resolves with a function that leaves. */
  async enter(caller: string): Promise<() => void> {
    if (!this.#hasRoom(caller)) await this.#wait(caller)
    else this.#take(caller)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#leave(caller)
    }
  }

  #wait(caller: string): Promise<void> {
    const line = this.#waiting.get(caller) ?? []
    if (line.length >= WAITING_PER_CALLER) {
      throw new RequestError('rate_limited', `${line.length} requests of this caller wait for an answer already`, {
        details: { limit_per_caller: WAITING_PER_CALLER },
        headers: { 'retry-after': '1' },
      })
    }
    this.#waiting.set(caller, line)
    return new Promise((resolve) => line.push(resolve))
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
      const resolve = line.shift()
      if (line.length > 0) this.#waiting.set(next, line)
      this.#take(next)
      resolve?.()
      return
    }
  }
}
