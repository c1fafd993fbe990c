/** When a failed execution is tried again, if at all. */
import type { Failure } from '../../../net/marking.ts'
import type { Retry } from '../../../net/net.ts'

/**
 * The inbox's own model, for rows that bring no policy: attempt² minutes and up to 10 % on top.
 * 63 s ± 1/21 is the same interval, [60 s, 66 s), in the words of a symmetric jitter.
 */
export const INBOX_RETRY: Retry = {
  maxAttempts: 3,
  backoff: 'polynomial',
  initialMs: 63_000,
  coefficient: 2,
  maxMs: 7 * 24 * 3_600_000,
  jitter: 1 / 21,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
}

/** Delay before the execution that follows failure number `failures` (from 1). */
export function backoffMs(retry: Retry, failures: number, random: () => number): number {
  const base = growth(retry, failures)
  const capped = Math.min(base, retry.maxMs)
  const jittered = capped * (1 - retry.jitter + 2 * retry.jitter * random())
  return Math.max(0, Math.round(Math.min(jittered, retry.maxMs)))
}

function growth(retry: Retry, n: number): number {
  switch (retry.backoff) {
    case 'constant':
      return retry.initialMs
    case 'linear':
      return retry.initialMs * n
    case 'exponential':
      return retry.initialMs * retry.coefficient ** (n - 1)
    case 'polynomial':
      return retry.initialMs * n ** retry.coefficient
  }
}

/** Whether the policy would try this failure again, were there attempts left. One without a category is the worker's own: `agent`. */
export function retryable(retry: Retry, error: Failure): boolean {
  if (error.retryable === false) return false
  const names = [error.code, error.type].filter((n) => n !== undefined)
  if (retry.nonRetryable.some((pattern) => names.some((name) => matches(pattern, name)))) return false
  return retry.retryOn === null || retry.retryOn.includes(error.category ?? 'agent')
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('.*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}
