/**
 * Schedules of all kinds in one list: those of the engine, those of deployed definitions, and those of the inbox. A caller names a schedule by the name it knows, or by the id of a schedule of the inbox.
 */
import { localTime, timesOf } from '../../kernel/cron.ts'
import { missing, PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import { scopedName, unscopedName } from '../../kernel/scoped-names.ts'
import {
  type Fired,
  type FireRow,
  type ListedSchedule,
  type RunRequest,
  readScheduleKey,
  type ScheduleQueries,
  type ScheduleRef,
  scheduleKey,
} from '../../model/schedules/fires.ts'
import { actorOf, type Caller, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { pageOf } from '../page.ts'

interface ById {
  readonly id: string
}

/** A schedule as a caller knows it, with what it made last. */
export interface ShownSchedule extends ListedSchedule {
  readonly id: string
}

export interface NextFires {
  readonly schedule: ShownSchedule
  /** `local`: on the clocks of its time zone. */
  readonly times: readonly { readonly at: number; readonly local: string }[]
}

const LOOK = { scope: 'read' } as const
const CHANGE = { scope: 'admin' } as const

/** `next`: continues after this page; null: it is the last one. */
export const listAllSchedules = operation(
  LOOK,
  async (
    { engine, caller },
    { after, limit }: { readonly after: string | null; readonly limit: number },
  ): Promise<{ readonly schedules: readonly ShownSchedule[]; readonly next: string | null }> => {
    const from = after === null ? null : readScheduleKey(after)
    if (after !== null && from === null) {
      throw new PetrelError('invalid_request', `after must be next_after of a page, not '${after}'`, {
        parameter: 'after',
      })
    }
    const { timetable } = engine.queries
    const read = (size: number) =>
      timetable.page({ tenant: caller.tenant, withInbox: !caller.bound, after: from, limit: size })
    const { rows, more } = await pageOf(limit, read)
    const last = rows.at(-1)
    return {
      schedules: (await withLast(timetable, rows)).map((row) => shownTo(caller, row)),
      next: more && last !== undefined ? scheduleKey(last.ref) : null,
    }
  },
)

export const showAnySchedule = operation(LOOK, async (use, { id }: ById): Promise<ShownSchedule> => {
  const [row] = await withLast(use.engine.queries.timetable, [await find(use, id)])
  return shownTo(use.caller, row as ListedSchedule)
})

/** Of one that is paused: when it would fire if it were resumed now. */
export const nextFires = operation(
  LOOK,
  async (use, { id, count }: ById & { readonly count: number }): Promise<NextFires> => {
    const row = await find(use, id)
    return { schedule: shownTo(use.caller, row), times: timesFrom(row, await use.engine.queries.now(), count) }
  },
)

/** Newest first. `next`: the last one of a page that is not the last. */
export const listFires = operation(
  LOOK,
  async (
    use,
    { id, before, limit }: ById & { readonly before: string | null; readonly limit: number },
  ): Promise<{ readonly fires: readonly FireRow[]; readonly next: string | null }> => {
    const schedule = scheduleKey((await find(use, id)).ref)
    const read = (size: number) => use.engine.queries.timetable.fires({ schedule, before, limit: size })
    const { rows, more } = await pageOf(limit, read)
    return { fires: rows, next: more ? (rows.at(-1)?.id ?? null) : null }
  },
)

/** It starts work, as an enqueue does, so it requires the same scope. */
export const runSchedule = operation(
  { scope: 'enqueue' },
  async (use, { id, ...request }: ById & Omit<RunRequest, 'actor'>): Promise<Fired> => {
    const { ref } = await find(use, id)
    return use.engine.runSchedule(ref, { ...request, actor: actorOf(use.caller) })
  },
)

/** Resumed, it fires next at its next regular time; it does not catch up on times missed while paused. */
export const switchAnySchedule = operation(
  CHANGE,
  async (use, { id, enabled }: ById & { readonly enabled: boolean }): Promise<ShownSchedule> => {
    const { ref } = await find(use, id)
    const { engine } = use
    if (ref.table === 'cron') await engine.setSchedule({ name: ref.name, enabled })
    else if (enabled) await engine.inboxSchedules.resume(ref.id)
    else await engine.inboxSchedules.pause(ref.id)
    return showAnySchedule.run(use, { id })
  },
)

/** The removed schedule. What it has made remains; its history does not. */
export const removeAnySchedule = operation(CHANGE, async (use, { id }: ById): Promise<ShownSchedule> => {
  const row = await showAnySchedule.run(use, { id })
  const { ref, kind } = row
  if (kind === 'definition') {
    const hint = 'Deploy a version without this trigger, retire the definition, or pause the schedule.'
    throw new PetrelError('conflict', `schedule '${row.id}' belongs to the definition '${row.type}'`, { hint })
  }
  const { engine } = use
  const removed = ref.table === 'cron' ? engine.removeSchedule(ref.name) : engine.inboxSchedules.remove(ref.id)
  if (!(await removed)) throw missing('schedule', id)
  return row
})

export function timesFrom(row: ListedSchedule, now: number, count: number): NextFires['times'] {
  const { timezone, nextAt } = row
  const times = timesOf({ ...row, expression: row.expression.trim() }, { first: nextAt, now, count })
  return times.map((at) => ({ at, local: localTime(at, timezone) }))
}

/** Under the first of these names that exists, or as a schedule of the inbox. */
export async function scheduleNamed(
  timetable: ScheduleQueries,
  id: string,
  names: readonly string[],
): Promise<ListedSchedule | null> {
  if (id.includes('\0')) return null
  const inbox = readId(id)
  const refs: readonly ScheduleRef[] = [
    ...(inbox === null ? [] : [{ table: 'inbox', id: inbox } as const]),
    ...names.map((name) => ({ table: 'cron', name }) as const),
  ]
  for (const ref of refs) {
    const row = await timetable.one(ref)
    if (row !== null) return row
  }
  return null
}

/** One created before names were per tenant, or of a deployed definition, has the plain name. */
async function find({ engine, caller }: Use, id: string): Promise<ListedSchedule> {
  const names = caller.tenant === null ? [id] : [scopedName(id, caller.tenant), id]
  const row = await scheduleNamed(engine.queries.timetable, id, names)
  if (row === null || !exists(caller, row)) throw missing('schedule', id)
  return row
}

/** Schedules of the inbox belong to all tenants together, so for a caller that is bound to one they do not exist. */
function exists(caller: Caller, row: ListedSchedule): boolean {
  return row.kind === 'inbox' ? !caller.bound : maySee(caller, row)
}

/** The table of the inbox does not know what its schedules made. */
export async function withLast(
  timetable: ScheduleQueries,
  rows: readonly ListedSchedule[],
): Promise<readonly ListedSchedule[]> {
  const keys = rows.flatMap(({ ref }) => (ref.table === 'inbox' ? [scheduleKey(ref)] : []))
  if (keys.length === 0) return rows
  const last = await timetable.lastFires({ schedules: keys })
  return rows.map((row) => {
    const fire = last.get(scheduleKey(row.ref))
    if (fire === undefined) return row
    return { ...row, lastId: fire.madeId, lastAt: Math.max(row.lastAt ?? 0, fire.firedAt) }
  })
}

function shownTo({ tenant }: Caller, row: ListedSchedule): ShownSchedule {
  const { ref } = row
  if (ref.table === 'inbox') return { ...row, id: ref.id }
  const name = tenant === null ? row.name : unscopedName(row.name)
  return { ...row, id: name, name }
}
