/** Durations as authors and clients write them, in milliseconds. */

/** 100 years: beyond it no clock is right, and databases run out of dates. */
export const LONGEST_MS = 36_525 * 86_400_000

const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const ISO = /^P(?=[\dT])(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/

/**
 * The formats for people: `500ms`, `30s`, `5m`, `2h`, `1d`, ISO 8601, or a bare number of milliseconds. null: none of
 * these.
 */
export function parseDuration(value: unknown): number | null {
  if (typeof value === 'number') return value >= 0 ? bounded(value) : null
  if (typeof value !== 'string') return null
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(value.trim())
  if (match !== null) return bounded(Math.round(Number(match[1]) * (UNITS[match[2] as string] as number)))
  return parseIsoDuration(value.trim())
}

/** ISO 8601, without years and months: they have no fixed length. */
export function parseIsoDuration(value: unknown): number | null {
  const iso = typeof value === 'string' ? ISO.exec(value) : null
  if (iso === null) return null
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = iso
    .slice(1)
    .map((n) => Number((n ?? '0').replace(',', '.')))
  return bounded(Math.round(((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000))
}

function bounded(ms: number): number | null {
  return ms <= LONGEST_MS ? ms : null
}

/** PT1S, PT5M, PT1H30M, PT0.5S; the largest units first, hours at most. */
export function isoDuration(ms: number): string {
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor((ms % 3_600_000) / 60_000)
  const seconds = (ms % 60_000) / 1000
  const text = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${seconds > 0 ? `${seconds}S` : ''}`
  return `PT${text === '' ? '0S' : text}`
}
