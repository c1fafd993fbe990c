/** The fields for creating a schedule of the inbox. */
import type { InboxScheduleParams } from '../../model/schedules.ts'
import type { Json } from '../../net/net.ts'
import { type Body, checked } from '../mistaken.ts'
import { anything, asked, named, optional, type Value } from '../schema.ts'
import { MAX_ATTEMPTS, name, PRIORITY, TYPE } from './fields.ts'

export const InboxScheduleRequest = named(
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

/** For a body that has not been checked. */
export function readSchedule(body: Body): InboxScheduleParams {
  return scheduleAsked(checked(InboxScheduleRequest, body))
}

export function scheduleAsked(body: Value<typeof InboxScheduleRequest>): InboxScheduleParams {
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
