/** /ojs/v1/crons: what /ojs/v1/cron has, under the names that the admin page looks for. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { cronWire } from '../../dialects/ojs/cron.ts'
import type { JsonObject } from '../../dialects/ojs/envelope.ts'
import type { EngineApi } from '../../engine/api.ts'
import type { ScheduleRow } from '../../store/rows.ts'
import { bodyObject } from '../body.ts'
import { onlyKnown, type Query } from '../query.ts'
import { notFound, RequestError } from '../request-error.ts'
import type { OjsContext } from './context.ts'
import { shownCrons } from './cron.ts'
import { maySee } from './job-reply.ts'
import { PAGE_PARAMS, pageWire, readPage } from './paging.ts'

type ById = { Params: { readonly id: string } }

export function cronAliasRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/crons', async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const all = (await engine.store.read.schedules())
      .filter((row) => maySee(request.caller, row))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const rest = (after === null ? all : all.filter(({ name }) => name > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const last = shown.at(-1)?.name ?? null
    return {
      items: (await shownCrons(engine, shown)).map(wire),
      pagination: pageWire({ page, total: all.length, hasMore: rest.length > shown.length, last }),
    }
  })

  app.get<ById>('/ojs/v1/crons/:id', async (request) => wire(cronWire(await find(engine, request))))

  app.patch<ById>('/ojs/v1/crons/:id', async (request) => {
    const { name } = await find(engine, request)
    const { enabled } = bodyObject(request, { empty: 'refused' })
    if (typeof enabled !== 'boolean') {
      throw new RequestError('invalid_request', 'enabled is true or false', { details: { field: 'enabled' } })
    }
    return wire(cronWire(await engine.setSchedule({ name, enabled })))
  })

  app.delete<ById>('/ojs/v1/crons/:id', async (request) => {
    const { name } = await find(engine, request)
    if (!(await engine.removeSchedule(name))) throw notFound('cron', name)
    return { deleted: true, id: name, name }
  })
}

async function find(engine: EngineApi, request: FastifyRequest<ById>): Promise<ScheduleRow> {
  const { id } = request.params
  const row = await engine.store.read.schedule(id)
  if (row === null || !maySee(request.caller, row)) throw notFound('cron', id)
  return row
}

function wire(cron: JsonObject): object {
  const options = cron['options'] as { readonly queue?: string }
  return { ...cron, id: cron['name'], schedule: cron['expression'], queue: options.queue ?? 'default' }
}
