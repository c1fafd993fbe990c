/**
 * Splits rows into their values, in the order of the columns. Compiled to one array literal per table: reading each
 * column by its name would take most of the time of a write.
 */
import { type Cell, columnsOf, type Description, type RowOf } from '../model/table.ts'

export type Value = Cell | readonly string[] | undefined
export type CellsOf<R> = (row: R) => Value[]

export function cellsOf<D extends Description<object>>(description: D): CellsOf<RowOf<D>> {
  const values = columnsOf(description).map(({ key }) => `row.${key}`)
  return new Function('row', `return [${values.join(', ')}]`) as CellsOf<RowOf<D>>
}
