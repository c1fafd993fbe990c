/** Retry policies: which failures are tried again, how often, and after what delay. */

import type { Failure } from '../marking.ts'
import { BACKOFFS, type Backoff, type Growth, growthMs } from './strategies.ts'

export interface Retry extends Growth {
  /** All executions together, not retries. */
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly maxMs: number
  /** Each delay is drawn from delay × [1 − jitter, 1 + jitter). 0: exact. */
  readonly jitter: number
  /** Error codes never retried; `prefix.*` matches a prefix. */
  readonly nonRetryable: readonly string[]
  /** When given, only these error categories are retried. */
  readonly retryOn: readonly string[] | null
  /** true: an exhausted run is kept in the dead-letter list. */
  readonly deadLetter: boolean
}

/** Delay before the execution that follows failure number `failures` (from 1). */
export function backoffMs(retry: Retry, failures: number, random: () => number): number {
  const capped = Math.min(growthMs(retry.backoff, retry, failures), retry.maxMs)
  const jittered = capped * (1 - retry.jitter + 2 * retry.jitter * random())
  return Math.max(0, Math.round(Math.min(jittered, retry.maxMs)))
}

/**
 * Whether the policy tries such a failure again while attempts are left. A failure without a category is the worker's
 * own: `agent`.
 */
export function retryable(retry: Retry, error: Failure): boolean {
  if (error.retryable === false) return false
  const names = [error.code, error.type].filter((n) => n !== undefined)
  if (retry.nonRetryable.some((pattern) => names.some((name) => matches(pattern, name)))) return false
  return retry.retryOn === null || retry.retryOn.includes(error.category ?? 'agent')
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('.*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}

/** The parameters of a policy that are not valid. */
export function problemsOfRetry(retry: Retry): readonly { readonly field: keyof Retry; readonly rule: string }[] {
  const { maxAttempts, backoff, initialMs, maxMs, coefficient, jitter } = retry
  const rules: readonly (readonly [keyof Retry, boolean, string])[] = [
    [
      'maxAttempts',
      Number.isInteger(maxAttempts) && maxAttempts >= 1,
      'must be a whole number of at least 1 (executions in all)',
    ],
    ['backoff', BACKOFFS.includes(backoff), `must be one of ${BACKOFFS.join(', ')}`],
    ['initialMs', initialMs >= 0, 'must be 0 or more'],
    ['maxMs', maxMs >= 0, 'must be 0 or more'],
    ['coefficient', coefficient >= 1, 'must be at least 1'],
    ['jitter', jitter >= 0 && jitter <= 1, 'must be between 0 and 1'],
  ]
  return rules.flatMap(([field, holds, rule]) => (holds ? [] : { field, rule }))
}
