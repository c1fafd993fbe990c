/** Lists that are read in several requests. */

export interface Batch<Row, Cursor> {
  readonly rows: readonly Row[]
  /** Where the next one begins; null: this is the last. */
  readonly next: Cursor | null
}

/** Batches until there are enough rows. */
export async function rowsUpTo<Row, Cursor>(
  wanted: number,
  read: (after: Cursor | null) => Promise<Batch<Row, Cursor>>,
): Promise<{ readonly rows: readonly Row[]; readonly hasMore: boolean }> {
  const rows: Row[] = []
  let next: Cursor | null = null
  do {
    const batch: Batch<Row, Cursor> = await read(next)
    rows.push(...batch.rows)
    next = batch.next
  } while (next !== null && rows.length < wanted)
  return { rows, hasMore: next !== null }
}

interface Unreadable {
  readonly id: string | number
  readonly error: { readonly code: string; readonly message: string }
}

/** Without the rows that the server could not read: those have an error and no state. */
export function readable<Row extends object>(rows: readonly (Row | Unreadable)[], member: keyof Row): readonly Row[] {
  return rows.filter((row): row is Row => member in row)
}
