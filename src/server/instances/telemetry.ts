/** GET /v1/instances/:id/telemetry of one instance, GET /v1/telemetry of all: the same events, in another order. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { onlyKnown, type Query, wholeParam } from '../../http/query.ts'
import { NOTATIONS, projectionOf } from '../../notations/notations.ts'
import { type ById, findRow } from './find.ts'
import { unsupported } from './unsupported.ts'

const TELEMETRY = NOTATIONS.flatMap(({ project }) => project.telemetry ?? [])
const TYPES = [...new Set(TELEMETRY.flatMap(({ types }) => types))]

const PAGE = { least: 1, most: 1000, fallback: 100 }
const PLACE = { least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 }

export function telemetryRoutes(app: FastifyInstance, engine: EngineApi): void {
  app.get<ById>('/v1/instances/:id/telemetry', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const instance = await findRow(engine, request.params.id, request.caller)
    const { telemetry } = projectionOf(instance)
    if (telemetry === undefined) throw unsupported('events of telemetry', 'telemetry', instance)
    const limit = wholeParam(query, 'limit', PAGE)
    const after = wholeParam(query, 'after', PLACE)
    const stored = await engine.queries.instanceEvents({ instanceId: instance.id, afterSeq: after, limit })
    const events = await telemetry.load(engine, stored)
    const last = stored.at(-1)?.seq ?? null
    return { events, next_after: last ?? after, has_more: last !== null && last < instance.eventSeq }
  })

  app.get('/v1/telemetry', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const limit = wholeParam(query, 'limit', PAGE)
    const afterId = wholeParam(query, 'after', PLACE)
    const { tenant } = request.caller
    const page = await engine.queries.events({ afterId, limit, types: TYPES, tenant })
    const loaded = await Promise.all(TELEMETRY.map((telemetry) => telemetry.load(engine, page.events)))
    return { events: loaded.flat(), next_after: page.cursor, has_more: page.more }
  })
}
