import { growthMs } from '../../../net/retry/strategies.ts'
import { BACKOFFS, type Rule } from './program.ts'

/** Doubling is unlimited, so no wait is longer than a week. */
export const LONGEST_DELAY_MS = 7 * 86_400_000

/** How long to wait after the n-th failed try. */
export function delayMs(backoff: Rule['backoff'], delayS: number, n: number): number {
  const ms = growthMs(BACKOFFS[backoff], { initialMs: delayS * 1000, coefficient: 2 }, n)
  return Math.min(Math.round(ms), LONGEST_DELAY_MS)
}

/** The longest time that a rule may make a pipeline wait; a template may give anything. */
export function longestDelayMs({ do: action, backoff, delayS, attempts }: Rule): number {
  if (action !== 'retry' || attempts < 2) return 0
  return typeof delayS === 'string' ? LONGEST_DELAY_MS : delayMs(backoff, delayS, attempts - 1)
}
