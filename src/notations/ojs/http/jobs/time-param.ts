/** A time in a query string. */
import { type Param, parsed } from '../../../../wire/requests/params.ts'
import { time } from '../../../../wire/schema.ts'

export function timeOf(description: string): Param<number | null> {
  return parsed(description, time(), read, 'is a time such as 2026-02-13T12:00:00Z')
}

function read(given: string): number | null {
  const at = Date.parse(given)
  return Number.isNaN(at) ? null : at
}
