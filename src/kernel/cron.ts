/** When a schedule fires next. Time zones and daylight saving are handled by croner. */
import { Cron } from 'croner'
import { PetrelError } from './errors.ts'

const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `@every 30m`, `@every 1h30m` besides cron's own words; an interval is counted from `after`. */
export function nextAfter(name: string, expression: string, timezone: string, after: number): number | null {
  const interval = intervalOf(expression)
  if (interval !== null) return after + interval
  try {
    const cron = new Cron(expression, { timezone, paused: true })
    let next = cron.nextRun(new Date(after))
    // If the clocks jump over a time, croner returns the time after the jump, which the expression does not name.
    while (next !== null && !cron.match(next)) next = cron.nextRun(next)
    return next?.getTime() ?? null
  } catch (error) {
    const problem = `${(error as Error).message} (five fields as in '0 9 * * mon', an IANA time zone)`
    const wrong = isExpression(expression) ? 'timezone' : 'expression'
    throw new PetrelError('invalid_request', `schedule '${name}': ${problem}`, { problem, wrong })
  }
}

/** The next fires of a schedule that is due at `first`, or else next after `now`; fewer than `count` if it has no more. */
export function timesOf(
  { name, expression, timezone }: { readonly name: string; readonly expression: string; readonly timezone: string },
  { first, now, count }: { readonly first: number | null; readonly now: number; readonly count: number },
): readonly number[] {
  const times: number[] = []
  let next = first ?? nextAfter(name, expression, timezone, now)
  while (next !== null && times.length < count) {
    times.push(next)
    // All times that passed before a late one fires are one fire.
    next = nextAfter(name, expression, timezone, Math.max(next, now))
  }
  return times
}

/** `2026-03-29T03:30:00.000+02:00`: the time on the clocks of a zone. */
export function localTime(at: number, timezone: string): string {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' })
  const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [sign, hours, minutes, seconds] = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(name)?.slice(1) ?? []
  if (sign === undefined) return `${new Date(at).toISOString().slice(0, -1)}+00:00`
  const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds ?? 0)) * 1000
  const local = new Date(at + (sign === '-' ? -offset : offset)).toISOString()
  return `${local.slice(0, -1)}${sign}${hours}:${minutes}`
}

function isExpression(text: string): boolean {
  try {
    new Cron(text, { paused: true })
    return true
  } catch {
    return false
  }
}

function intervalOf(expression: string): number | null {
  const every = /^@every ((?:\d+(?:ms|s|m|h|d))+)$/.exec(expression.trim())
  if (every === null) return null
  const parts = (every[1] as string).matchAll(/(\d+)(ms|s|m|h|d)/g)
  const ms = [...parts].reduce((sum, [, n, unit]) => sum + Number(n) * (UNITS[unit as string] as number), 0)
  return ms > 0 ? ms : null
}
