/** Values cut in SQL to what a list shows (model/shown.ts). */
import { MAX_SHOWN_CHARACTERS } from '../../kernel/limits.ts'
import { BRIEF_ERROR_BYTES, BRIEF_ERROR_CHARACTERS } from '../../model/shown.ts'

/** The value, or its marker where `isShown` is false. */
export function shownJson(value: string, isShown: string): string {
  const marker = `'{"$omitted":{"bytes":' || octet_length(${value}) || '}}'`
  return `CASE WHEN ${value} IS NULL OR ${isShown} THEN ${value} ELSE ${marker} END`
}

/** A short failure whole, a long one without its details and with the beginning of its message. */
export function shownError(value: string): string {
  const brief = `json_set(${value}, '$.message', substr(${value} ->> '$.message', 1, ${BRIEF_ERROR_CHARACTERS}),
    '$.details', json_object('$omitted', json_object('bytes', octet_length(${value}))))`
  return `iif(octet_length(${value}) <= ${BRIEF_ERROR_BYTES}, ${value}, ${brief})`
}

export const SHOWN_LAST_ERROR = `substr(last_error, 1, ${MAX_SHOWN_CHARACTERS})`
