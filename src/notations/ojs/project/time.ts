/** Moments on the wire: RFC 3339, or `+` and an ISO 8601 duration, counted from now. */

import { parseIsoDuration } from '../../../kernel/duration.ts'
import { HELD_AT } from '../../../model/rows.ts'
import { kindOf, type Part } from '../../source/reader.ts'

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

export interface Moment {
  readonly at: number
  /** As the client wrote it, so that it reads its own words back; of a relative one, what it came to. */
  readonly text: string
  /** null: named, not counted from now. */
  readonly inMs: number | null
}

export function readMoment(part: Part, what: string, now: number): Moment | null {
  if (!part.given) return null
  const moment = typeof part.value === 'string' ? parseMoment(part.value, now) : null
  if (moment === null) {
    part.wrong(
      `${what} is a date and time, this is ${kindOf(part.value)}`,
      'RFC 3339 with a time zone, such as 2030-01-31T09:00:00Z, or from now on, such as +PT5M',
    )
  } else if (moment.at >= HELD_AT) {
    part.wrong(`${what} is before the year 9999, this is ${kindOf(part.value)}`)
    return null
  }
  return moment
}

export function parseMoment(text: string, now: number): Moment | null {
  if (isRelative(text)) {
    const ms = parseIsoDuration(text.slice(1))
    return ms === null ? null : { at: now + ms, text: timeText(now + ms), inMs: ms }
  }
  const date = RFC_3339.exec(text)
  const at = date === null ? Number.NaN : Date.parse(text)
  // the parser lets 30 February pass as 1 March
  if (date === null || Number.isNaN(at) || Number(date[3]) > daysIn(Number(date[1]), Number(date[2]))) return null
  return { at, text, inMs: null }
}

/** Only these need a clock to be read. */
export function isRelative(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('+')
}

export function timeText(at: number): string {
  return new Date(at).toISOString()
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}
