/**
 * Pages of lists. Requests say limit and cursor, limit and offset, or page and per_page; replies say all of it, so that
 * a client of any of the three dialects of paging finds its words.
 */

import { RequestError } from '../../../http/request-error.ts'
import { type Given, textOf, wholeOrNone } from '../../../wire/requests/params.ts'
import { flag, named, nullable, object, optional, text, type Value, whole } from '../../../wire/schema.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 200
/** Beyond this an offset reads too much to skip; a cursor does not. */
const MAX_OFFSET = 100_000

export const PAGE = {
  limit: wholeOrNone({ least: 1, most: MAX_LIMIT }, { description: 'Entries per page.', default: DEFAULT_LIMIT }),
  cursor: textOf('`next_cursor` of the previous page.'),
  offset: wholeOrNone({ least: 0, most: MAX_OFFSET }, { description: 'Entries to skip; a cursor is cheaper.' }),
  page: wholeOrNone({ least: 1, most: MAX_OFFSET }, { description: 'Instead of an offset: the page, from 1.' }),
  per_page: wholeOrNone({ least: 1, most: MAX_LIMIT }, { description: 'An alias of limit.' }),
}

const { cursor: _, ...withoutCursor } = PAGE

/** Of lists that have no cursor. */
export const OFFSET_PAGE = withoutCursor

const { limit: __, ...withoutLimit } = withoutCursor

/** Of lists whose limit has other bounds. */
export const NUMBERED = withoutLimit

export interface Page {
  readonly limit: number
  /** 0 when a cursor is given. */
  readonly offset: number
  /** What a reply gave as next_cursor, decoded; null: from the start. */
  readonly after: string | null
}

type Asked = Given<typeof OFFSET_PAGE> & Partial<Given<typeof PAGE>>

export function pageAsked({ limit: asked, cursor = null, offset, page, per_page: perPage }: Asked): Page {
  const limit = asked ?? perPage ?? DEFAULT_LIMIT
  if (cursor !== null) return { limit, offset: 0, after: fromCursor(cursor) }
  return { limit, offset: Math.min(offset ?? ((page ?? 1) - 1) * limit, MAX_OFFSET), after: null }
}

export const Pagination = named(
  'Pagination',
  object({
    total: whole(),
    has_more: flag(),
    next_cursor: nullable(text('Send it as `cursor`.')),
    limit: whole(),
    offset: whole(),
    page: whole(),
    per_page: whole(),
    total_is_at_least: optional(flag('There are more than were counted.')),
  }),
)

export type PageWire = Value<typeof Pagination>

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

const OFFSET_PAGINATION = {
  total: whole(),
  has_more: flag(),
  limit: whole(),
  offset: whole(),
  page: whole(),
  per_page: whole(),
  total_is_at_least: optional(flag('There are more than were counted.')),
}

/** Of lists that have no cursor. */
export const OffsetPagination = named('OffsetPagination', object(OFFSET_PAGINATION))

export function offsetPageWire(params: {
  readonly page: Page
  readonly total: number
  readonly hasMore: boolean
}): Value<typeof OffsetPagination> {
  const { next_cursor: _, ...wire } = pageWire({ ...params, last: null })
  return wire
}

/** A page of what has been read whole, by name. */
export function pageByName<T>(
  all: readonly T[],
  page: Page,
  nameOf: (one: T) => string,
): { readonly shown: readonly T[]; readonly pagination: PageWire } {
  const { after } = page
  const sorted = [...all].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const rest = (after === null ? sorted : sorted.filter((one) => nameOf(one) > after)).slice(page.offset)
  const shown = rest.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    shown,
    pagination: pageWire({
      page,
      total: all.length,
      hasMore: rest.length > shown.length,
      last: last === undefined ? null : nameOf(last),
    }),
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
