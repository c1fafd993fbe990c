/** Upserts of narrow rows. */
import { columnsOf, type Description, type RowOf } from '../../../model/table.ts'
import { cellsOf } from '../../cells.ts'
import type { Connection } from '../connection.ts'
import type { Value } from '../driver.ts'
import { storable } from './writer.ts'

export interface Upsert {
  /** Columns that identify a row. */
  readonly keys: readonly string[]
  /** Columns that stay as they were first written. */
  readonly kept?: readonly string[]
}

export function upserter<D extends Description<object>>(
  description: D,
  { keys, kept = [] }: Upsert,
): (connection: Connection, row: RowOf<D>) => void {
  const columns = columnsOf(description)
  const names = columns.map(({ name }) => name)
  const cells = cellsOf(description)
  const set = names.filter((name) => !keys.includes(name) && !kept.includes(name))
  const sql = `INSERT INTO ${description.name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})
    ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${set.map((name) => `${name} = excluded.${name}`).join(', ')}`
  return (connection, row) => {
    const values = cells(row).map((value, at): Value => {
      if (typeof value === 'boolean') return value ? 1 : 0
      if (typeof value === 'object' && value !== null) return JSON.stringify(value)
      return storable(value ?? null, names[at] as string)
    })
    connection.statement(sql).get(...values)
  }
}
