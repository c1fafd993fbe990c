/**
 * Pages of lists. Requests say limit and cursor, limit and offset, or page and per_page; replies say all of it, so that
 * a client of any of the three dialects of paging finds its words.
 */
import { type Query, textParam, wholeParam } from '../../../http/query.ts'
import { RequestError } from '../../../http/request-error.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 200
/** Beyond this an offset reads too much to skip; a cursor does not. */
const MAX_OFFSET = 100_000

/** Names to allow beside a list's own filters. */
export const PAGE_PARAMS = ['limit', 'cursor', 'offset', 'page', 'per_page'] as const

export interface Page {
  readonly limit: number
  /** 0 when a cursor is given. */
  readonly offset: number
  /** What a reply gave as next_cursor, decoded; null: from the start. */
  readonly after: string | null
}

export function readPage(query: Query): Page {
  const perPage = wholeParam(query, 'per_page', { least: 1, most: MAX_LIMIT, fallback: DEFAULT_LIMIT })
  const limit = wholeParam(query, 'limit', { least: 1, most: MAX_LIMIT, fallback: perPage })
  const cursor = textParam(query, 'cursor')
  if (cursor !== null) return { limit, offset: 0, after: fromCursor(cursor) }
  const page = wholeParam(query, 'page', { least: 1, most: MAX_OFFSET, fallback: 1 })
  const offset = wholeParam(query, 'offset', { least: 0, most: MAX_OFFSET, fallback: (page - 1) * limit })
  return { limit, offset: Math.min(offset, MAX_OFFSET), after: null }
}

export interface PageWire {
  readonly total: number
  readonly has_more: boolean
  readonly next_cursor: string | null
  readonly limit: number
  readonly offset: number
  readonly page: number
  readonly per_page: number
}

export function pageWire(params: {
  readonly page: Page
  readonly total: number
  readonly hasMore: boolean
  /** Where the next page begins: the id (or name) of the last one shown; null: nothing was shown. */
  readonly last: string | null
}): PageWire {
  const { page, total, hasMore, last } = params
  return {
    total,
    has_more: hasMore,
    next_cursor: hasMore && last !== null ? toCursor(last) : null,
    limit: page.limit,
    offset: page.offset,
    page: Math.floor(page.offset / page.limit) + 1,
    per_page: page.limit,
  }
}

/** Opaque on the wire, so that what is in it can change. */
export function toCursor(value: string): string {
  return Buffer.from(value, 'utf8').toString('base64url')
}

export function fromCursor(cursor: string): string {
  const value = Buffer.from(cursor, 'base64url').toString('utf8')
  if (value !== '' && toCursor(value) === cursor) return value
  throw new RequestError('invalid_request', 'cursor is not one this server gave', {
    details: { parameter: 'cursor' },
    hint: 'Send next_cursor of the previous page as it is, or leave cursor out to begin at the start.',
  })
}
