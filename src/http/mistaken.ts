/** A body with mistakes in it, as one answer that names the first and lists them all. */

import { MAX_LISTED_MISTAKES } from '../kernel/limits.ts'
import { isRetryMistake } from '../notations/ojs/compile/retry.ts'
import { type Mistake, pathText } from '../notations/source/mistakes.ts'
import type { BodyNotes } from '../notations/source/reader.ts'
import { RequestError } from './request-error.ts'

/** Nothing has been changed when this throws: bodies are read before anything is done. */
export function refuseMistakes(notes: BodyNotes): void {
  // A bad retry policy has a status of its own, which it gets if nothing else is wrong.
  const first = notes.mistakes.find((mistake) => !isRetryMistake(mistake)) ?? notes.mistakes[0]
  if (first === undefined) return
  const more = notes.mistakes.length - 1
  throw new RequestError('invalid_request', `${lineOf(first)}${more === 0 ? '' : ` (and ${more} more)`}`, {
    ...(isRetryMistake(first) ? { status: 422, type: 'validation_error' } : {}),
    ...(first.hint === null ? {} : { hint: first.hint }),
    details: {
      field: pathText(first.path),
      ...(first.path[0] === 'jobs' && typeof first.path[1] === 'number' ? { index: first.path[1] } : {}),
      validation_errors: notes.mistakes
        .slice(0, MAX_LISTED_MISTAKES)
        .map((mistake) => ({ path: pathText(mistake.path), message: mistake.message })),
    },
  })
}

function lineOf(mistake: Mistake): string {
  const path = pathText(mistake.path)
  return path === '' ? mistake.message : `${path}: ${mistake.message}`
}
