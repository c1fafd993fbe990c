/** GET /v1/instances/:id/telemetry of one instance, GET /v1/telemetry of all: the same events, in another order. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { onlyKnown, type Query, wholeParam } from '../../http/query.ts'
import { RequestError } from '../../http/request-error.ts'
import { TELEMETRY_TYPES } from '../../notations/dag/project/telemetry.ts'
import { loadTelemetry } from '../../notations/dag/project/telemetry-load.ts'
import { type ById, findRow } from './find.ts'

const PAGE = { least: 1, most: 1000, fallback: 100 }
const PLACE = { least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 }

export function telemetryRoutes(app: FastifyInstance, engine: EngineApi): void {
  app.get<ById>('/v1/instances/:id/telemetry', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const instance = await findRow(engine, request.params.id, request.caller)
    if (instance.dialect !== 'dag') {
      const message = `telemetry is told of workflows of steps (dag); this instance is of ${instance.dialect}`
      throw new RequestError('unsupported', message, {
        hint: `GET /v1/instances/${instance.id}/events has its history.`,
      })
    }
    const limit = wholeParam(query, 'limit', PAGE)
    const after = wholeParam(query, 'after', PLACE)
    const stored = await engine.queries.instanceEvents({ instanceId: instance.id, afterSeq: after, limit })
    const events = await loadTelemetry(engine, stored)
    const last = stored.at(-1)?.seq ?? null
    return { events, next_after: last ?? after, has_more: last !== null && last < instance.eventSeq }
  })

  app.get('/v1/telemetry', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit'])
    const limit = wholeParam(query, 'limit', PAGE)
    const afterId = wholeParam(query, 'after', PLACE)
    const { tenant } = request.caller
    const page = await engine.queries.events({ afterId, limit, types: TELEMETRY_TYPES, tenant })
    return { events: await loadTelemetry(engine, page.events), next_after: page.cursor, has_more: page.more }
  })
}
