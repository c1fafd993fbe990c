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
