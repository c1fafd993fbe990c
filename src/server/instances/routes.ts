/** GET /v1/instances, /v1/instances/:id, /v1/instances/:id/events. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EngineApi, InstanceView } from '../../engine/api.ts'
import { PetrelError } from '../../engine/errors.ts'
import { isId, listParam, onlyKnown, type Query, textParam, wholeParam } from '../query.ts'
import { streamEvents } from '../stream.ts'
import { eventWire, instanceWire, json, STATES, viewWire } from '../wire.ts'

type ById = { Params: { readonly id: string } }

export function instanceRoutes(app: FastifyInstance, engine: EngineApi, closing: AbortSignal): void {
  app.get('/v1/instances', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['state', 'name', 'dialect', 'all', 'limit', 'before'])
    const limit = wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 })
    const before = textParam(query, 'before')
    if (before !== null && !isId(before))
      throw new PetrelError('invalid_request', `before is an instance id, not '${before}'`, { parameter: 'before' })
    const rows = await engine.store.read.listInstances({
      states: listParam(query, 'state', STATES),
      name: textParam(query, 'name'),
      dialect: textParam(query, 'dialect'),
      tenant: request.caller.tenant,
      rootsOnly: textParam(query, 'all') !== 'true',
      limit: limit + 1,
      before,
    })
    const shown = rows.slice(0, limit)
    return { instances: shown.map(instanceWire), next_before: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
  })

  app.get<ById>('/v1/instances/:id', async (request) => {
    onlyKnown(request.query as Query, [])
    const view = await find(engine, request)
    const { id } = view.instance
    const [results, about] = await Promise.all([engine.results(id), aboutOf(engine, id)])
    return {
      ...viewWire(view),
      initiator: about.initiator ?? null,
      meta: about.meta ?? null,
      results: Object.fromEntries([...results].map(([node, text]) => [node, json(text)])),
    }
  })

  app.get<ById>('/v1/instances/:id/events', { exposeHeadRoute: false }, async (request, reply) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const { instance } = await find(engine, request)
    const limit = wholeParam(query, 'limit', { least: 1, most: 1000, fallback: 100 })
    if (wantsStream(request))
      return streamEvents({
        engine,
        instanceId: instance.id,
        after: resumeAt(request, query),
        reply: open(reply, request),
        closing,
      })
    const after = wholeParam(query, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 })
    const events = await engine.store.read.instanceEvents({
      instanceId: instance.id,
      afterSeq: after,
      limit: limit + 1,
    })
    const shown = events.slice(0, limit)
    return { events: shown.map(eventWire), next_after: shown.at(-1)?.seq ?? after, has_more: events.length > limit }
  })
}

async function find(engine: EngineApi, request: FastifyRequest<ById>): Promise<InstanceView> {
  const { id } = request.params
  const { tenant } = request.caller
  const view = isId(id) ? await engine.view(id) : null
  if (view === null || (tenant !== null && view.instance.tenant !== tenant))
    throw new PetrelError('not_found', `there is no instance ${id}`, { resource_type: 'instance', resource_id: id })
  return view
}

/** Who started it, and what they had to say about it. */
async function aboutOf(engine: EngineApi, instanceId: string): Promise<{ initiator?: string; meta?: unknown }> {
  const slots = await engine.store.read.slots({ instanceId, prefix: 'm' })
  const text = slots.find(({ key }) => key === 'm')?.value
  return text === undefined ? {} : JSON.parse(text)
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
