/** Parameters of a query string: each describes itself, checks the given text and returns its value to the handler. */
import { PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import { parseMoment } from '../../kernel/moments.ts'
import { HELD_AT } from '../../model/rows.ts'
import { type Schema, text, uuid, whole, word } from '../schema.ts'
import { listParam, type Query, storableParam, textParam, wholeParam } from './query.ts'

export interface Param<T = unknown> {
  readonly description: string
  readonly schema: Schema
  readonly read: (query: Query, name: string) => T
}

export type Params = { readonly [name: string]: Param }

/** The value for a handler. */
export type Given<P extends Params> = { readonly [K in keyof P]: P[K] extends Param<infer T> ? T : never }

export function readQuery<P extends Params>(params: P, query: Query): Given<P> {
  return Object.fromEntries(Object.entries(params).map(([name, param]) => [name, param.read(query, name)])) as Given<P>
}

export function textOf(description: string): Param<string | null> {
  return { description, schema: text(), read: textParam }
}

/** A text that is searched in the store. */
export function storedText(description: string): Param<string | null> {
  return { description, schema: text(), read: storableParam }
}

/** Any texts: `a,b` or repeated. */
export function textsOf(description: string): Param<readonly string[] | null> {
  const read = (query: Query, name: string): readonly string[] | null => {
    const value = query[name]
    if (value === undefined || value === '') return null
    return (Array.isArray(value) ? value : [value]).flatMap((v) => String(v).split(','))
  }
  return { description, schema: text(), read }
}

/** Any of these: `a,b` or repeated. */
export function wordsOf<const W extends string>(words: readonly W[], description: string): Param<readonly W[] | null> {
  const schema = text({ pattern: `^(?:${words.join('|')})(?:,(?:${words.join('|')}))*$` })
  return { description, schema, read: (query, name) => listParam(query, name, words) as readonly W[] | null }
}

/** One of these. */
export function wordOf<const W extends string, const F extends W | null>(
  words: readonly W[],
  fallback: F,
  description: string,
): Param<W | F> {
  return {
    description,
    schema: word(words, fallback === null ? {} : { default: fallback }),
    read: (query, name) => (listParam(query, name, words)?.[0] ?? fallback) as W | F,
  }
}

export function wholeOf(
  bounds: { readonly least: number; readonly most: number; readonly fallback: number },
  description: string,
): Param<number> {
  const { least, most, fallback } = bounds
  const schema = whole({
    minimum: least,
    ...(most < Number.MAX_SAFE_INTEGER ? { maximum: most } : {}),
    default: fallback,
  })
  return { description, schema, read: (query, name) => wholeParam(query, name, bounds) }
}

/** An optional whole number: null if absent. */
export function wholeOrNone(
  bounds: { readonly least: number; readonly most: number },
  more: { readonly description: string; readonly [keyword: string]: unknown },
): Param<number | null> {
  const { least, most } = bounds
  const { description, ...keywords } = more
  const schema = whole({ minimum: least, maximum: most, ...keywords })
  const read = (query: Query, name: string): number | null =>
    textParam(query, name) === null ? null : wholeParam(query, name, { ...bounds, fallback: least })
  return { description, schema, read }
}

/** `limit` of a list. */
export function pageSize(most = 200, fallback = 50): Param<number> {
  return wholeOf({ least: 1, most, fallback }, 'Entries per page.')
}

/** Continues after a number. */
export function placeOf(description: string): Param<number> {
  return wholeOf({ least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 }, description)
}

/** `what`: `an instance id`. */
export function idOf(what: string, description: string): Param<string | null> {
  return parsed(description, uuid(), readId, what)
}

export function momentOf(description: string): Param<number | null> {
  return parsed(
    description,
    { ...text(), format: 'date-time' },
    (given) => {
      const at = given.startsWith('+') ? null : (parseMoment(given, 0)?.at ?? null)
      return at !== null && at < HELD_AT ? at : null
    },
    'a date and time with its zone, such as 2030-01-31T09:00:00Z',
  )
}

/** `read` returns null for an invalid text; `expected` describes a valid one: `an instance id`. */
export function parsed<T>(
  description: string,
  schema: Schema,
  read: (given: string) => T | null,
  expected: string,
): Param<T | null> {
  return {
    description,
    schema,
    read: (query, name) => {
      const given = textParam(query, name)
      if (given === null) return null
      const value = read(given)
      if (value !== null) return value
      throw new PetrelError('invalid_request', `${name} must be ${expected}, not '${given}'`, { parameter: name })
    },
  }
}
