/**
 * Is this process alive (/health), does its store answer (/ojs/v1/health), should it receive requests (/ready)? 200 or
 * 503. A process that is shutting down is alive and no longer ready; neither is one whose store answers but accepts no
 * writes, as on a full disk. Writes are tried at most every two seconds, however many requests come.
 */
import type { Perform } from '../operations/operation.ts'
import { type StoreHealth, storeHealth, tryWrite } from '../operations/server/health.ts'
import { named, number, object, optional, text, type Value, whole, word } from '../wire/schema.ts'
import { serverRoute as route } from './context.ts'

const TRY_EVERY_MS = 2_000

const Health = named(
  'Health',
  object({
    status: word(['ok', 'degraded', 'unhealthy']),
    version: text(),
    uptime_seconds: whole(),
    backend: optional(
      object({
        type: word(['sqlite', 'postgres']),
        status: word(['ok', 'unhealthy']),
        latency_ms: number(),
      }),
    ),
  }),
)

const Ready = named('Ready', object({ status: word(['ready', 'not_ready']), reason: optional(text()) }))

const READY = { status: 'ready' as const }

/** Why the store accepts no writes; null: it does. */
export class WriteTrial {
  #latest: Promise<string | null> | null = null
  #triedAt = Number.NEGATIVE_INFINITY

  problem(perform: Perform): Promise<string | null> {
    if (this.#latest === null || performance.now() - this.#triedAt > TRY_EVERY_MS) {
      this.#triedAt = performance.now()
      this.#latest = perform(tryWrite, null)
    }
    return this.#latest
  }
}

export const HEALTH_ROUTES = [
  route(
    'GET /health',
    {
      tag: 'Server',
      summary: 'Is this process alive?',
      does: 'none',
      otherQuery: 'ignored',
      answers: { '200': { description: 'It does.', schema: Health } },
    },
    async (_, { version }) => ({ status: 'ok' as const, version, uptime_seconds: uptime() }),
  ),

  route(
    'GET /ojs/v1/health',
    {
      tag: 'Server',
      summary: 'Does the store answer?',
      does: storeHealth,
      otherQuery: 'ignored',
      answers: {
        '200': { description: 'It does.', schema: Health },
        '503': { description: 'It does not answer.', schema: Health },
      },
    },
    async ({ perform, reply }, { version, ready }) => {
      const health = await perform(storeHealth, null)
      reply.code(health.answers ? 200 : 503)
      return healthWire(health, { version, ready: ready() })
    },
  ),

  route(
    'GET /ready',
    {
      tag: 'Server',
      summary: 'Should this process receive requests?',
      does: tryWrite,
      otherQuery: 'ignored',
      answers: {
        '200': { description: 'Yes.', schema: Ready },
        '503': { description: 'Not now: it is shutting down, or its store cannot be written.', schema: Ready },
      },
    },
    async ({ perform, reply }, { ready, writes }) => {
      const reason = ready() ? await writes.problem(perform) : 'the server is going down'
      reply.code(reason === null ? 200 : 503)
      return reason === null ? READY : { status: 'not_ready' as const, reason }
    },
  ),
]

function healthWire(
  { kind, answers, latencyMs }: StoreHealth,
  { version, ready }: { readonly version: string; readonly ready: boolean },
): Value<typeof Health> {
  return {
    status: answers ? (ready ? 'ok' : 'degraded') : 'unhealthy',
    version,
    uptime_seconds: uptime(),
    backend: {
      type: kind,
      status: answers ? 'ok' : 'unhealthy',
      latency_ms: Math.round(latencyMs * 100) / 100,
    },
  }
}

function uptime(): number {
  return Math.floor(process.uptime())
}
