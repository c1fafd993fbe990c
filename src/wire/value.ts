/** Pieces of every shape: one spelling for /v1 and `--json`, names in snake_case, times as RFC 3339. */
import { shownStored } from '../kernel/json-limits.ts'
import { isOmitted } from '../model/shown.ts'
import { placeholder } from './json-text.ts'
import { list, named, object, oneOf, type Schema, text, type Value, whole } from './schema.ts'

export type Wire = { readonly [key: string]: unknown }

/** Replaces a row that cannot be shown. */
export const Unreadable = named(
  'Unreadable',
  object(
    { id: oneOf([text(), whole()]), error: object({ code: text('`unreadable`'), message: text() }) },
    'Replaces a value that cannot be shown.',
  ),
)

/** A list of rows, as wireEach() writes it. */
export function rows<T>(row: Schema<T>, description?: string): Schema<readonly (T | Value<typeof Unreadable>)[]> {
  return list(oneOf([row, Unreadable]) as Schema<T | Value<typeof Unreadable>>, description)
}

/** Records an entry that cannot be shown: `engine.faults`. */
export interface UnreadableRows {
  note(place: string, id: string, error: unknown): void
}

/** Rows one by one: a row that cannot be shown becomes an entry with its id and the code `unreadable`. */
export function wireEach<R extends { readonly id: string | number }, T>(
  faults: UnreadableRows,
  rows: readonly R[],
  wire: (row: R) => T,
): readonly (T | Value<typeof Unreadable>)[] {
  return rows.map((row) => {
    try {
      return wire(row)
    } catch (error) {
      faults.note('unreadable_row', String(row.id), error)
      return { id: row.id, ...placeholder(error) }
    }
  })
}

/** A stored value in a list or a view. For an omitted value its length and the link to the complete value are shown. */
export function shown(text: string | null, href: string): unknown {
  const value = json(text)
  if (!isOmitted(text)) return value
  return { $omitted: { ...(value as { readonly $omitted: object }).$omitted, href } }
}

/** null also for a time outside the range of RFC 3339, which only a client with plain SQL can write. */
export function time(at: number): string
export function time(at: number | null): string | null
export function time(at: number | null): string | null {
  return at === null || Math.abs(at) > LAST ? null : new Date(at).toISOString()
}

const LAST = 8_640_000_000_000_000

/** Stored JSON text as its value; text that is not JSON (written by a foreign client) as a string. */
export function json(text: string | null): unknown {
  if (text === null) return null
  try {
    return shownStored(text)
  } catch {
    return text
  }
}
