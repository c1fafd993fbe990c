/** Fields of bodies that several routes read. What is wrong is noted with its place, and nothing is done then. */

import { VERSIONED } from '../../engine/intake/inbox-run.ts'
import type { Body } from '../../http/body.ts'
import { refuseMistakes } from '../../http/mistaken.ts'
import { MAX_IDEMPOTENCY_KEY_LENGTH, MAX_INBOX_ATTEMPTS, MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import { nameProblem } from '../../kernel/remarks.ts'
import { HELD_AT } from '../../model/rows.ts'
import type { Json } from '../../net/net.ts'
import { parseMoment } from '../../notations/ojs/project/time.ts'
import { BodyNotes, kindOf, type Part } from '../../notations/source/reader.ts'

/** What an integer column holds. */
const INTEGER = { least: -(2 ** 31), most: 2 ** 31 - 1 }

/** Reads a whole body: every mistake in it is answered at once. */
export function readBody<T>(body: Body, keys: readonly string[], what: string, read: (part: Part) => T): T {
  const notes = new BodyNotes()
  const part = notes.root(body)
  part.hasOnly(keys, what)
  const asked = read(part)
  refuseMistakes(notes)
  return asked
}

export function readType(part: Part): string {
  const { value } = part
  if (typeof value === 'string' && value.length <= MAX_TYPE_LENGTH && VERSIONED.test(value) && storable(value)) {
    return value
  }
  part.wrong(
    part.given ? `type is dotted and ends in a version, this is ${kindOf(value)}` : 'type is missing',
    `such as billing.invoice.v1: no spaces, at most ${MAX_TYPE_LENGTH} characters`,
  )
  return '?'
}

export function readKey(part: Part): string | null {
  return readLine(part, 'idempotency_key', MAX_IDEMPOTENCY_KEY_LENGTH)
}

export function readQueue(part: Part): string | null {
  return readLine(part, 'queue', MAX_TYPE_LENGTH)
}

/** null: none was given, or a wrong one. */
export function readName(part: Part, what: string): string | null {
  return readLine(part, what, MAX_TYPE_LENGTH)
}

/** The same where one must be given. */
export function needName(part: Part, what: string, hint: string): string {
  if (!part.given) part.wrong(`${what} is missing`, hint)
  return readName(part, what) ?? '?'
}

/** The word a worker states and the registry compares. */
export function readRuntime(part: Part): string | null {
  const name = readName(part, 'runtime')
  if (name === null || name === name.trim()) return name
  part.wrong(`runtime has no spaces around it, this is ${kindOf(name)}`, 'a name such as node, go or python')
  return null
}

/** null: none was given, or a wrong one. */
export function readLine(part: Part, what: string, longest: number): string | null {
  if (!part.given) return null
  const { value } = part
  // Counted as the databases count: characters, not halves of them.
  if (
    typeof value === 'string' &&
    value !== '' &&
    storable(value) &&
    [...value.slice(0, 2 * longest + 2)].length <= longest
  ) {
    return value
  }
  const found = typeof value === 'string' && value.length > longest ? `${value.length} characters long` : kindOf(value)
  part.wrong(
    `${what} is a text of 1 to ${longest} characters, this is ${found}`,
    'any characters but NUL; leave it out for none',
  )
  return null
}

/** What no database takes as a text. */
function storable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed()
}

export function readPriority(part: Part): number | null {
  return part.whole('priority', INTEGER)
}

export function readMaxAttempts(part: Part): number | null {
  return part.whole('max_attempts', { least: 1, most: MAX_INBOX_ATTEMPTS })
}

export function readTime(part: Part, what: string): number | null {
  if (!part.given) return null
  const moment = typeof part.value === 'string' && !part.value.startsWith('+') ? parseMoment(part.value, 0) : null
  if (moment !== null && moment.at >= 0 && moment.at < HELD_AT) return moment.at
  part.wrong(
    `${what} is a date and time between 1970 and 9999, this is ${kindOf(part.value)}`,
    'RFC 3339 with a time zone, such as 2030-01-31T09:00:00Z',
  )
  return null
}

/** Any JSON value; the one who asks must say which, be it null. */
export function needPayload(part: Part): Json {
  if (part.value === undefined) part.wrong('payload is missing', 'any JSON value, such as {}')
  return (part.value ?? null) as Json
}

/** Context entries by name; null: none were given, or wrong ones. */
export function readEntries(part: Part): { readonly [name: string]: Json } | null {
  if (!part.given) return null
  for (const [name, entry] of part.entries('set')) {
    const problem = nameProblem(name)
    if (problem !== null) entry.wrong(problem, '{ "set": { "page": 3 } }; null removes an entry')
  }
  return part.value as { readonly [name: string]: Json }
}

/** null: none were given, or wrong ones. */
export function readNotes(part: Part): readonly Json[] | null {
  if (!part.given) return null
  return part.items('notes').map((note) => note.value as Json)
}
