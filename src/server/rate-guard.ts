/**
 * How many requests one caller may send in a minute: per API key, else per address. Counted in each process by itself;
 * behind two servers a caller gets twice as much.
 */
import type { FastifyInstance } from 'fastify'
import { callerKey } from './caller.ts'
import { RequestError } from './request-error.ts'

const WINDOW_MS = 60_000
/** Callers remembered; the longest silent one is forgotten first. */
const CALLERS = 10_000
/** Probes must hear how the server is, whoever else asks from the same address. */
const PROBE = /^\/(?:ready|health|ojs\/v1\/health)(?:\?|$)/

/** `perMinute` null: no guard. Registered after the hook that says who is asking; unknown paths count too. */
export async function guardRate(app: FastifyInstance, perMinute: number | null): Promise<void> {
  if (perMinute === null) return
  // Loaded only where it is wanted: a server for one developer starts without it.
  const { default: rateLimit } = await import('@fastify/rate-limit')
  await app.register(rateLimit, { global: false, cache: CALLERS })
  const count = app.createRateLimit({ max: perMinute, timeWindow: WINDOW_MS, keyGenerator: callerKey })
  app.addHook('onRequest', async (request, reply) => {
    if (PROBE.test(request.url)) return
    const counted = await count(request)
    if (counted.isAllowed) return
    const { remaining, ttl, isExceeded } = counted
    const seconds = Math.max(1, Math.ceil(ttl / 1000))
    reply.header('x-ratelimit-limit', perMinute)
    reply.header('x-ratelimit-remaining', remaining)
    reply.header('x-ratelimit-reset', Math.floor(Date.now() / 1000) + seconds)
    if (!isExceeded) return
    throw new RequestError('rate_limited', `more than ${perMinute} requests in a minute`, {
      details: { limit: perMinute, window_seconds: WINDOW_MS / 1000, retry_after_seconds: seconds },
      headers: { 'retry-after': String(seconds) },
    })
  })
}
