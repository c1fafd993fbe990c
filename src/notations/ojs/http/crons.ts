/** /ojs/v1/crons: what /ojs/v1/cron has, under the names that the admin page looks for. */
import type { FastifyInstance } from 'fastify'
import { bodyObject } from '../../../http/body.ts'
import { onlyKnown, type Query } from '../../../http/query.ts'
import { notFound, RequestError } from '../../../http/request-error.ts'
import type { ScheduleRow } from '../../../model/rows.ts'
import type { Caller } from '../../../operations/caller.ts'
import { cronWire } from '../compile/cron.ts'
import type { JsonObject } from '../project/envelope.ts'
import type { OjsContext } from './context.ts'
import { cronName, findCron, setEnabled, shownCrons } from './cron.ts'
import { maySee } from './jobs/job-reply.ts'
import { PAGE_PARAMS, pageWire, readPage } from './paging.ts'

type ById = { Params: { readonly id: string } }

export function cronAliasRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/crons', async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const all = (await engine.queries.schedules())
      .filter((row) => maySee(request.caller, row))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const rest = (after === null ? all : all.filter(({ name }) => name > after)).slice(page.offset)
    const listed = rest.slice(0, page.limit)
    const last = listed.at(-1)?.name ?? null
    return {
      items: (await shownCrons(engine, listed, request.caller)).map(wire),
      pagination: pageWire({ page, total: all.length, hasMore: rest.length > listed.length, last }),
    }
  })

  app.get<ById>('/ojs/v1/crons/:id', async (request) =>
    shown(await findCron(engine, request.params.id, request.caller), request.caller),
  )

  app.patch<ById>('/ojs/v1/crons/:id', async (request) => {
    const { name } = await findCron(engine, request.params.id, request.caller)
    const { enabled } = bodyObject(request, { empty: 'refused' })
    if (typeof enabled !== 'boolean') {
      throw new RequestError('invalid_request', 'enabled is true or false', { details: { field: 'enabled' } })
    }
    return shown(await setEnabled(engine, name, enabled), request.caller)
  })

  app.delete<ById>('/ojs/v1/crons/:id', async (request) => {
    const row = await findCron(engine, request.params.id, request.caller)
    if (!(await engine.removeSchedule(row.name))) throw notFound('cron', request.params.id)
    const name = cronName(row, request.caller)
    return { deleted: true, id: name, name }
  })
}

function shown(row: ScheduleRow, caller: Caller): object {
  return wire(cronWire(row, cronName(row, caller)))
}

function wire(cron: JsonObject): object {
  const options = cron['options'] as { readonly queue?: string }
  return { ...cron, id: cron['name'], schedule: cron['expression'], queue: options.queue ?? 'default' }
}
