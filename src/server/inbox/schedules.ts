/** /v1/schedules: schedules of all kinds. A client adds rows of workflow_schedule, which submit runs at their times. */
import { MAX_NEXT_FIRES } from '../../kernel/limits.ts'
import { addInboxSchedule } from '../../operations/schedules/inbox-schedules.ts'
import {
  listAllSchedules,
  listFires,
  nextFires,
  removeAnySchedule,
  runSchedule,
  showAnySchedule,
  switchAnySchedule,
} from '../../operations/schedules/timetable.ts'
import { idOf, pageSize, storedText, wholeOf } from '../../wire/requests/params.ts'
import { InboxScheduleRequest, ScheduleRunRequest, scheduleAsked } from '../../wire/requests/schedule.ts'
import {
  FireList,
  firedWire,
  fireWire,
  inboxScheduleWire,
  NextFires,
  ScheduleList,
  ScheduleReply,
  ScheduleRun,
  scheduleWire,
} from '../../wire/schedule.ts'
import { time, wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'

const SCHEDULE = { description: 'Its current state.', schema: ScheduleReply }

export const SCHEDULE_ROUTES = [
  route(
    'POST /v1/schedules',
    {
      tag: 'Schedules',
      summary: 'Submit a run repeatedly, by cron',
      does: addInboxSchedule,
      description: 'A row of workflow_schedule. Times missed while no process ran fire once.',
      body: {
        schema: InboxScheduleRequest,
        example: { type: 'report.daily.v1', schedule: '0 6 * * *', timezone: 'Europe/Zurich' },
      },
      answers: { '201': { description: 'It is stored.', schema: ScheduleReply, headers: ['Location'] } },
    },
    async ({ body, perform, reply }) => {
      const row = await perform(addInboxSchedule, scheduleAsked(body))
      reply.code(201).header('location', `/v1/schedules/${row.id}`)
      return { schedule: inboxScheduleWire(row) }
    },
  ),

  route(
    'GET /v1/schedules',
    {
      tag: 'Schedules',
      summary: 'List schedules of all kinds',
      does: listAllSchedules,
      description:
        'Cron jobs and schedules of the SDK, triggers of deployed definitions, and schedules of the inbox. The first two by ' +
        'name, then those of the inbox by id.',
      query: { limit: pageSize(1_000, 200), after: storedText('`next_after` of the previous page.') },
      answers: { '200': { description: 'A page of them.', schema: ScheduleList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }, { faults }) => {
      const { schedules, next } = await perform(listAllSchedules, query)
      return { schedules: wireEach(faults, schedules, scheduleWire), next_after: next }
    },
  ),

  route(
    'GET /v1/schedules/:id',
    {
      tag: 'Schedules',
      summary: 'Get a schedule',
      does: showAnySchedule,
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ schedule: scheduleWire(await perform(showAnySchedule, params)) }),
  ),

  route(
    'GET /v1/schedules/:id/next',
    {
      tag: 'Schedules',
      summary: 'Preview when a schedule fires',
      does: nextFires,
      description:
        'In UTC and in its time zone. A time that the clocks skip on a day does not fire; one that they show twice fires once.',
      query: { count: wholeOf({ least: 1, most: MAX_NEXT_FIRES, fallback: 5 }, 'How many times.') },
      answers: { '200': { description: 'Fewer if it has no more.', schema: NextFires } },
      errors: ['not_found', 'invalid_request'],
    },
    async ({ params: { id }, query: { count }, perform }) => {
      const { schedule, times } = await perform(nextFires, { id, count })
      const { enabled, timezone } = schedule
      return { enabled, timezone, times: times.map(({ at, local }) => ({ at: time(at), local })) }
    },
  ),

  route(
    'GET /v1/schedules/:id/fires',
    {
      tag: 'Schedules',
      summary: 'What a schedule did',
      does: listFires,
      description:
        'Newest first: what each fire made, or why it was skipped. The latest 1,000 of each schedule are kept.',
      query: { limit: pageSize(), before: idOf('the id of a fire', '`next_before` of the previous page.') },
      answers: { '200': { description: 'A page of them.', schema: FireList } },
      errors: ['not_found', 'invalid_request'],
    },
    async ({ params: { id }, query, perform }, { faults }) => {
      const { fires, next } = await perform(listFires, { id, ...query })
      return { fires: wireEach(faults, fires, fireWire), next_before: next }
    },
  ),

  route(
    'POST /v1/schedules/:id/run',
    {
      tag: 'Schedules',
      summary: 'Run a schedule now',
      does: runSchedule,
      description:
        'Also one that is paused. Its next time stays as it is. If its last work has not ended, its overlap policy decides, ' +
        'with 409 where the policy is to skip or to wait.',
      body: { schema: ScheduleRunRequest, optional: true, example: { idempotency_key: 'again-2030-01-31' } },
      answers: {
        '201': { description: 'It has made this.', schema: ScheduleRun },
        '200': { description: 'An earlier request under this key has made this.', schema: ScheduleRun },
      },
      errors: ['not_found', 'conflict', 'invalid_request'],
    },
    async ({ params: { id }, body, perform, reply }) => {
      const { idempotency_key: requestKey = null, overlap = null } = body ?? {}
      const fired = await perform(runSchedule, { id, requestKey, overlap })
      reply.code(fired.created ? 201 : 200)
      return firedWire(fired)
    },
  ),

  route(
    'DELETE /v1/schedules/:id',
    {
      tag: 'Schedules',
      summary: 'Remove a schedule',
      does: removeAnySchedule,
      description: 'What it has made remains; its history is removed. 409 for the trigger of a definition.',
      answers: { '200': SCHEDULE },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ schedule: scheduleWire(await perform(removeAnySchedule, params)) }),
  ),

  route(
    'POST /v1/schedules/:id/pause',
    {
      tag: 'Schedules',
      summary: 'Pause a schedule',
      does: switchAnySchedule,
      nothing: 'a pause',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params: { id }, perform }) => ({
      schedule: scheduleWire(await perform(switchAnySchedule, { id, enabled: false })),
    }),
  ),

  route(
    'POST /v1/schedules/:id/resume',
    {
      tag: 'Schedules',
      summary: 'Resume a schedule',
      does: switchAnySchedule,
      description: 'It fires next at its next regular time; it does not catch up on times missed while paused.',
      nothing: 'a resume',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params: { id }, perform }) => ({
      schedule: scheduleWire(await perform(switchAnySchedule, { id, enabled: true })),
    }),
  ),
]
