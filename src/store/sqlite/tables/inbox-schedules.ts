/** Schedules of the inbox. One writer at a time, so a statement that names what it expects needs no lock. */

import { eventRow, storeEvent } from '../../../model/events/events.ts'
import type { InboxScheduleRow, InboxSchedules } from '../../../model/schedules/schedules.ts'
import { ALWAYS_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import { shownJson } from '../shown.ts'
import { insertEvents } from '../write/events.ts'

const CELLS = `id, type, payload, schedule, timezone, next_run_at, last_run_at, enabled, priority, max_attempts,
  disabled_reason, created_at, updated_at`
const SHOWN = `shown_size <= ${PAGE_BYTES} OR octet_length(payload) <= ${ALWAYS_BYTES}`
/** The schedules that `select` returns, in this order. */
const shown = (select: string, order: string): string =>
  `SELECT ${CELLS.replace('payload', shownJson('payload', SHOWN))} FROM (
    SELECT *, sum(octet_length(payload)) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (${select}))
  ORDER BY ${order}`
const ALL = 'SELECT * FROM workflow_schedule WHERE deleted_at IS NULL'
const LIST = shown(ALL, 'created_at, id')
const PAGE = shown(`${ALL} AND id > ? ORDER BY id LIMIT ?`, 'id')
const GET = `SELECT ${CELLS} FROM workflow_schedule WHERE id = ? AND deleted_at IS NULL`
const ADD = `INSERT INTO workflow_schedule (id, type, payload, schedule, timezone, next_run_at, priority, max_attempts,
    created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9) RETURNING ${CELLS}`
const ENABLE = `UPDATE workflow_schedule SET enabled = 1, next_run_at = ?2, disabled_reason = NULL, updated_at = ?3
  WHERE id = ?1 AND deleted_at IS NULL RETURNING ${CELLS}`
const DISABLE = `UPDATE workflow_schedule SET enabled = 0, disabled_reason = coalesce(?2, disabled_reason), updated_at = ?3
  WHERE id = ?1 AND deleted_at IS NULL AND (?2 IS NULL OR enabled = 1) RETURNING ${CELLS}`
const REMOVE = `UPDATE workflow_schedule SET deleted_at = ?2, updated_at = ?2 WHERE id = ?1 AND deleted_at IS NULL
  RETURNING id`
const REMOVE_FIRES = 'DELETE FROM workflow_fire WHERE schedule = ?'
const DUE = `SELECT ${CELLS} FROM workflow_schedule WHERE enabled = 1 AND deleted_at IS NULL AND next_run_at <= ?1
  ORDER BY next_run_at, id LIMIT ?2`
const ADVANCE = `UPDATE workflow_schedule SET next_run_at = ?3, last_run_at = ?4, disabled_reason = NULL, updated_at = ?4
  WHERE id = ?1 AND next_run_at / 1000 = ?2 AND deleted_at IS NULL RETURNING id`

export function inboxSchedulesOn(connection: Connection): InboxSchedules {
  const found = (cells: Cells | undefined): InboxScheduleRow | null => (cells === undefined ? null : scheduleOf(cells))
  // Nothing remembered about runs changes here.
  const write = <T>(work: (now: number) => T): Promise<T> =>
    connection.write(
      () => work(readClock(connection)),
      () => undefined,
    )
  return {
    list: () => connection.read(() => connection.statement(LIST).all().map(scheduleOf)),
    page: ({ after, limit }) =>
      connection.read(() =>
        connection
          .statement(PAGE)
          .all(after ?? '', limit)
          .map(scheduleOf),
      ),
    get: (id) => connection.read(() => found(connection.statement(GET).get(id))),
    add: (row) =>
      write((now) => {
        const { id, type, payload, schedule, timezone, nextRunAt, priority, maxAttempts } = row
        const add = connection.statement(ADD)
        return scheduleOf(
          add.get(id, type, payload, schedule, timezone, nextRunAt, priority, maxAttempts, now) as Cells,
        )
      }),
    enable: ({ id, nextRunAt }) => write((now) => found(connection.statement(ENABLE).get(id, nextRunAt, now))),
    disable: ({ id, reason }) =>
      write((now) => {
        const row = found(connection.statement(DISABLE).get(id, reason, now))
        if (row !== null && reason !== null) tellDisabled(connection, row, now)
        return row
      }),
    remove: (id) =>
      write((now) => {
        connection.statement(REMOVE_FIRES).get(`inbox:${id}`)
        return connection.statement(REMOVE).get(id, now) !== undefined
      }),
    due: ({ limit }) =>
      connection.read(() => connection.statement(DUE).all(readClock(connection), limit).map(scheduleOf)),
    advance: ({ id, from, nextRunAt }) =>
      write((now) => connection.statement(ADVANCE).get(id, Math.floor(from / 1000), nextRunAt, now) !== undefined),
  }
}

function tellDisabled(connection: Connection, { id, type, disabledReason }: InboxScheduleRow, at: number): void {
  const data = { schedule: id, type, reason: disabledReason }
  insertEvents(connection, [eventRow(storeEvent('schedule.disabled', data, { actor: null, tenant: null, at }))])
}

function scheduleOf(cells: Cells): InboxScheduleRow {
  const [id, type, payload, schedule, timezone, nextRunAt, lastRunAt, enabled, priority, maxAttempts, ...rest] = cells
  const [disabledReason, createdAt, updatedAt] = rest
  return {
    id: id as string,
    type: type as string,
    payload: payload as string,
    schedule: schedule as string,
    timezone: timezone as string,
    nextRunAt: nextRunAt as number,
    lastRunAt: lastRunAt as number | null,
    enabled: enabled === 1,
    priority: priority as number,
    maxAttempts: maxAttempts as number,
    disabledReason: disabledReason as string | null,
    createdAt: createdAt as number,
    updatedAt: updatedAt as number,
  }
}
