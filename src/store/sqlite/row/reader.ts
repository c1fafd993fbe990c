/**
 * Reads rows from cells. Of a wide table, the columns that most rows leave at their initial value come as one JSON array,
 * and only if one of them differs: each cell costs 0.2 µs. Readers are compiled to one object literal per table.
 */
import { type Column, columnsOf, type Description, type RowOf } from '../../../model/table.ts'
import type { Cells, Value } from '../driver.ts'

/** The columns of a table for SQL that orders or cuts them itself. */
export function namesOf(description: Description<object>): readonly string[] {
  return columnsOf(description).map(({ name }) => name)
}

/** What to select, in the order in which `rowReader` reads it. */
export function selectOf(description: Description<object>): string {
  const { single, packed } = laidOut(description)
  const names = single.map(({ name }) => name)
  return [...names, ...(packed.length === 0 ? [] : [packedCell(packed)])].join(', ')
}

export function rowReader<D extends Description<object>>(description: D): (cells: Cells) => RowOf<D> {
  const { single, packed } = laidOut(description)
  const fields = columnsOf(description).map((column) => {
    const at = single.findIndex(({ key }) => key === column.key)
    const cell = at < 0 ? `packed[${packed.findIndex(({ key }) => key === column.key)}]` : `cells[${at}]`
    return `${column.key}: ${decoded(column, cell)}`
  })
  const last = `const packed = cells[${single.length}] === null ? initial : JSON.parse(cells[${single.length}]); `
  const body = `${packed.length === 0 ? '' : last}return { ${fields.join(', ')} }`
  const read = new Function('cells', 'initial', body) as (cells: Cells, initial: Cells) => RowOf<D>
  const initial = packed.map(initialOf)
  return (cells) => read(cells, initial)
}

/** A table without usual columns is narrow: all of its columns are cells of their own. */
function laidOut(description: Description<object>): { single: readonly Column[]; packed: readonly Column[] } {
  const columns = columnsOf(description)
  if (!columns.some(({ usual }) => usual)) return { single: columns, packed: [] }
  return { single: columns.filter(({ usual }) => usual), packed: columns.filter(({ usual }) => !usual) }
}

/** null while all of them have their initial values. */
function packedCell(columns: readonly Column[]): string {
  const changed = columns.map((column) => {
    const initial = initialOf(column)
    return initial === null
      ? column.name
      : `nullif(${column.name}, ${typeof initial === 'string' ? `'${initial}'` : initial})`
  })
  const names = columns.map(({ name }) => name)
  return `CASE WHEN coalesce(${changed.join(', ')}) IS NULL THEN NULL ELSE json_array(${names.join(', ')}) END`
}

function initialOf({ initial }: Column): Value {
  return typeof initial === 'boolean' ? Number(initial) : (initial ?? null)
}

function decoded({ kind }: Column, cell: string): string {
  if (kind === 'bool') return `${cell} === 1`
  return kind === 'list' ? `JSON.parse(${cell})` : cell
}
