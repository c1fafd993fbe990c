/**
 * Is this process alive (/health), does its store answer (/ojs/v1/health), should it be sent requests (/ready)?
 * 200 or 503. A process that is going down still lives, and is no longer ready; nor is one whose store answers but takes
 * no writes, as on a full disk. Whether it does is tried at most every two seconds, however many ask.
 */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../engine/api.ts'
import { StoreError } from '../kernel/store-errors.ts'

export interface HealthOptions {
  readonly engine: EngineApi
  readonly version: string
  /** false: starting up or going down. */
  ready(): boolean
}

const PATIENCE_MS = 2_000
const TRY_EVERY_MS = 2_000

export function healthRoutes(app: FastifyInstance, { engine, version, ready }: HealthOptions): void {
  const uptime = (): number => Math.floor(process.uptime())
  const open = { config: { access: 'none' as const } }

  app.get('/health', open, () => ({ status: 'ok', version, uptime_seconds: uptime() }))

  app.get('/ojs/v1/health', open, async (_, reply) => {
    const backend = await askStore(engine)
    const ok = backend.status === 'ok'
    reply.code(ok ? 200 : 503)
    return { status: ok ? (ready() ? 'ok' : 'degraded') : 'unhealthy', version, uptime_seconds: uptime(), backend }
  })

  const unwritable = writeTrial(engine.storage)

  app.get('/ready', open, async (_, reply) => {
    const reason = ready() ? await unwritable() : 'the server is going down'
    reply.code(reason === null ? 200 : 503)
    return reason === null ? { status: 'ready' } : { status: 'not_ready', reason }
  })
}

/** Why the store takes no writes; null: it does. */
function writeTrial(storage: EngineApi['storage']): () => Promise<string | null> {
  let trial: Promise<string | null> | null = null
  let triedAt = Number.NEGATIVE_INFINITY
  const attempt = async (): Promise<string | null> => {
    try {
      await inTime(storage.probeWrite())
      return null
    } catch (error) {
      if (!(error instanceof StoreError)) return 'the store does not answer'
      return `the store takes no writes (${error.code})`
    }
  }
  return () => {
    if (trial === null || performance.now() - triedAt > TRY_EVERY_MS) {
      triedAt = performance.now()
      trial = attempt()
    }
    return trial
  }
}

async function askStore({
  queries,
  storage,
}: EngineApi): Promise<{ type: string; status: string; latency_ms: number }> {
  const began = performance.now()
  let status = 'ok'
  try {
    await inTime(queries.now())
  } catch {
    status = 'unhealthy'
  }
  return { type: storage.kind, status, latency_ms: Math.round((performance.now() - began) * 100) / 100 }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
