/** A list that grows as the user asks for more, and is kept up to date as a whole: for lists of moderate length. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type Live, type LiveOptions, useLive } from './live.ts'

export interface Batch<Row, Cursor> {
  readonly rows: readonly Row[]
  /** Where the next one begins; null: this is the last. */
  readonly next: Cursor | null
}

export interface Growing<Row> {
  readonly live: Live<{ readonly rows: readonly Row[]; readonly hasMore: boolean }>
  readonly busy: ReadonlySignal<boolean>
  more(): void
}

const STEP = 100

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

export function useGrowing<Row, Cursor>(
  key: string,
  read: (after: Cursor | null, signal: AbortSignal) => Promise<Batch<Row, Cursor>>,
  options: LiveOptions = {},
): Growing<Row> {
  const size = useMemo(() => ({ wanted: STEP, busy: signal(false) }), [key])
  const live = useLive(key, (abort) => rowsUpTo(size.wanted, (after: Cursor | null) => read(after, abort)), options)
  const more = async (): Promise<void> => {
    if (size.busy.value || live.data.value?.hasMore !== true) return
    size.busy.value = true
    size.wanted += STEP
    await live.refresh()
    live.show()
    size.busy.value = false
  }
  return { live, busy: size.busy, more: () => void more() }
}

interface Unreadable {
  readonly id: string | number
  readonly error: { readonly code: string; readonly message: string }
}

/** Without the rows that the server could not read: those have an error and no state. */
export function readable<Row extends object>(rows: readonly (Row | Unreadable)[], member: keyof Row): readonly Row[] {
  return rows.filter((row): row is Row => member in row)
}
