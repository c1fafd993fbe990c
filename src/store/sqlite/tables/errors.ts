/** Groups of failures: counted by the writer, in one transaction. */
import { MAX_SEARCHED } from '../../../kernel/limits.ts'
import { byFingerprint, changed, counted, holdersOf, withBuilds } from '../../../model/errors/count.ts'
import {
  changeEvent,
  cursorOf,
  ERROR_GROUP,
  type ErrorGroupPage,
  type ErrorGroupQuery,
  type ErrorGroupRow,
  type ErrorGroups,
  FAILURE,
} from '../../../model/errors/groups.ts'
import { eventRow } from '../../../model/events/events.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Reading } from '../long-reads.ts'
import { upserter } from '../row/put.ts'
import { rowReader, selectOf } from '../row/reader.ts'
import { insertEvents } from '../write/events.ts'

const groupOf = rowReader(ERROR_GROUP)
const failureOf = rowReader(FAILURE)
const putGroup = upserter(ERROR_GROUP, { keys: ['fingerprint'] })

const GROUPS = `SELECT ${selectOf(ERROR_GROUP)} FROM workflow_error_group`
const ANY = 'SELECT 1 FROM workflow_failure LIMIT 1'
const UNCOUNTED = `SELECT ${selectOf(FAILURE)} FROM workflow_failure ORDER BY id LIMIT ?`
const BUILD = 'SELECT build FROM workflow_worker WHERE id = ? AND build IS NOT NULL'
const REMOVE = 'DELETE FROM workflow_failure WHERE id = ?'
const GROUP = `${GROUPS} WHERE fingerprint = ?1`
const ONE = `${GROUP} AND (?2 IS NULL OR tenant IS nullif(?2, ''))`
const NEWEST = `FROM workflow_error_group WHERE (?1 IS NULL OR tenant IS nullif(?1, ''))
  AND (?2 IS NULL OR (last_at, fingerprint) < (?2, ?3)) ORDER BY last_at DESC, fingerprint DESC`
const TEXTS = "type || ' ' || code || ' ' || coalesce(node, '') || ' ' || message || ' ' || definitions"
const LIST = `SELECT ${selectOf(ERROR_GROUP)} FROM (SELECT * ${NEWEST} LIMIT ${MAX_SEARCHED})
  WHERE (?4 IS NULL OR state IN (SELECT value FROM json_each(?4))) AND (?5 IS NULL OR instr(lower(${TEXTS}), lower(?5)) > 0)
  ORDER BY last_at DESC, fingerprint DESC LIMIT ?6`
const LAST_CHECKED = `SELECT ${selectOf(ERROR_GROUP)} ${NEWEST} LIMIT 1 OFFSET ${MAX_SEARCHED - 1}`

export function errorGroupsOn(connection: Connection): ErrorGroups {
  return {
    count: async ({ limit }) => {
      // Usually there is nothing to count: then nothing is locked.
      if ((await connection.read(() => connection.statement(ANY).get())) === undefined) return 0
      return connection.write(() => count(connection, limit))
    },
    list: (query) => connection.readLong((on) => list(on, query)),
    get: ({ fingerprint, tenant }) =>
      connection.read(() => {
        const cells = connection.statement(ONE).get(fingerprint, tenant)
        return cells === undefined ? null : groupOf(cells)
      }),
    change: ({ fingerprint, tenant, change }) =>
      connection.write(() => {
        const cells = connection.statement(ONE).get(fingerprint, tenant)
        if (cells === undefined) return null
        const after = changed(groupOf(cells), change, readClock(connection))
        putGroup(connection, after)
        insertEvents(connection, [eventRow(changeEvent(after))])
        return after
      }),
  }
}

function count(connection: Connection, limit: number): number {
  const failures = connection.statement(UNCOUNTED).all(limit).map(failureOf)
  const builds = holdersOf(failures).flatMap((holder): readonly (readonly [string, string])[] => {
    const build = connection.statement(BUILD).get(holder)?.[0]
    return build === undefined ? [] : [[holder, build as string]]
  })
  for (const [fingerprint, found] of byFingerprint(withBuilds(failures, new Map(builds)))) {
    const cells = connection.statement(GROUP).get(fingerprint)
    putGroup(connection, counted(cells === undefined ? null : groupOf(cells), found))
  }
  for (const { id } of failures) connection.statement(REMOVE).get(id)
  return failures.length
}

function list(on: Reading, { tenant, states, text, limit, before }: ErrorGroupQuery): ErrorGroupPage {
  const place = [tenant, before?.lastAt ?? null, before?.fingerprint ?? null]
  const names = states === null ? null : JSON.stringify(states)
  const rows = on
    .statement(LIST)
    .all(...place, names, text, limit + 1)
    .map(groupOf)
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: cursorOf(rows[limit - 1] as ErrorGroupRow) }
  const last = on.statement(LAST_CHECKED).get(...place)
  return { rows, next: last === undefined ? null : cursorOf(groupOf(last)) }
}
