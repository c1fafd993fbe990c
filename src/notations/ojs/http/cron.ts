/**
 * /ojs/v1/cron: jobs that are enqueued on a schedule. Registering a name again replaces the cron job of that name. Each
 * tenant has its own names; for a caller without a tenant they include the tenant: `@acme/nightly`.
 * /ojs/v1/crons serves the same under the names that the admin page expects.
 */

import { notFound } from '../../../http/request-error.ts'
import { unscopedName } from '../../../kernel/scoped-names.ts'
import type { ScheduleRow } from '../../../model/rows.ts'
import { ALWAYS_BYTES, isOmitted, PAGE_BYTES } from '../../../model/shown.ts'
import { actorOf, type Caller } from '../../../operations/caller.ts'
import { storeTime } from '../../../operations/clock.ts'
import type { Perform } from '../../../operations/operation.ts'
import {
  listSchedules,
  putSchedule,
  removeSchedule,
  showSchedule,
  switchSchedule,
} from '../../../operations/schedules/schedules.ts'
import { type Given, wordOf } from '../../../wire/requests/params.ts'
import type { Value } from '../../../wire/schema.ts'
import { readCron } from '../compile/cron.ts'
import { bodyRead } from './body-read.ts'
import { route } from './context.ts'
import { PAGE, pageAsked, pageByName } from './paging.ts'
import {
  CronItem,
  CronItemList,
  CronItemRemoved,
  CronList,
  CronRemoved,
  CronReply,
  CronRequest,
  CronSwitch,
  type CronWire,
  cronItemWire,
  cronWire,
} from './wire/cron.ts'

const CRON_ROUTES_OF_JOBS = [
  route(
    'GET /ojs/v1/cron',
    {
      tag: 'Cron',
      summary: 'List cron jobs',
      does: listSchedules,
      query: { enabled: wordOf(['true', 'false'], null, 'true or false: only enabled or disabled ones.'), ...PAGE },
      answers: { '200': { description: 'By name.', schema: CronList } },
    },
    async ({ query: { enabled, ...page }, perform, caller }) => {
      const all = await perform(listSchedules, { enabled: enabled === null ? null : enabled === 'true' })
      const { crons, pagination } = await pageOfCrons(all, page, perform, caller)
      return { crons, cron_jobs: crons, pagination }
    },
  ),

  route(
    'POST /ojs/v1/cron',
    {
      tag: 'Cron',
      summary: 'Register a cron job, or replace the one of this name',
      does: putSchedule,
      body: {
        schema: CronRequest,
        readByRoute: true,
        example: { name: 'nightly', expression: '0 3 * * *', job_template: { type: 'report.build', args: [] } },
      },
      answers: {
        '201': { description: 'It is registered.', schema: CronReply, headers: ['Location'] },
        '200': { description: 'It has replaced the previous one.', schema: CronReply },
      },
      errors: ['duplicate', 'validation_error'],
    },
    async ({ caller, perform, request, reply }) => {
      const by = { tenant: caller.tenant, initiator: actorOf(caller), now: await perform(storeTime, null) }
      const schedule = bodyRead(request, (part) => readCron(part, by))
      const { row, created } = await perform(putSchedule, schedule)
      reply.code(created ? 201 : 200)
      if (created) reply.header('location', `/ojs/v1/cron/${schedule.name}`)
      return both(shown(row, caller))
    },
  ),

  route(
    'GET /ojs/v1/cron/:name',
    {
      tag: 'Cron',
      summary: 'Get a cron job',
      does: showSchedule,
      otherQuery: 'ignored',
      answers: { '200': { description: 'Its last and next run.', schema: CronReply } },
      errors: ['not_found'],
    },
    async ({ params, perform, caller }) => both(shown(found(await perform(showSchedule, params), params.name), caller)),
  ),

  route(
    'PATCH /ojs/v1/cron/:name',
    {
      tag: 'Cron',
      summary: 'Enable or disable a cron job',
      does: switchSchedule,
      body: { schema: CronSwitch },
      answers: { '200': { description: 'Its current state.', schema: CronReply } },
      errors: ['not_found'],
    },
    async ({ params: { name }, body: { enabled }, perform, caller }) =>
      both(shown(found(await perform(switchSchedule, { name, enabled }), name), caller)),
  ),

  route(
    'DELETE /ojs/v1/cron/:name',
    {
      tag: 'Cron',
      summary: 'Unregister a cron job; jobs it has enqueued remain',
      does: removeSchedule,
      answers: { '200': { description: 'It is removed.', schema: CronRemoved } },
      errors: ['not_found'],
    },
    async ({ params, perform, caller }) => {
      const cron = shown(found(await perform(removeSchedule, params), params.name), caller)
      return { ...both(cron), deleted: true, name: cron.name }
    },
  ),
]

const CRON_ROUTES_OF_ADMIN_PAGE = [
  route(
    'GET /ojs/v1/crons',
    {
      tag: 'Cron',
      summary: 'List cron jobs (admin page)',
      does: listSchedules,
      query: PAGE,
      answers: { '200': { description: 'By name.', schema: CronItemList } },
    },
    async ({ query, perform, caller }) => {
      const all = await perform(listSchedules, { enabled: null })
      const { crons, pagination } = await pageOfCrons(all, query, perform, caller)
      return { items: crons.map(cronItemWire), pagination }
    },
  ),

  route(
    'GET /ojs/v1/crons/:id',
    {
      tag: 'Cron',
      summary: 'Get a cron job (admin page)',
      does: showSchedule,
      otherQuery: 'ignored',
      answers: { '200': { description: 'Its last and next run.', schema: CronItem } },
      errors: ['not_found'],
    },
    async ({ params: { id: name }, perform, caller }) =>
      cronItemWire(shown(found(await perform(showSchedule, { name }), name), caller)),
  ),

  route(
    'PATCH /ojs/v1/crons/:id',
    {
      tag: 'Cron',
      summary: 'Enable or disable a cron job (admin page)',
      does: switchSchedule,
      body: { schema: CronSwitch },
      answers: { '200': { description: 'Its current state.', schema: CronItem } },
      errors: ['not_found'],
    },
    async ({ params: { id: name }, body: { enabled }, perform, caller }) =>
      cronItemWire(shown(found(await perform(switchSchedule, { name, enabled }), name), caller)),
  ),

  route(
    'DELETE /ojs/v1/crons/:id',
    {
      tag: 'Cron',
      summary: 'Remove a cron job (admin page)',
      does: removeSchedule,
      answers: { '200': { description: 'It is removed.', schema: CronItemRemoved } },
      errors: ['not_found'],
    },
    async ({ params: { id }, perform, caller }) => {
      const name = cronName(found(await perform(removeSchedule, { name: id }), id), caller)
      return { deleted: true, id: name, name }
    },
  ),
]

export const CRON_ROUTES = [...CRON_ROUTES_OF_JOBS, ...CRON_ROUTES_OF_ADMIN_PAGE]

async function pageOfCrons(
  all: readonly ScheduleRow[],
  query: Given<typeof PAGE>,
  perform: Perform,
  caller: Caller,
): Promise<{ readonly crons: readonly CronWire[]; readonly pagination: Value<typeof CronList>['pagination'] }> {
  const { shown, pagination } = pageByName(all, pageAsked(query), ({ name }) => name)
  return { crons: await shownCrons(shown, perform, caller), pagination }
}

/**
 * The cron jobs of a page. Templates are shown in full for the first one, and up to a megabyte in total; after that, long
 * values are left out. They are read one at a time, so that a page never holds all of them.
 */
async function shownCrons(
  rows: readonly ScheduleRow[],
  perform: Perform,
  caller: Caller,
): Promise<readonly CronWire[]> {
  const crons: CronWire[] = []
  let bytes = 0
  for (const row of rows) {
    const whole = isOmitted(row.template) ? await perform(showSchedule, { name: row.name }) : row
    // Removed since.
    if (whole === null) continue
    bytes += whole.template.length
    const isWhole = crons.length === 0 || bytes <= PAGE_BYTES || whole.template.length <= ALWAYS_BYTES
    const name = cronName(row, caller)
    crons.push(cronWire(whole, name, isWhole ? null : `/ojs/v1/cron/${encodeURIComponent(name)}`))
  }
  return crons
}

function shown(row: ScheduleRow, caller: Caller): CronWire {
  return cronWire(row, cronName(row, caller))
}

/** As the caller knows it. */
function cronName(row: ScheduleRow, { tenant }: Caller): string {
  return tenant === null ? row.name : unscopedName(row.name)
}

function found(row: ScheduleRow | null, name: string): ScheduleRow {
  if (row !== null) return row
  throw notFound('cron', name)
}

/** Under the names of either form of the API. */
function both(cron: CronWire): Value<typeof CronReply> {
  return { cron, cron_job: cron }
}
