/** Debounced starts: part of `transact`, and found when they are due. */
import { DEBOUNCE, type DebounceRow } from '../../../model/schedules/debounce.ts'
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

/** Those that a transaction has loaded, by key. */
export class Debounces extends Map<string, DebounceRow> {}
