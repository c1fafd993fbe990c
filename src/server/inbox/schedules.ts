/** /v1/schedules: rows of workflow_schedule, which submit runs at their times. */
import {
  addInboxSchedule,
  listInboxSchedules,
  pauseInboxSchedule,
  removeInboxSchedule,
  resumeInboxSchedule,
  showInboxSchedule,
} from '../../operations/schedules/inbox-schedules.ts'
import { InboxScheduleRequest, scheduleAsked } from '../../wire/requests/schedule.ts'
import { InboxScheduleList, InboxScheduleReply, scheduleWire } from '../../wire/schedule.ts'
import { wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'

const SCHEDULE = { description: 'Its current state.', schema: InboxScheduleReply }

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
      answers: { '201': { description: 'It is stored.', schema: InboxScheduleReply, headers: ['Location'] } },
    },
    async ({ body, perform, reply }) => {
      const row = await perform(addInboxSchedule, scheduleAsked(body))
      reply.code(201).header('location', `/v1/schedules/${row.id}`)
      return { schedule: scheduleWire(row) }
    },
  ),

  route(
    'GET /v1/schedules',
    {
      tag: 'Schedules',
      summary: 'List schedules',
      does: listInboxSchedules,
      answers: { '200': { description: 'Oldest first.', schema: InboxScheduleList } },
    },
    async ({ perform }, { faults }) => ({
      schedules: wireEach(faults, await perform(listInboxSchedules, null), scheduleWire),
    }),
  ),

  route(
    'GET /v1/schedules/:id',
    {
      tag: 'Schedules',
      summary: 'Get a schedule',
      does: showInboxSchedule,
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ schedule: scheduleWire(await perform(showInboxSchedule, params)) }),
  ),

  route(
    'DELETE /v1/schedules/:id',
    {
      tag: 'Schedules',
      summary: 'Remove a schedule',
      does: removeInboxSchedule,
      description: 'The runs it has submitted remain.',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ schedule: scheduleWire(await perform(removeInboxSchedule, params)) }),
  ),

  route(
    'POST /v1/schedules/:id/pause',
    {
      tag: 'Schedules',
      summary: 'Pause a schedule',
      does: pauseInboxSchedule,
      nothing: 'a pause',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ schedule: scheduleWire(await perform(pauseInboxSchedule, params)) }),
  ),

  route(
    'POST /v1/schedules/:id/resume',
    {
      tag: 'Schedules',
      summary: 'Resume a schedule',
      does: resumeInboxSchedule,
      description: 'It fires next at its next regular time; it does not catch up on times missed while paused.',
      nothing: 'a resume',
      answers: { '200': SCHEDULE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ schedule: scheduleWire(await perform(resumeInboxSchedule, params)) }),
  ),
]
