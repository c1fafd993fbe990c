/** Debounced starts: part of `transact`, and found when they are due. */
import { DEBOUNCE, type DebounceQueries, type DebounceRow } from '../../../model/schedules/debounce.ts'
import type { Delta } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import { upserter } from '../row/put.ts'
import { rowReader, selectOf } from '../row/reader.ts'

export const DEBOUNCE_OF_KEY = `SELECT ${selectOf(DEBOUNCE)} FROM workflow_debounce WHERE key = ?`
export const DUE_DEBOUNCES = `SELECT ${selectOf(DEBOUNCE)} FROM workflow_debounce WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`
const REMOVE = 'DELETE FROM workflow_debounce WHERE key = ?'
const put = upserter(DEBOUNCE, { keys: ['key'] })

export const debounceOf = rowReader(DEBOUNCE)

export function writeDebounces(
  connection: Connection,
  { put: rows = [], remove = [] }: NonNullable<Delta['debounces']>,
): void {
  for (const row of rows) put(connection, row)
  for (const key of remove) connection.statement(REMOVE).get(key)
}

const READ = `SELECT ${selectOf(DEBOUNCE)} FROM workflow_debounce`
const LIST = `${READ} WHERE id < ?2 ORDER BY id DESC LIMIT ?1`
const LIST_OF_TENANT = `${READ} WHERE coalesce(tenant, '') = ?3 AND id < ?2 ORDER BY id DESC LIMIT ?1`
const ONE = `${READ} WHERE id = ?`

export function debounceQueriesOn(connection: Connection): DebounceQueries {
  return {
    list: ({ tenant, limit, before }) =>
      connection.read(() => {
        // Every id is before g.
        const page = [limit, before ?? 'g']
        const rows =
          tenant === null
            ? connection.statement(LIST).all(...page)
            : connection.statement(LIST_OF_TENANT).all(...page, tenant)
        return rows.map(debounceOf)
      }),
    get: (id) =>
      connection.read(() => {
        const cells = connection.statement(ONE).get(id)
        return cells === undefined ? null : debounceOf(cells)
      }),
  }
}

/** Those that a transaction has loaded, by key. */
export class Debounces extends Map<string, DebounceRow> {}
