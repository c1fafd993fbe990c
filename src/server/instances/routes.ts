/** /v1/instances: list, look, history, start, change. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { onlyKnown, type Query } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import type { Seats } from '../../http/seats.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { projectionOf } from '../../notations/notations.ts'
import type { Catalog } from '../../operations/definitions/catalog.ts'
import { instanceWire, viewWire } from '../../wire/instance.ts'
import { shown, wireEach } from '../../wire/value.ts'
import { aboutWire } from './about.ts'
import { changeRoutes } from './change.ts'
import { executionRoutes } from './execution.ts'
import { type ById, findInstance, findRow } from './find.ts'
import { historyRoutes } from './history.ts'
import { INSTANCE_PARAMS, readInstanceQuery } from './list.ts'
import { startRoutes } from './start.ts'
import { stepRoutes } from './steps.ts'
import { telemetryRoutes } from './telemetry.ts'
import { whyRoutes } from './why.ts'

export interface InstanceContext {
  readonly engine: EngineApi
  readonly catalog: Catalog
  readonly streamSeats: Seats
  readonly closing: AbortSignal
}

export function instanceRoutes(app: FastifyInstance, context: InstanceContext): void {
  const { engine, catalog } = context
  app.get('/v1/instances', async (request) => {
    const query = request.query as Query
    onlyKnown(query, INSTANCE_PARAMS)
    const asked = readInstanceQuery(query, request.caller.tenant)
    const rows = await engine.queries.listInstances({ ...asked, limit: asked.limit + 1 })
    const page = rows.slice(0, asked.limit)
    const more = rows.length > asked.limit
    return {
      instances: wireEach(engine.faults, page, instanceWire),
      next_before: more ? (page.at(-1)?.id ?? null) : null,
    }
  })

  app.get<ById>('/v1/instances/:id', async (request) => {
    onlyKnown(request.query as Query, [])
    const view = await findInstance(engine, request.params.id, request.caller)
    const { id } = view.instance
    const [results, about, own] = await Promise.all([
      engine.shownResults(id, PAGE_BYTES),
      aboutWire(engine, id),
      projectionOf(view.instance).own?.(engine, view.instance),
    ])
    return {
      ...viewWire(view),
      ...about,
      ...own?.json,
      results: Object.fromEntries(
        [...results].map(([node, text]) => [
          node,
          shown(text, `/v1/instances/${id}/results/${encodeURIComponent(node)}`),
        ]),
      ),
    }
  })

  app.get<ById>('/v1/instances/:id/net', async (request) => {
    onlyKnown(request.query as Query, [])
    const { netHash } = await findRow(engine, request.params.id, request.caller)
    const net = await engine.net(netHash)
    if (net === null) throw notFound('net', netHash)
    return { hash: netHash, net }
  })

  historyRoutes(app, context)
  stepRoutes(app, engine)
  whyRoutes(app, engine)
  telemetryRoutes(app, engine)
  executionRoutes(app, engine)
  startRoutes(app, engine, catalog)
  changeRoutes(app, engine)
}
