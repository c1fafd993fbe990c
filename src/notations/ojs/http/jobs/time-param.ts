/** A time in a query string. */
import { type Param, parsed } from '../../../../wire/requests/params.ts'
import { time } from '../../../../wire/schema.ts'

/** After "is". */
export const TIME_EXPECTED = 'a time such as 2026-02-13T12:00:00Z'

export function timeOf(description: string): Param<number | null> {
  return parsed(description, time(), (given) => (isTime(given) ? Date.parse(given) : null), TIME_EXPECTED)
}

export function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text))
}
