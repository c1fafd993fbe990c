/** GET /v1/instances/:id/events: page by page, or as a stream. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { onlyKnown, type Query, wholeParam } from '../../http/query.ts'
import type { Seats } from '../../http/seats.ts'
import { streamEvents } from '../../http/stream.ts'
import { eventWire } from '../../wire/event.ts'
import { wireEach } from '../../wire/value.ts'
import { InstanceWatch } from '../instance-watch.ts'
import { type ById, findRow } from './find.ts'

export interface HistoryContext {
  readonly engine: EngineApi
  readonly streamSeats: Seats
  readonly closing: AbortSignal
}

export function historyRoutes(app: FastifyInstance, { engine, streamSeats, closing }: HistoryContext): void {
  const watch = new InstanceWatch(engine.queries)
  app.get<ById>(
    '/v1/instances/:id/events',
    { exposeHeadRoute: false, config: { stream: 'accepted' } },
    async (request, reply) => {
      const query = request.query as Query
      onlyKnown(query, ['after', 'limit'])
      const { id: instanceId, eventSeq } = await findRow(engine, request.params.id, request.caller)
      const limit = wholeParam(query, 'limit', { least: 1, most: 1000, fallback: 100 })
      if (wantsStream(request)) {
        const after = resumeAt(request, query)
        return streamSeats.taken(request, () =>
          streamEvents({ engine, watch, instanceId, after, reply: open(reply, request), closing }),
        )
      }
      const after = wholeParam(query, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 })
      const events = await engine.queries.instanceEvents({ instanceId, afterSeq: after, limit })
      const last = events.at(-1)?.seq ?? null
      return {
        events: wireEach(engine.faults, events, eventWire),
        next_after: last ?? after,
        has_more: last !== null && last < eventSeq,
      }
    },
  )
}

function wantsStream(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/event-stream')
}

/** A client that reconnects says in a header what it saw last; that counts more than where it once began. */
function resumeAt(request: FastifyRequest, query: Query): number {
  const last = request.headers['last-event-id']
  const given: Query = typeof last === 'string' && last !== '' ? { after: last } : query
  return wholeParam(given, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 })
}

/** Takes the socket over from fastify, with the headers it would have sent. */
function open(reply: FastifyReply, request: FastifyRequest): ServerResponse {
  reply.hijack()
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-request-id': request.id,
    'x-accel-buffering': 'no',
  })
  return reply.raw
}
