/** Values cut in SQL to what a list shows (model/shown.ts). */
import { MAX_SHOWN_CHARACTERS } from '../../kernel/limits.ts'
import { ALWAYS_BYTES, BRIEF_ERROR_BYTES, BRIEF_ERROR_CHARACTERS, PAGE_BYTES } from '../../model/shown.ts'
import { GATE, RUN } from './columns.ts'

/**
 * Bytes of a jsonb value as text. Printing it only to measure it is expensive, so a value that is stored in few bytes
 * is measured by those: compression gains a factor of 91 at most, so it is not long either.
 */
const STORED_IN_LITTLE = 1_500

export function jsonBytes(value: string): string {
  return `CASE WHEN pg_column_size(${value}) < ${STORED_IN_LITTLE} THEN pg_column_size(${value}) ELSE octet_length(${value}::text) END`
}

/** The value, or its marker where `isShown` is false. */
export function shownJson(value: string, isShown: string): string {
  const marker = `jsonb_build_object('$omitted', jsonb_build_object('bytes', octet_length(${value}::text)))`
  return `CASE WHEN ${value} IS NULL OR ${isShown} THEN ${value} ELSE ${marker} END`
}

/** A short failure whole, a long one without its details and with the beginning of its message. */
export function shownError(value: string): string {
  const brief = `${value}::jsonb || jsonb_build_object('message', left(${value} ->> 'message', ${BRIEF_ERROR_CHARACTERS}),
    'details', jsonb_build_object('$omitted', jsonb_build_object('bytes', octet_length(${value}::text))))`
  return `CASE WHEN octet_length(${value}::text) <= ${BRIEF_ERROR_BYTES} THEN ${value}::text ELSE (${brief})::text END`
}

export const SHOWN_LAST_ERROR = `left(r.last_error, ${MAX_SHOWN_CHARACTERS})`

/** Values of a run that may be long. */
const LONG: readonly string[] = ['payload', 'result', 'error', 'meta']

/**
 * The runs that `select` returns, in this order; their long values until the sum exceeds `maxBytes`, a parameter. The
 * columns are those of selectList(RUN), then `more`.
 */
export function shownRuns(select: string, order: string, maxBytes: string, more: readonly string[] = []): string {
  const bytes = (name: string): string =>
    name === 'error' || name === 'meta' ? `octet_length(r.${name}::text)` : jsonBytes(`r.${name}`)
  const size = LONG.map((name) => `coalesce(${bytes(name)}, 0)`).join(' + ')
  const columns = RUN.columns.map(({ name }) => {
    if (name === 'last_error') return `left(r.last_error, ${MAX_SHOWN_CHARACTERS})`
    if (!LONG.includes(name)) return `r.${name}`
    const isShown = `(r.shown_size <= ${maxBytes}::bigint OR ${bytes(name)} <= ${ALWAYS_BYTES})`
    const value = name === 'error' || name === 'meta' ? `r.${name}::jsonb` : `r.${name}`
    return shownJson(value, isShown)
  })
  return `SELECT ${[...columns, ...more].join(', ')} FROM (
    SELECT r.*, sum(${size}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (${select}) r) r
    ORDER BY ${order}`
}

const LONG_OF_GATES: readonly string[] = ['options', 'args', 'answer', 'votes']

/** The gates that `select` returns, in this order; their long values until the sum exceeds PAGE_BYTES. */
export function shownGates(select: string, order: string): string {
  const bytes = (name: string): string => `octet_length(g.${name}::text)`
  const size = LONG_OF_GATES.map((name) => `coalesce(${bytes(name)}, 0)`).join(' + ')
  const columns = GATE.columns.map(({ name }) => {
    if (name === 'reason') return `left(g.reason, ${MAX_SHOWN_CHARACTERS})`
    if (!LONG_OF_GATES.includes(name)) return `g.${name}`
    const isShown = `g.${name} IS NULL OR g.shown_size <= ${PAGE_BYTES} OR ${bytes(name)} <= ${ALWAYS_BYTES}`
    return `CASE WHEN ${isShown} THEN g.${name}::text ELSE '{"$omitted":{"bytes":' || ${bytes(name)} || '}}' END`
  })
  return `SELECT ${columns.join(', ')} FROM (
    SELECT g.*, sum(${size}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (${select}) g) g
    ORDER BY ${order}`
}
