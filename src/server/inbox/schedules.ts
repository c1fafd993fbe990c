/** /v1/schedules: rows of workflow_schedule, which submit runs by the clock. */

import type { EngineApi } from '../../engine/api.ts'
import type { InboxScheduleParams } from '../../engine/time/inbox-schedules.ts'
import { notFound } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { InboxScheduleRow } from '../../model/schedules.ts'
import type { Json } from '../../net/net.ts'
import { type Body, checked } from '../../wire/mistaken.ts'
import { MAX_ATTEMPTS, name, PRIORITY, TYPE } from '../../wire/requests/fields.ts'
import { InboxScheduleList, InboxScheduleReply, scheduleWire } from '../../wire/schedule.ts'
import { anything, asked, named, optional, type Value } from '../../wire/schema.ts'
import { wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'

const InboxScheduleRequest = named(
  'InboxScheduleRequest',
  asked('a schedule', {
    type: TYPE,
    payload: optional(anything('Default {}.')),
    schedule: name({
      description: 'Cron, five fields: `0 6 * * *`.',
      hint: 'cron with five fields, such as 0 6 * * *',
    }),
    timezone: optional(name({ description: 'IANA name.', default: 'UTC' })),
    priority: optional(PRIORITY),
    max_attempts: optional(MAX_ATTEMPTS),
  }),
)

const SCHEDULE = { description: 'As it is now.', schema: InboxScheduleReply }

export const SCHEDULE_ROUTES = [
  route(
    'POST /v1/schedules',
    {
      tag: 'Schedules',
      summary: 'Submit a run again and again, by the clock',
      description: 'A row of workflow_schedule. What was missed while nobody ran fires once.',
      body: {
        schema: InboxScheduleRequest,
        example: { type: 'report.daily.v1', schedule: '0 6 * * *', timezone: 'Europe/Zurich' },
      },
      answers: { '201': { description: 'It is written.', schema: InboxScheduleReply, headers: ['Location'] } },
    },
    async ({ body, reply }, { engine }) => {
      const row = await addSchedule(engine, scheduleParams(body))
      reply.code(201).header('location', `/v1/schedules/${row.id}`)
      return { schedule: scheduleWire(row) }
    },
  ),

  route(
    'GET /v1/schedules',
    {
      tag: 'Schedules',
      summary: 'List schedules',
      answers: { '200': { description: 'Oldest first.', schema: InboxScheduleList } },
    },
    async (_, { engine }) => ({
      schedules: wireEach(engine.faults, await engine.inboxSchedules.list(), scheduleWire),
    }),
  ),

  route(
    'GET /v1/schedules/:id',
    { tag: 'Schedules', summary: 'Look at a schedule', answers: { '200': SCHEDULE }, errors: ['not_found'] },
    async ({ params }, { engine }) => ({ schedule: scheduleWire(await find(engine, params.id)) }),
  ),

  route(
    'DELETE /v1/schedules/:id',
    {
      tag: 'Schedules',
      summary: 'Remove a schedule',
      description: 'The runs it has made stay.',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params }, { engine }) => {
      const row = await find(engine, params.id)
      if (!(await engine.inboxSchedules.remove(row.id))) throw notFound('schedule', row.id)
      return { schedule: scheduleWire(row) }
    },
  ),

  route(
    'POST /v1/schedules/:id/pause',
    {
      tag: 'Schedules',
      summary: 'Pause a schedule',
      nothing: 'a pause',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params }, { engine }) => {
      const { id } = await find(engine, params.id)
      return { schedule: scheduleWire(await engine.inboxSchedules.pause(id)) }
    },
  ),

  route(
    'POST /v1/schedules/:id/resume',
    {
      tag: 'Schedules',
      summary: 'Resume a schedule',
      description: 'It fires next when it would have; what it missed while paused it does not make up for.',
      nothing: 'a resume',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params }, { engine }) => {
      const { id } = await find(engine, params.id)
      return { schedule: scheduleWire(await engine.inboxSchedules.resume(id)) }
    },
  ),
]

async function find({ inboxSchedules }: EngineApi, id: string): Promise<InboxScheduleRow> {
  const row = id.includes('\0') ? null : await inboxSchedules.get(id)
  if (row === null) throw notFound('schedule', id)
  return row
}

/** Of a body that has not been checked. */
export function readSchedule(body: Body): InboxScheduleParams {
  return scheduleParams(checked(InboxScheduleRequest, body))
}

function scheduleParams(body: Value<typeof InboxScheduleRequest>): InboxScheduleParams {
  const { type, schedule, payload, timezone, priority, max_attempts: maxAttempts } = body
  return {
    type,
    schedule,
    ...(payload === undefined ? {} : { payload: payload as Json }),
    ...(timezone == null ? {} : { timezone }),
    ...(priority == null ? {} : { priority }),
    ...(maxAttempts == null ? {} : { maxAttempts }),
  }
}

/** What the engine refuses (cron, time zone, a payload that cannot be stored) names the field of the body. */
export function addSchedule(engine: EngineApi, params: InboxScheduleParams): Promise<InboxScheduleRow> {
  return engine.inboxSchedules.add(params).catch((error: unknown) => {
    const path = error instanceof PetrelError ? error.details['path'] : undefined
    if (!(error instanceof PetrelError) || typeof path !== 'string') throw error
    throw new PetrelError(error.code, error.message, { field: path })
  })
}
