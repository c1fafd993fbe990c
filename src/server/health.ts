/** GET /ojs/v1/health: 200 when this process can take and record work, 503 otherwise. */
import type { FastifyInstance } from 'fastify'
import type { Store } from '../store/store.ts'

export interface HealthOptions {
  readonly store: Store
  readonly version: string
  /** false: starting up or going down. */
  ready(): boolean
}

const PATIENCE_MS = 2_000

export function healthRoute(app: FastifyInstance, { store, version, ready }: HealthOptions): void {
  app.get('/ojs/v1/health', async (_, reply) => {
    const backend = await askStore(store)
    const ok = ready() && backend.status === 'ok'
    reply.code(ok ? 200 : 503)
    return {
      status: ok ? 'ok' : 'unhealthy',
      version,
      uptime_seconds: Math.floor(process.uptime()),
      backend,
    }
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
