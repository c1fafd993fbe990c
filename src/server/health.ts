/**
 * Is this process alive (/health), does its store answer (/ojs/v1/health), should it be sent requests (/ready)?
 * 200 or 503. A process that is going down still lives, and is no longer ready.
 */
import type { FastifyInstance } from 'fastify'
import type { Store } from '../store/store.ts'

export interface HealthOptions {
  readonly store: Store
  readonly version: string
  /** false: starting up or going down. */
  ready(): boolean
}

const PATIENCE_MS = 2_000

export function healthRoutes(app: FastifyInstance, { store, version, ready }: HealthOptions): void {
  const uptime = (): number => Math.floor(process.uptime())
  const open = { config: { scope: 'none' as const } }

  app.get('/health', open, () => ({ status: 'ok', version, uptime_seconds: uptime() }))

  app.get('/ojs/v1/health', open, async (_, reply) => {
    const backend = await askStore(store)
    const ok = backend.status === 'ok'
    reply.code(ok ? 200 : 503)
    return { status: ok ? (ready() ? 'ok' : 'degraded') : 'unhealthy', version, uptime_seconds: uptime(), backend }
  })

  app.get('/ready', open, async (_, reply) => {
    const backend = await askStore(store)
    const reason = !ready() ? 'the server is going down' : backend.status !== 'ok' ? 'the store does not answer' : null
    reply.code(reason === null ? 200 : 503)
    return reason === null ? { status: 'ready' } : { status: 'not_ready', reason }
  })
}

async function askStore(store: Store): Promise<{ type: string; status: string; latency_ms: number }> {
  const began = performance.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS)
  })
  let status = 'ok'
  try {
    await Promise.race([store.now(), late])
  } catch {
    status = 'unhealthy'
  } finally {
    clearTimeout(timer)
  }
  return { type: store.kind, status, latency_ms: Math.round((performance.now() - began) * 100) / 100 }
}
