/** Schedules of all kinds in one list, and what they did. Fires are written by the transaction that makes their work. */
import {
  FIRE,
  type FireRow,
  type ListedSchedule,
  MAX_FIRES,
  type ScheduleQueries,
} from '../../../model/schedules/fires.ts'
import { type InboxSchedules, listedInbox } from '../../../model/schedules/schedules.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import { upserter } from '../row/put.ts'
import { rowReader, selectOf } from '../row/reader.ts'

const put = upserter(FIRE, { keys: ['schedule', 'id'] })
const REMOVE_OLD = `DELETE FROM workflow_fire WHERE schedule = ?1 AND id IN (
  SELECT id FROM workflow_fire WHERE schedule = ?1 ORDER BY id DESC LIMIT -1 OFFSET ${MAX_FIRES})`
/** Of a schedule of the engine, by name. */
export const REMOVE_FIRES = `DELETE FROM workflow_fire WHERE schedule = 'cron:' || ?`

export function putFire(connection: Connection, fire: FireRow): void {
  put(connection, fire)
  connection.statement(REMOVE_OLD).get(fire.schedule)
}

/** Only what a list shows of a template is read from it. */
const LISTED = `SELECT name, expression, timezone, overlap, enabled, next_at, last_at, last_id, tenant, created_at,
  template ->> '$.definition', template ->> '$.run.type', template ->> '$.start.net.name' FROM workflow_cron`
const ONE = `${LISTED} WHERE name = ?`
const PAGE = `${LISTED} WHERE name > ? ORDER BY name LIMIT ?`
const PAGE_OF_TENANT = `${LISTED} WHERE coalesce(tenant, '') = ?3 AND name > ?1 ORDER BY name LIMIT ?2`

const FIRES = `SELECT ${selectOf(FIRE)} FROM workflow_fire`
const HISTORY = `${FIRES} WHERE schedule = ? AND id < ? ORDER BY id DESC LIMIT ?`
const LAST = `${FIRES} WHERE schedule = ? AND made_id IS NOT NULL ORDER BY id DESC LIMIT 1`
const BY_KEY = `${FIRES} WHERE schedule = ? AND request_key = ?`

const fireOf = rowReader(FIRE)

export function timetableOn(connection: Connection, inbox: Pick<InboxSchedules, 'page' | 'get'>): ScheduleQueries {
  const crons = (tenant: string | null, after: string, limit: number): readonly ListedSchedule[] =>
    tenant === null
      ? connection.statement(PAGE).all(after, limit).map(listedOf)
      : connection.statement(PAGE_OF_TENANT).all(after, limit, tenant).map(listedOf)
  return {
    page: async ({ tenant, withInbox, after, limit }) => {
      const name = after?.table === 'cron' ? after.name : ''
      const found = after?.table === 'inbox' ? [] : await connection.read(() => crons(tenant, name, limit))
      if (found.length === limit || !withInbox) return found
      const last = after?.table === 'inbox' ? after.id : null
      const rows = await inbox.page({ after: last, limit: limit - found.length })
      return [...found, ...rows.map(listedInbox)]
    },
    one: async (ref) => {
      if (ref.table === 'inbox') {
        const row = await inbox.get(ref.id)
        return row === null ? null : listedInbox(row)
      }
      return connection.read(() => {
        const cells = connection.statement(ONE).get(ref.name)
        return cells === undefined ? null : listedOf(cells)
      })
    },
    fires: ({ schedule, before, limit }) =>
      connection.read(() =>
        connection
          .statement(HISTORY)
          .all(schedule, before ?? 'g', limit)
          .map(fireOf),
      ),
    lastFires: ({ schedules }) =>
      connection.read(() => {
        const found = schedules.map((schedule) => connection.statement(LAST).get(schedule))
        return new Map(
          found.flatMap((cells) => (cells === undefined ? [] : [fireOf(cells)])).map((f) => [f.schedule, f]),
        )
      }),
    fireByKey: ({ schedule, requestKey }) =>
      connection.read(() => {
        const cells = connection.statement(BY_KEY).get(schedule, requestKey)
        return cells === undefined ? null : fireOf(cells)
      }),
  }
}

function listedOf(cells: Cells): ListedSchedule {
  const [name, expression, timezone, overlap, enabled, nextAt, lastAt, lastId, tenant, createdAt, ...template] = cells
  const [definition, type, workflow] = template as readonly (string | null)[]
  return {
    ref: { table: 'cron', name: name as string },
    kind: definition === null ? 'cron' : 'definition',
    name: name as string,
    makes: type === null ? 'instance' : 'run',
    type: definition ?? type ?? workflow ?? '',
    expression: expression as string,
    timezone: timezone as string,
    overlap: overlap as ListedSchedule['overlap'],
    enabled: enabled === 1,
    nextAt: nextAt as number | null,
    lastAt: lastAt as number | null,
    lastId: lastId as string | null,
    tenant: tenant as string | null,
    createdAt: createdAt as number,
    inbox: null,
  }
}
