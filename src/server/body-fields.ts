/** Fields of bodies that several routes read. What is wrong is noted with its place, and nothing is done then. */
import type { Body } from '../http/body.ts'
import { refuseMistakes } from '../http/mistaken.ts'
import { MAX_TYPE_LENGTH } from '../kernel/limits.ts'
import { BodyNotes, kindOf, type Part } from '../notations/source/reader.ts'
import { storable } from '../wire/schema.ts'

/** Reads a whole body: every mistake in it is answered at once. */
export function readBody<T>(body: Body, keys: readonly string[], what: string, read: (part: Part) => T): T {
  const notes = new BodyNotes()
  const part = notes.root(body)
  part.hasOnly(keys, what)
  const asked = read(part)
  refuseMistakes(notes)
  return asked
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
