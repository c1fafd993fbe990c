/**
 * Schedules of the inbox. No lock is held between reading and moving: the key of the run admits one firing, and a row
 * is only moved if it is still as it was read. Foreign tickers, which hold the row's lock meanwhile, make the same key.
 */
import type { InboxScheduleRow, InboxSchedules } from '../../../model/schedules/schedules.ts'
import { ALWAYS_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import type { Fields } from '../connection/statement.ts'
import { statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { isUuid } from '../connection/uuid.ts'
import { jsonBytes, shownJson } from '../shown.ts'

const COLUMNS = `s.id, s.type, s.payload, s.schedule, s.timezone, s.next_run_at, s.last_run_at, s.enabled, s.priority,
   s.max_attempts, s.disabled_reason, s.created_at, s.updated_at`
const LIVE = 's.id = $1::uuid AND s.deleted_at IS NULL'

const SHOWN = `s.shown_size <= ${PAGE_BYTES} OR ${jsonBytes('s.payload')} <= ${ALWAYS_BYTES}`
/** The schedules that `select` returns, in this order. */
const shown = (select: string, order: string): string =>
  `SELECT ${COLUMNS.replace('s.payload', shownJson('s.payload', SHOWN))} FROM (
     SELECT s.*, sum(${jsonBytes('s.payload')}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size
     FROM (${select}) s) s
   ORDER BY ${order}`
const ALL = 'SELECT s.* FROM workflow.workflow_schedule s WHERE s.deleted_at IS NULL'
const LIST = statement(shown(ALL, 's.created_at, s.id'))
const PAGE = statement(
  shown(
    `${ALL} AND s.id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY s.id LIMIT $2::int`,
    's.id',
  ),
)
const GET = statement(`SELECT ${COLUMNS} FROM workflow.workflow_schedule s WHERE ${LIVE}`)
/** Sent twice, after a lost connection, it finds its own row. */
const ADD = statement(
  `INSERT INTO workflow.workflow_schedule AS s (id, type, payload, schedule, timezone, next_run_at, priority, max_attempts,
     created_at, updated_at)
   VALUES ($1::uuid, $2, $3::jsonb, $4, $5, to_timestamp($6::float8 / 1000), $7::int, $8::int, workflow.clock(), workflow.clock())
   ON CONFLICT (id) DO UPDATE SET updated_at = s.updated_at RETURNING ${COLUMNS}`,
)
const ENABLE = statement(
  `UPDATE workflow.workflow_schedule s SET enabled = true, next_run_at = to_timestamp($2::float8 / 1000),
     disabled_reason = NULL, updated_at = workflow.clock()
   WHERE ${LIVE} RETURNING ${COLUMNS}`,
)
const DISABLE = statement(
  `WITH s AS (
     UPDATE workflow.workflow_schedule s SET enabled = false, disabled_reason = coalesce($2::text, s.disabled_reason),
       updated_at = workflow.clock()
     WHERE ${LIVE} AND ($2::text IS NULL OR s.enabled) RETURNING s.*
   ), recorded AS (
     INSERT INTO workflow.workflow_event (event_type, data, created_at, engine)
     SELECT 'schedule.disabled', jsonb_build_object('schedule', s.id, 'type', s.type, 'reason', s.disabled_reason),
       workflow.clock(), true
     FROM s WHERE $2::text IS NOT NULL
   )
   SELECT ${COLUMNS} FROM s`,
)
const REMOVE = statement(
  `WITH fires AS (DELETE FROM workflow.workflow_fire f WHERE f.schedule = 'inbox:' || $1::uuid::text)
   UPDATE workflow.workflow_schedule s SET deleted_at = workflow.clock(), updated_at = workflow.clock() WHERE ${LIVE}
   RETURNING s.id`,
)
const DUE = statement(
  `SELECT ${COLUMNS} FROM workflow.workflow_schedule s
   WHERE s.enabled AND s.deleted_at IS NULL AND s.next_run_at <= (SELECT workflow.clock())
   ORDER BY s.next_run_at, s.id LIMIT $1::int`,
)
const ADVANCE = statement(
  `UPDATE workflow.workflow_schedule s SET next_run_at = to_timestamp($3::float8 / 1000), last_run_at = workflow.clock(),
     disabled_reason = NULL, updated_at = workflow.clock()
   WHERE ${LIVE} AND floor(extract(epoch FROM s.next_run_at)) = $2::bigint RETURNING s.id`,
)

/** `timers`: for firing, so that listing schedules never delays it. */
export function inboxSchedulesOn(lanes: { readonly reads: Lanes; readonly timers: Lanes }): InboxSchedules {
  const { reads, timers } = lanes
  return {
    list: () => ask(reads, { statement: LIST, row: scheduleFrom }),
    page: ({ after, limit }) => {
      const values = [after !== null && isUuid(after) ? after : null, String(limit)]
      return ask(reads, { statement: PAGE, values, row: scheduleFrom })
    },
    get: async (id) => (isUuid(id) ? askOne(reads, { statement: GET, values: [id], row: scheduleFrom }) : null),
    add: async ({ id, type, payload, schedule, timezone, nextRunAt, priority, maxAttempts }) => {
      const about = [id, type, payload, schedule, timezone, String(nextRunAt), String(priority), String(maxAttempts)]
      return (await askOne(reads, { statement: ADD, values: about, row: scheduleFrom })) as InboxScheduleRow
    },
    enable: async ({ id, nextRunAt }) =>
      isUuid(id) ? askOne(reads, { statement: ENABLE, values: [id, String(nextRunAt)], row: scheduleFrom }) : null,
    disable: async ({ id, reason }) =>
      isUuid(id) ? askOne(timers, { statement: DISABLE, values: [id, reason], row: scheduleFrom }) : null,
    remove: async (id) =>
      isUuid(id) && (await ask(reads, { statement: REMOVE, values: [id], row: () => null })).length > 0,
    due: ({ limit }) => ask(timers, { statement: DUE, values: [String(limit)], row: scheduleFrom }),
    advance: async ({ id, from, nextRunAt }) => {
      const values = [id, String(Math.floor(from / 1000)), String(nextRunAt)]
      return (await ask(timers, { statement: ADVANCE, values, row: () => null })).length > 0
    },
  }
}

function scheduleFrom(fields: Fields): InboxScheduleRow {
  const [id, type, payload, schedule, timezone, nextRunAt, lastRunAt, enabled, priority, maxAttempts, ...rest] = fields
  const [disabledReason, createdAt, updatedAt] = rest
  return {
    id: id as string,
    type: type as string,
    payload: payload as string,
    schedule: schedule as string,
    timezone: timezone as string,
    nextRunAt: parseTime(nextRunAt as string),
    lastRunAt: lastRunAt === null || lastRunAt === undefined ? null : parseTime(lastRunAt),
    enabled: enabled === 't',
    priority: Number(priority),
    maxAttempts: Number(maxAttempts),
    disabledReason: disabledReason ?? null,
    createdAt: parseTime(createdAt as string),
    updatedAt: parseTime(updatedAt as string),
  }
}
