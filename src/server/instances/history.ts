/** GET /v1/instances/:id/events: page by page, or as a stream. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { onlyKnown, type Query, wholeParam } from '../query.ts'
import { streamEvents } from '../stream.ts'
import { eventWire } from '../wire.ts'
import { type ById, findRow } from './find.ts'

export function historyRoutes(app: FastifyInstance, engine: EngineApi, closing: AbortSignal): void {
  app.get<ById>('/v1/instances/:id/events', { exposeHeadRoute: false }, async (request, reply) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const { id } = await findRow(engine, request.params.id, request.caller)
    const limit = wholeParam(query, 'limit', { least: 1, most: 1000, fallback: 100 })
    if (wantsStream(request))
      return streamEvents({
        engine,
        instanceId: id,
        after: resumeAt(request, query),
        reply: open(reply, request),
        closing,
      })
    const after = wholeParam(query, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 })
    const events = await engine.store.read.instanceEvents({ instanceId: id, afterSeq: after, limit: limit + 1 })
    const shown = events.slice(0, limit)
    return { events: shown.map(eventWire), next_after: shown.at(-1)?.seq ?? after, has_more: events.length > limit }
  })
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
function open(reply: FastifyReply, request: FastifyRequest): NodeJS.WritableStream & { readonly destroyed: boolean } {
  reply.hijack()
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-request-id': request.id,
    'x-accel-buffering': 'no',
  })
  return reply.raw
}
