/** A body with mistakes in it, as one error that names the first and lists them all. */
import { PetrelError } from '../kernel/errors.ts'
import { MAX_LISTED_MISTAKES } from '../kernel/limits.ts'
import { type Mistake, pathText } from '../kernel/reading/mistakes.ts'
import { BodyNotes } from '../kernel/reading/part.ts'
import { noteMistakes } from './check.ts'
import { fits } from './fit.ts'
import { NOTE, type Schema, type Value } from './schema.ts'

export type Body = { readonly [name: string]: unknown }

/** Throws with every mistake in the body. */
export function checked<S extends Schema>(schema: S, body: Body): Value<S> & Body {
  if (fits(schema, body)) return body as Value<S> & Body
  const notes = new BodyNotes()
  noteMistakes(schema, notes.root(body), schema[NOTE]?.what ?? 'the body')
  refuseMistakes(notes)
  return body as Value<S> & Body
}

/**
 * Bodies are read before any change: nothing has changed when this throws. `outOfRange`: mistakes whose answer has a
 * different status, which is used if there are no other mistakes.
 */
export function refuseMistakes(notes: BodyNotes, outOfRange: (mistake: Mistake) => boolean = () => false): void {
  const first = notes.mistakes.find((mistake) => !outOfRange(mistake)) ?? notes.mistakes[0]
  if (first === undefined) return
  const more = notes.mistakes.length - 1
  throw new PetrelError('invalid_request', `${lineOf(first)}${more === 0 ? '' : ` (and ${more} more)`}`, {
    ...(outOfRange(first) ? { out_of_range: true } : {}),
    ...(first.hint === null ? {} : { hint: first.hint }),
    field: pathText(first.path),
    ...(first.path[0] === 'jobs' && typeof first.path[1] === 'number' ? { index: first.path[1] } : {}),
    validation_errors: notes.mistakes
      .slice(0, MAX_LISTED_MISTAKES)
      .map((mistake) => ({ path: pathText(mistake.path), message: mistake.message })),
  })
}

function lineOf(mistake: Mistake): string {
  const path = pathText(mistake.path)
  return path === '' ? mistake.message : `${path}: ${mistake.message}`
}
