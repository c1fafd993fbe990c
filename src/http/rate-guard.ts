/**
 * Limits the requests of one caller per minute: per API key, else per address. Each process counts separately; behind
 * two servers a caller gets twice as much. Counted in elapsed time: a clock that is set back delays no window.
 */
import type { FastifyInstance } from 'fastify'
import { callerKey } from './caller.ts'
import { RequestError } from './request-error.ts'

const WINDOW_MS = 60_000
/** Cached callers; the one that has been silent longest is removed first. */
const CALLERS = 10_000
/** Probes must always get an answer, whatever other requests come from the same address. */
const PROBE = /^\/(?:ready|health|ojs\/v1\/health)(?:\?|$)/

interface Window {
  readonly opened: number
  readonly requests: number
}

/** `perMinute` null: no limit. Registered after the hook that identifies the caller; unknown paths count too. */
export function guardRate(app: FastifyInstance, perMinute: number | null): void {
  if (perMinute === null) return
  const windows = new Map<string, Window>()
  app.addHook('onRequest', async (request, reply) => {
    if (PROBE.test(request.url)) return
    const { requests, leftMs } = count(windows, callerKey(request))
    const seconds = Math.max(1, Math.ceil(leftMs / 1000))
    reply.header('x-ratelimit-limit', perMinute)
    reply.header('x-ratelimit-remaining', Math.max(0, perMinute - requests))
    reply.header('x-ratelimit-reset', Math.floor(Date.now() / 1000) + seconds)
    if (requests <= perMinute) return
    throw new RequestError('rate_limited', `more than ${perMinute} requests in a minute`, {
      details: { limit: perMinute, window_seconds: WINDOW_MS / 1000, retry_after_seconds: seconds },
      headers: { 'retry-after': String(seconds) },
    })
  })
}

function count(windows: Map<string, Window>, caller: string): { readonly requests: number; readonly leftMs: number } {
  const now = performance.now()
  const known = windows.get(caller)
  const open = known !== undefined && now - known.opened < WINDOW_MS ? known : { opened: now, requests: 0 }
  const window = { opened: open.opened, requests: open.requests + 1 }
  // Deleted first, so that the most recent caller is last.
  windows.delete(caller)
  windows.set(caller, window)
  const [silent] = windows.keys()
  if (windows.size > CALLERS && silent !== undefined) windows.delete(silent)
  return { requests: window.requests, leftMs: WINDOW_MS - (now - window.opened) }
}
