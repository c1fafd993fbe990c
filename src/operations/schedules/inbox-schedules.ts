/** Schedules that submit runs, in the table used by foreign clients. All tenants share them. */
import { missing, PetrelError } from '../../kernel/errors.ts'
import type { InboxScheduleParams, InboxScheduleRow } from '../../model/schedules.ts'
import { operation, type Use } from '../operation.ts'

interface ById {
  readonly id: string
}

const LOOK = { scope: 'read', shared: true } as const
const CHANGE = { scope: 'admin', shared: true } as const

/** Oldest first. */
export const listInboxSchedules = operation(
  LOOK,
  ({ engine }, _: null): Promise<readonly InboxScheduleRow[]> => engine.inboxSchedules.list(),
)

export const showInboxSchedule = operation(LOOK, (use, { id }: ById): Promise<InboxScheduleRow> => find(use, id))

/** A refusal (cron, time zone, a payload that cannot be stored) names the field. */
export const addInboxSchedule = operation(
  CHANGE,
  ({ engine }, params: InboxScheduleParams): Promise<InboxScheduleRow> =>
    engine.inboxSchedules.add(params).catch((error: unknown) => {
      const path = error instanceof PetrelError ? error.details.path : undefined
      if (!(error instanceof PetrelError) || path === undefined) throw error
      throw new PetrelError(error.code, error.message, { field: path })
    }),
)

export const pauseInboxSchedule = operation(CHANGE, async (use, { id }: ById): Promise<InboxScheduleRow> => {
  const row = await find(use, id)
  return use.engine.inboxSchedules.pause(row.id)
})

/** It fires next at its next regular time; it does not catch up on times missed while paused. */
export const resumeInboxSchedule = operation(CHANGE, async (use, { id }: ById): Promise<InboxScheduleRow> => {
  const row = await find(use, id)
  return use.engine.inboxSchedules.resume(row.id)
})

/** The removed schedule. The runs it has submitted remain. */
export const removeInboxSchedule = operation(CHANGE, async (use, { id }: ById): Promise<InboxScheduleRow> => {
  const row = await find(use, id)
  if (!(await use.engine.inboxSchedules.remove(row.id))) throw missing('schedule', row.id)
  return row
})

async function find({ engine }: Use, id: string): Promise<InboxScheduleRow> {
  const row = id.includes('\0') ? null : await engine.inboxSchedules.get(id)
  if (row === null) throw missing('schedule', id)
  return row
}
