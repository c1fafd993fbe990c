/**
 * A long-running process: engine, perhaps a server, perhaps a worker, until SIGINT or SIGTERM. At shutdown, the server
 * stops answering first, then the worker lets its runs end, then engine and store close: runs without a recorded
 * outcome are handed out again by the remaining processes, or at the next start.
 */
import type { Saga } from '../../client/saga.ts'
import type { EngineApi } from '../../engine/api.ts'
import type { WorkerMetrics } from '../../server/metrics/worker-metrics.ts'
import type { Server, ServerOptions } from '../../server/server.ts'
import type { Handlers } from '../../worker/handlers.ts'
import type { Worker } from '../../worker/worker.ts'
import type { Shared } from '../terminal/act.ts'
import { listening } from '../terminal/listening.ts'
import { serviceLogger } from '../terminal/logger.ts'
import { packageVersion } from '../version.ts'
import { connect } from './connect.ts'
import { type NatsOptions, type SagaService, serveSagas } from './nats.ts'

export type HttpParams = Omit<ServerOptions, 'engine' | 'version' | 'logger'> & { readonly host: string }

export interface ServiceOptions {
  readonly shared: Shared & NatsOptions
  readonly http: HttpParams | null
  readonly work: {
    readonly handlers: Handlers
    readonly concurrency?: number
    readonly queues?: readonly string[]
    readonly name?: string
    readonly tenant?: string
    readonly runtime?: string
  } | null
  /** Sagas whose commands are built here, in addition to deployed files. */
  readonly sagas?: readonly Saga[]
  /** The address for metrics of a process without a server; null: none. */
  readonly metrics?: { readonly host: string; readonly port: number } | null
  readonly graceMs: number
}

export interface Service {
  readonly engine: EngineApi
  readonly server: Server | null
  readonly worker: Worker | null
  readonly metrics: WorkerMetrics | null
  readonly sagas: SagaService | null
  stop(): Promise<void>
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { shared, http, work, graceMs } = options
  const logger = await serviceLogger()
  const serverModule = http === null ? null : import('../../server/server.ts')
  const workerModule = work === null ? null : import('../../worker/worker.ts')
  // A failure occurs here, but is reported where it is awaited.
  serverModule?.catch(() => {})
  const engine = await connect(shared, { create: true, engine: { logger } })
  let server: Server | null = null
  let worker: Worker | null = null
  let metrics: WorkerMetrics | null = null
  let sagas: SagaService | null = null
  const stop = async (): Promise<void> => {
    await server?.close({ graceMs })
    await sagas?.stop({ graceMs })
    await worker?.stop({ graceMs })
    await metrics?.close()
    await engine.close()
  }
  try {
    sagas = await serveSagas(engine, shared, { sagas: options.sagas ?? [], logger })
    if (http !== null && serverModule !== null) {
      const { startServer } = await serverModule
      server = await listening(startServer({ engine, version: packageVersion(), ...http, logger }), {
        ...http,
        option: '--port',
      })
    }
    if (options.metrics) {
      const { serveWorkerMetrics } = await import('../../server/metrics/worker-metrics.ts')
      const place = { ...options.metrics, option: '--metrics-port' as const }
      metrics = await listening(serveWorkerMetrics({ engine, version: packageVersion(), ...options.metrics }), place)
    }
    if (work !== null && workerModule !== null) {
      const { Worker } = await workerModule
      worker = await Worker.start(engine.workers, { ...work, logger })
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { engine, server, worker, metrics, sagas, stop }
}
