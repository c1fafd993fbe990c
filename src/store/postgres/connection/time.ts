/** Times on the wire: read as timestamptz text (cheapest for the server), written as milliseconds. */

/** Stand-ins for 'infinity' and '-infinity', which foreign clients may store; both fit a Date and a timestamptz. */
const FAR_FUTURE = 8_640_000_000_000_000
const FAR_PAST = -62_135_596_800_000

const SHAPE = /^(\d+)-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?( BC)?$/

function two(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48
}

/**
 * Milliseconds of `2026-11-15 21:02:28.123456+00`, rounded down; other zones, years and infinities take a slower path.
 */
export function parseTime(text: string): number {
  const length = text.length
  if (length > 29 || length < 22 || text.charCodeAt(4) !== 45 || !text.endsWith('+00')) return parseRare(text)
  const seconds = Date.UTC(
    two(text, 0) * 100 + two(text, 2),
    two(text, 5) - 1,
    two(text, 8),
    two(text, 11),
    two(text, 14),
    two(text, 17),
  )
  if (length === 22) return seconds
  let ms = 0
  for (let at = 20, weight = 100; at < 23; at++, weight /= 10) {
    if (at < length - 3) ms += (text.charCodeAt(at) - 48) * weight
  }
  return seconds + ms
}

function parseRare(text: string): number {
  if (text === 'infinity') return FAR_FUTURE
  if (text === '-infinity') return FAR_PAST
  const part = SHAPE.exec(text)
  if (part === null) throw new Error(`not a timestamp in ISO style: ${text}`)
  const year = part[12] === undefined ? Number(part[1]) : 1 - Number(part[1])
  const date = new Date(0)
  date.setUTCFullYear(year, Number(part[2]) - 1, Number(part[3]))
  date.setUTCHours(
    Number(part[4]),
    Number(part[5]),
    Number(part[6]),
    Number((part[7] ?? '').padEnd(3, '0').slice(0, 3)),
  )
  const zoneMs = (Number(part[9]) * 3600 + Number(part[10] ?? 0) * 60 + Number(part[11] ?? 0)) * 1000
  const utc = date.getTime() - (part[8] === '-' ? -zoneMs : zoneMs)
  return Number.isNaN(utc) ? FAR_FUTURE : utc
}
