/** The fields for creating a schedule of the inbox, and for running any schedule now. */
import type { InboxScheduleParams } from '../../model/schedules/schedules.ts'
import type { Json } from '../../net/net.ts'
import { type Body, checked } from '../mistaken.ts'
import { anything, asked, named, optional, type Value, word } from '../schema.ts'
import { key, MAX_ATTEMPTS, name, PRIORITY, TYPE } from './fields.ts'

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

export const ScheduleRunRequest = named(
  'ScheduleRunRequest',
  asked('a run of a schedule', {
    idempotency_key: optional(key('A second request under the same key makes nothing and gets the same answer.')),
    overlap: optional(
      word(
        ['skip', 'allow', 'cancel_previous'],
        'Instead of the policy of the schedule, if its last work has not ended. skip: refuse with 409.',
      ),
    ),
  }),
)

/** For a body that has not been checked. */
export function readScheduleRun(body: Body): Value<typeof ScheduleRunRequest> {
  return checked(ScheduleRunRequest, body)
}
