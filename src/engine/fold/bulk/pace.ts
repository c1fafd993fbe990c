/**
 * The pace of a bulk operation: a rate of 600 per minute is one item every 100 ms. What was missed, because nothing ran, is
 * made up for by at most a second's share, so that no minute sees more than the rate and that share.
 */
import type { OperationRow } from '../../../model/bulk/rows.ts'

export type Paced = Pick<OperationRow, 'rate' | 'paceAt'>

export interface Allowance {
  /** How many items may begin now. */
  readonly count: number
  /** When the next may begin, after `taken` of them. */
  nextAt(taken: number): number
}

export function allowance({ rate, paceAt }: Paced, now: number, most: number): Allowance {
  if (rate === null) return { count: most, nextAt: () => now }
  const interval = 60_000 / rate
  const share = Math.max(1, Math.floor(rate / 60))
  // Later than one interval from now: the clock was set back, or the rate was lower.
  const due = paceAt === null || paceAt > now + Math.ceil(interval) ? now : paceAt
  const begin = Math.max(due, now - (share - 1) * interval)
  const count = begin > now ? 0 : Math.min(Math.floor((now - begin) / interval) + 1, share, most)
  return { count, nextAt: (taken) => Math.ceil(begin + taken * interval) }
}
