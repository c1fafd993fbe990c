/** Times of jobs. */

import { type Moment, parseMoment } from '../../../kernel/moments.ts'
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import { HELD_AT } from '../../../model/rows.ts'

export function readMoment(part: Part, what: string, now: number): Moment | null {
  if (!part.given) return null
  const moment = typeof part.value === 'string' ? parseMoment(part.value, now) : null
  if (moment === null) {
    part.wrong(
      `${what} must be a date and time, not ${kindOf(part.value)}`,
      'RFC 3339 with a time zone, such as 2030-01-31T09:00:00Z, or from now on, such as +PT5M',
    )
  } else if (moment.at >= HELD_AT) {
    part.wrong(`${what} must be before the year 9999, not ${kindOf(part.value)}`)
    return null
  }
  return moment
}

export function timeText(at: number): string {
  return new Date(at).toISOString()
}
