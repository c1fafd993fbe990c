/** Lists and counts of inbox runs, which were enqueued by plain SQL, over HTTP or by a client of the table. */

import type { ToolsFilter, TypeFilter } from '../kernel/type-filters.ts'
import type { RunRow, RunStatus } from './rows.ts'

export interface InboxQuery {
  /** null: any; the same for all the others. */
  readonly type: Exclude<TypeFilter, ToolsFilter> | null
  readonly status: readonly RunStatus[] | null
  readonly idempotencyKey: string | null
  readonly queue: string | null
  /** true: only deleted runs. */
  readonly deleted: boolean | null
  readonly tenant: string | null
  readonly limit: number
  /** Only runs after this place in the list. */
  readonly before: InboxCursor | null
}

/** A place in the list: newest first, and among equals the greater id. */
export interface InboxCursor {
  /** Microseconds since the epoch, the precision of rows that were inserted by plain SQL. */
  readonly createdUs: number
  readonly id: string
}

export interface InboxPage {
  readonly runs: readonly RunRow[]
  /** Where the next page begins; null: this is the last. */
  readonly next: string | null
}

/** Runs that have not ended, of one type. */
export interface TypeDepth {
  readonly type: string
  readonly status: 'pending' | 'leased'
  readonly count: number
}

const CURSOR = /^(\d{1,16})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** null: it is not a cursor of this server. */
export function parseInboxCursor(text: string): InboxCursor | null {
  const found = CURSOR.exec(text)
  const createdUs = Number(found?.[1])
  return found === null || !Number.isSafeInteger(createdUs) ? null : { createdUs, id: found[2] as string }
}

/** Makes a page from one row more than requested, which shows whether there is a next page. */
export function inboxPage(
  rows: readonly { readonly run: RunRow; readonly createdUs: number }[],
  limit: number,
): InboxPage {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    runs: shown.map(({ run }) => run),
    next: rows.length > limit && last !== undefined ? `${last.createdUs}-${last.run.id}` : null,
  }
}

export const VERSIONED = /^[^.\s]+(\.[^.\s]+)*\.v[0-9]+$/
