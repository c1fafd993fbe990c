/** Schedules of all kinds in one list, and what they did. Fires are written by the transaction that makes their work. */
import { type FireRow, type ListedSchedule, MAX_FIRES, type ScheduleQueries } from '../../../model/schedules/fires.ts'
import { type InboxSchedules, listedInbox } from '../../../model/schedules/schedules.ts'
import * as column from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { inserter, textArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Call, type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'

const insertFires = inserter(column.FIRE)
/** Each fire adds one row, so that this finds one at most: a step of a thousand entries along the primary key. */
const REMOVE_OLD = statement(
  `DELETE FROM workflow.workflow_fire f USING unnest($1::text[]) x(schedule) CROSS JOIN LATERAL (
     SELECT o.id FROM workflow.workflow_fire o WHERE o.schedule = x.schedule ORDER BY o.id DESC OFFSET ${MAX_FIRES}) old
   WHERE f.schedule = x.schedule AND f.id = old.id`,
)
/** Of schedules of the engine, by name. */
export const REMOVE_FIRES = statement(
  `DELETE FROM workflow.workflow_fire f USING unnest($1::text[]) x(name) WHERE f.schedule = 'cron:' || x.name`,
)

export function pushFires(fires: readonly FireRow[], calls: Call[]): void {
  const schedules = [...new Set(fires.map(({ schedule }) => schedule))].sort()
  calls.push(insertFires(fires), { statement: REMOVE_OLD, values: [textArray(schedules)] })
}

/** Only what a list shows of a template is read from it. */
const LISTED = `SELECT c.name, c.expression, c.timezone, c.overlap, c.enabled, c.next_at, c.last_at, c.last_id, c.tenant, c.created_at,
   c.template ->> 'definition', c.template -> 'run' ->> 'type', c.template -> 'start' -> 'net' ->> 'name'
   FROM workflow.workflow_cron c`
const ONE = statement(`${LISTED} WHERE c.name = $1::text`)
const PAGE = statement(`${LISTED} WHERE c.name > $1::text ORDER BY c.name LIMIT $2::int`)
const PAGE_OF_TENANT = statement(
  `${LISTED} WHERE coalesce(c.tenant, '') = $3::text AND c.name > $1::text ORDER BY c.name LIMIT $2::int`,
)

const FIRES = `SELECT ${column.selectList(column.FIRE, 'f')} FROM workflow.workflow_fire f`
const HISTORY = statement(
  `${FIRES} WHERE f.schedule = $1::text AND f.id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   ORDER BY f.id DESC LIMIT $3::int`,
)
const LAST = statement(
  `SELECT l.* FROM unnest($1::text[]) x(schedule) CROSS JOIN LATERAL (
     ${FIRES} WHERE f.schedule = x.schedule AND f.made_id IS NOT NULL ORDER BY f.id DESC LIMIT 1) l`,
)
const BY_KEY = statement(`${FIRES} WHERE f.schedule = $1::text AND f.request_key = $2::text`)

const fireFrom = column.decoder(column.FIRE)

export function timetableOn(p: {
  readonly reads: Lanes
  readonly lists: Lanes
  readonly inbox: Pick<InboxSchedules, 'page' | 'get'>
}): ScheduleQueries {
  const { reads, lists, inbox } = p
  return {
    page: async ({ tenant, withInbox, after, limit }) => {
      const values = [after?.table === 'cron' ? after.name : '', String(limit)]
      const crons =
        after?.table === 'inbox'
          ? []
          : tenant === null
            ? await ask(lists, { statement: PAGE, values, row: listedFrom })
            : await ask(lists, { statement: PAGE_OF_TENANT, values: [...values, tenant], row: listedFrom })
      if (crons.length === limit || !withInbox) return crons
      const last = after?.table === 'inbox' ? after.id : null
      const rows = await inbox.page({ after: last, limit: limit - crons.length })
      return [...crons, ...rows.map(listedInbox)]
    },
    one: async (ref) => {
      if (ref.table === 'cron') return askOne(reads, { statement: ONE, values: [ref.name], row: listedFrom })
      const row = await inbox.get(ref.id)
      return row === null ? null : listedInbox(row)
    },
    fires: ({ schedule, before, limit }) =>
      ask(lists, { statement: HISTORY, values: [schedule, before, String(limit)], row: fireFrom }),
    lastFires: async ({ schedules }) => {
      const rows = await ask(lists, { statement: LAST, values: [textArray(schedules)], row: fireFrom })
      return new Map(rows.map((row) => [row.schedule, row]))
    },
    fireByKey: ({ schedule, requestKey }) =>
      askOne(reads, { statement: BY_KEY, values: [schedule, requestKey], row: fireFrom }),
  }
}

function listedFrom(fields: Fields): ListedSchedule {
  const [name, expression, timezone, overlap, enabled, nextAt, lastAt, lastId, tenant, createdAt, ...template] = fields
  const [definition, type, workflow] = template
  return {
    ref: { table: 'cron', name: name as string },
    kind: definition == null ? 'cron' : 'definition',
    name: name as string,
    makes: type == null ? 'instance' : 'run',
    type: definition ?? type ?? workflow ?? '',
    expression: expression as string,
    timezone: timezone as string,
    overlap: overlap as ListedSchedule['overlap'],
    enabled: enabled === 't',
    nextAt: nextAt == null ? null : parseTime(nextAt),
    lastAt: lastAt == null ? null : parseTime(lastAt),
    lastId: lastId ?? null,
    tenant: tenant ?? null,
    createdAt: parseTime(createdAt as string),
    inbox: null,
  }
}
