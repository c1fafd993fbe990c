/** Schedules that submit runs, in the table used by foreign clients. All tenants share them; timetable.ts lists them. */
import { PetrelError } from '../../kernel/errors.ts'
import type { InboxScheduleParams, InboxScheduleRow } from '../../model/schedules/schedules.ts'
import { operation } from '../operation.ts'

/** A refusal (cron, time zone, a payload that cannot be stored) names the field. */
export const addInboxSchedule = operation(
  { scope: 'admin', shared: true },
  ({ engine }, params: InboxScheduleParams): Promise<InboxScheduleRow> =>
    engine.inboxSchedules.add(params).catch((error: unknown) => {
      const path = error instanceof PetrelError ? error.details.path : undefined
      if (!(error instanceof PetrelError) || path === undefined) throw error
      throw new PetrelError(error.code, error.message, { field: path })
    }),
)
