/** GET /metrics of a process that has workers and no HTTP API: the same names as on a server, of its own workers. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MeasuredEngine } from './measured.ts'
import { RunMeter } from './run-meter.ts'
import { measureRuns } from './run-metrics.ts'

export interface WorkerMetrics {
  readonly port: number
  close(): Promise<void>
}

export interface WorkerMetricsOptions {
  readonly engine: MeasuredEngine
  readonly version: string
  readonly host: string
  readonly port: number
}

/** Counts from now on: to be called before the first worker starts. */
export async function serveWorkerMetrics({
  engine,
  version,
  host,
  port,
}: WorkerMetricsOptions): Promise<WorkerMetrics> {
  const registry = new Registry()
  const meter = new RunMeter()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const info = {
    name: 'petrel_info',
    help: 'Always 1; the labels describe the version.',
    labelNames: ['version', 'store'],
    registers,
  }
  new Gauge(info).set({ version, store: engine.storage.kind }, 1)
  const errors = new Counter({
    name: 'petrel_store_read_errors_total',
    help: 'Times the store could not be read for these metrics.',
    registers,
  })
  measureRuns({ registry, meter, queries: engine.queries, allWorkers: false, failed: () => errors.inc() })
  const server = createServer((request, response) => {
    const found = request.method === 'GET' && request.url?.split('?', 1)[0] === '/metrics'
    if (!found) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('GET /metrics\n')
      return
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, resolve)
  })
  const unobserve = engine.observe(meter)
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      unobserve()
      registry.clear()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
