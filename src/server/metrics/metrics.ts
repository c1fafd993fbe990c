/**
 * GET /metrics for Prometheus. Counting begins with the first request; the library that prints the metrics is loaded
 * once the server listens, so that the start does not wait for it.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { text } from '../../wire/schema.ts'
import { serverRoute as route } from '../context.ts'
import type { Instruments } from './instruments.ts'
import type { MeasuredEngine } from './measured.ts'
import { RunMeter } from './run-meter.ts'
import { Tally } from './tally.ts'

export interface Metrics {
  /** Event streams open to this process, by `kind`. */
  readonly streams: Tally
  /** All metrics, as text. */
  print(): Promise<string>
}

export const METRICS_ROUTES = [
  route(
    'GET /metrics',
    {
      tag: 'Server',
      summary: 'Metrics for Prometheus',
      does: { scope: 'read', shared: true },
      otherQuery: 'ignored',
      answers: { '200': { description: 'In its text format.', schema: text(), type: 'text/plain' } },
    },
    async ({ reply }, { metrics }) => {
      const printed = await metrics()
      // A string would get a charset appended, and a client of the suite compares the whole header.
      reply.header('content-type', 'text/plain')
      return reply.send(Buffer.from(printed))
    },
  ),
]

export function measure(app: FastifyInstance, engine: MeasuredEngine, version: string): Metrics {
  const streams = new Tally()
  const inFlight = new Tally()
  const meter = new RunMeter()
  const unmeter = engine.observe(meter)
  let loading: Promise<Instruments> | null = null
  let instruments: Instruments | null = null
  const load = (): Promise<Instruments> => {
    loading ??= import('./instruments.ts').then((module) => {
      instruments = new module.Instruments({ engine, version, streams, inFlight, meter })
      return instruments
    })
    return loading
  }

  app.addHook('onListen', async () => void load())
  app.addHook('onRequest', async (request, reply) => {
    const labels = labelsOf(request)
    inFlight.inc(labels)
    // Also for answers taken over by a stream, and for clients that disconnected.
    reply.raw.once('close', () => inFlight.dec(labels))
  })
  app.addHook('onResponse', async (request, reply) => {
    instruments?.durations.observe({ ...labelsOf(request), status: reply.statusCode }, reply.elapsedTime / 1000)
  })
  app.addHook('onClose', async () => {
    unmeter()
    instruments?.registry.clear()
  })
  return { streams, print: async () => (await load()).registry.metrics() }
}

/** The path as registered, never as requested, so that the number of series stays bounded. */
function labelsOf({ method, routeOptions }: FastifyRequest): { readonly method: string; readonly route: string } {
  return { method, route: routeOptions.url ?? 'unknown' }
}
