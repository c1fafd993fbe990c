/** Schedules that submit runs. */

import type { InboxScheduleRow } from '../model/schedules.ts'
import { anything, flag, time as moment, named, nullable, object, text, uuid, type Value, whole } from './schema.ts'
import { rows, shown, time } from './value.ts'

export const InboxSchedule = named(
  'InboxSchedule',
  object({
    id: uuid(),
    type: text(),
    payload: anything('The type of the runs it submits.'),
    schedule: text('Cron, five fields.'),
    timezone: text(),
    priority: whole(),
    max_attempts: whole(),
    enabled: flag(),
    disabled_reason: nullable(text('Why the engine disabled it, such as an invalid cron expression.')),
    next_run_at: moment(),
    last_run_at: nullable(moment()),
    created_at: moment(),
    updated_at: moment(),
  }),
)

export const InboxScheduleReply = named('InboxScheduleReply', object({ schedule: InboxSchedule }))
export const InboxScheduleList = named('InboxScheduleList', object({ schedules: rows(InboxSchedule) }))

export function scheduleWire(row: InboxScheduleRow): Value<typeof InboxSchedule> {
  return {
    id: row.id,
    type: row.type,
    payload: shown(row.payload, `/v1/schedules/${row.id}`),
    schedule: row.schedule,
    timezone: row.timezone,
    priority: row.priority,
    max_attempts: row.maxAttempts,
    enabled: row.enabled,
    disabled_reason: row.disabledReason,
    next_run_at: time(row.nextRunAt),
    last_run_at: time(row.lastRunAt),
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
  }
}
