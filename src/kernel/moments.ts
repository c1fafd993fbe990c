/** Moments as clients write them: RFC 3339, or `+` and an ISO 8601 duration, counted from now. */
import { parseIsoDuration } from './duration.ts'

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

export interface Moment {
  readonly at: number
  /** As the client wrote it, so that it is returned unchanged; for a relative one, the resulting moment. */
  readonly text: string
  /** null: named, not counted from now. */
  readonly inMs: number | null
}

export function parseMoment(text: string, now: number): Moment | null {
  if (isRelative(text)) {
    const ms = parseIsoDuration(text.slice(1))
    return ms === null ? null : { at: now + ms, text: new Date(now + ms).toISOString(), inMs: ms }
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

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}
