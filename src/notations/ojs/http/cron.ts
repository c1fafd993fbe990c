/**
 * /ojs/v1/cron: jobs that come back by the clock. Registering a name again puts the new one in its place. Each tenant has
 * its own names; a caller without a tenant sees whose they are, and addresses them that way: `@acme/nightly`.
 */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../../engine/api.ts'
import { bodyObject } from '../../../http/body.ts'
import { listParam, onlyKnown, type Query } from '../../../http/query.ts'
import { notFound, RequestError } from '../../../http/request-error.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import { scopedName, unscopedName } from '../../../kernel/scoped-names.ts'
import type { ScheduleRow } from '../../../model/rows.ts'
import { ALWAYS_BYTES, isOmitted, PAGE_BYTES } from '../../../model/shown.ts'
import { actorOf, type Caller } from '../../../operations/caller.ts'
import { refuseQueueLimits } from '../../../operations/queues/limits.ts'
import { refuseMistakes } from '../../../wire/mistaken.ts'
import { BodyNotes } from '../../source/reader.ts'
import { cronWire, readCron } from '../compile/cron.ts'
import type { JsonObject } from '../project/envelope.ts'
import type { OjsContext } from './context.ts'
import { maySee } from './jobs/job-reply.ts'
import { PAGE_PARAMS, pageWire, readPage } from './paging.ts'

type ByName = { Params: { readonly name: string } }

export function cronRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/cron', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['enabled', ...PAGE_PARAMS])
    const page = readPage(query)
    const enabled = listParam(query, 'enabled', ['true', 'false'])
    const all = (await engine.queries.schedules())
      .filter((row) => maySee(request.caller, row) && (enabled === null || enabled.includes(String(row.enabled))))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const { after } = page
    const rest = (after === null ? all : all.filter((row) => row.name > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const crons = await shownCrons(engine, shown, request.caller)
    const last = shown.at(-1)?.name ?? null
    return {
      crons,
      cron_jobs: crons,
      pagination: pageWire({ page, total: all.length, hasMore: rest.length > shown.length, last }),
    }
  })

  app.post('/ojs/v1/cron', async (request, reply) => {
    const body = bodyObject(request, { empty: 'refused' })
    const { caller } = request
    const notes = new BodyNotes()
    const by = { tenant: caller.tenant, initiator: actorOf(caller), now: await engine.queries.now() }
    const schedule = readCron(notes.root(body), by)
    refuseMistakes(notes)
    refuseQueueLimits(caller, schedule.run?.limits)
    const before = await lookUp(engine, schedule.name, caller)
    const row = await engine.putSchedule({ ...schedule, name: before?.name ?? storedName(schedule.name, caller) })
    reply.code(before === null ? 201 : 200)
    if (before === null) reply.header('location', `/ojs/v1/cron/${schedule.name}`)
    return both(row, caller)
  })

  app.get<ByName>('/ojs/v1/cron/:name', async (request) =>
    both(await findCron(engine, request.params.name, request.caller), request.caller),
  )

  app.patch<ByName>('/ojs/v1/cron/:name', async (request) => {
    const { name } = await findCron(engine, request.params.name, request.caller)
    const { enabled } = bodyObject(request, { empty: 'refused' })
    if (typeof enabled !== 'boolean') {
      throw new RequestError('invalid_request', 'enabled is true or false', {
        details: { field: 'enabled' },
        hint: 'To change anything else, register the cron job again under its name.',
      })
    }
    return both(await setEnabled(engine, name, enabled), request.caller)
  })

  app.delete<ByName>('/ojs/v1/cron/:name', async (request) => {
    const { caller, params } = request
    const row = await findCron(engine, params.name, caller)
    if (!(await engine.removeSchedule(row.name))) throw notFound('cron', params.name)
    return { ...both(row, caller), deleted: true, name: cronName(row, caller) }
  })
}

export async function findCron(engine: EngineApi, name: string, caller: Caller): Promise<ScheduleRow> {
  const row = await lookUp(engine, name, caller)
  if (row === null) throw notFound('cron', name)
  return row
}

/**
 * Of a page. What the jobs are given is whole for the first, and until a megabyte of templates is shown; after that, long
 * values are left out.
 * Templates are read one at a time, so that a page never holds all of them.
 */
export async function shownCrons(
  engine: EngineApi,
  rows: readonly ScheduleRow[],
  caller: Caller,
): Promise<readonly JsonObject[]> {
  const crons: JsonObject[] = []
  let bytes = 0
  for (const row of rows) {
    const whole = isOmitted(row.template) ? await engine.queries.schedule(row.name) : row
    // Removed since.
    if (whole === null) continue
    bytes += whole.template.length
    const isWhole = crons.length === 0 || bytes <= PAGE_BYTES || whole.template.length <= ALWAYS_BYTES
    const name = cronName(row, caller)
    crons.push(cronWire(whole, name, isWhole ? null : `/ojs/v1/cron/${encodeURIComponent(name)}`))
  }
  return crons
}

/** What the caller calls it. */
export function cronName(row: ScheduleRow, { tenant }: Caller): string {
  return tenant === null ? row.name : unscopedName(row.name)
}

function storedName(name: string, { tenant }: Caller): string {
  return tenant === null ? name : scopedName(name, tenant)
}

/** Removed since it was found: there is no such cron job. */
export function setEnabled(engine: EngineApi, name: string, enabled: boolean): Promise<ScheduleRow> {
  return engine.setSchedule({ name, enabled }).catch((error: unknown) => {
    throw error instanceof PetrelError && error.code === 'not_found' ? notFound('cron', name) : error
  })
}

/** One from before tenants had their own names, or of a deployed definition, has the plain name. */
async function lookUp(engine: EngineApi, name: string, caller: Caller): Promise<ScheduleRow | null> {
  const { queries } = engine
  const row = (await queries.schedule(storedName(name, caller))) ?? (await queries.schedule(name))
  return row !== null && maySee(caller, row) ? row : null
}

/** Under the names of either form of the API. */
function both(row: ScheduleRow, caller: Caller): { readonly cron: object; readonly cron_job: object } {
  const cron = cronWire(row, cronName(row, caller))
  return { cron, cron_job: cron }
}
