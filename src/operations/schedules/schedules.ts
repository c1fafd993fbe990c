/**
 * Schedules of the engine, which start runs or instances at given times. Each tenant has separate names; a caller
 * without a tenant sees the stored ones: `@acme/nightly`.
 */
import { PetrelError } from '../../kernel/errors.ts'
import { scopedName } from '../../kernel/scoped-names.ts'
import type { ScheduleRow } from '../../model/rows.ts'
import type { ScheduleParams } from '../../model/schedules/schedules.ts'
import { type Caller, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { refuseQueueLimits } from '../queues/limits.ts'

interface ByName {
  /** As named by the caller, or as stored. */
  readonly name: string
}

/** By name; large templates as markers (model/shown.ts). `enabled`: only enabled ones, or only disabled ones. */
export const listSchedules = operation(
  { scope: 'read' },
  async ({ engine, caller }, { enabled }: { readonly enabled: boolean | null }): Promise<readonly ScheduleRow[]> => {
    const rows = await engine.queries.schedules()
    return rows.filter((row) => maySee(caller, row) && (enabled === null || row.enabled === enabled)).sort(byName)
  },
)

/** With its complete template; null: there is none. */
export const showSchedule = operation({ scope: 'read' }, find)

/** Replaces the schedule of this name, if there is one. */
export const putSchedule = operation(
  { scope: 'admin' },
  async (
    use,
    schedule: Omit<ScheduleParams, 'tenant'>,
  ): Promise<{ readonly row: ScheduleRow; readonly created: boolean }> => {
    const { tenant } = use.caller
    refuseQueueLimits(use.caller, schedule.run?.limits)
    const before = await find(use, schedule)
    const name = before?.name ?? storedName(schedule.name, use.caller)
    const row = await use.engine.putSchedule({ ...schedule, name, ...(tenant === null ? {} : { tenant }) })
    return { row, created: before === null }
  },
)

/** null: there is none. */
export const switchSchedule = operation(
  { scope: 'admin' },
  async (use, { name, enabled }: ByName & { readonly enabled: boolean }): Promise<ScheduleRow | null> => {
    const row = await find(use, { name })
    if (row === null) return null
    return use.engine.setSchedule({ name: row.name, enabled }).catch((error: unknown) => {
      // Removed since.
      if (error instanceof PetrelError && error.code === 'not_found') return null
      throw error
    })
  },
)

/** The removed schedule; null: there is none. */
export const removeSchedule = operation(
  { scope: 'admin' },
  async (use, { name }: ByName): Promise<ScheduleRow | null> => {
    const row = await find(use, { name })
    return row !== null && (await use.engine.removeSchedule(row.name)) ? row : null
  },
)

/** A schedule created before names were per tenant, or of a deployed definition, has the plain name. */
async function find({ engine, caller }: Use, { name }: ByName): Promise<ScheduleRow | null> {
  const { queries } = engine
  const row = (await queries.schedule(storedName(name, caller))) ?? (await queries.schedule(name))
  return row !== null && maySee(caller, row) ? row : null
}

function storedName(name: string, { tenant }: Caller): string {
  return tenant === null ? name : scopedName(name, tenant)
}

function byName(a: ScheduleRow, b: ScheduleRow): number {
  return a.name < b.name ? -1 : 1
}
