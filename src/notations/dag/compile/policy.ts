/** retryPolicy: how many attempts, the delays between them, and which errors are retried. */

import { parseDuration } from '../../../kernel/duration.ts'
import type { Part } from '../../../kernel/reading/part.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import type { Backoff } from '../../../net/retry/strategies.ts'
import type { Reading } from './reading.ts'
import { CATEGORIES, RETRYABLE } from './workflow.ts'

/** For steps without one: the specification's own example. */
export const DEFAULT_RETRY: Retry = {
  maxAttempts: 4,
  backoff: 'exponential',
  initialMs: 1000,
  coefficient: 2,
  maxMs: 60_000,
  jitter: 0,
  nonRetryable: [],
  retryOn: ['transient', 'external'],
  deadLetter: false,
}

const STRATEGIES = ['constant', 'linear', 'exponential'] as const satisfies readonly Backoff[]
const FIELDS = ['maxRetries', 'backoff', 'initialDelay', 'maxDelay', 'retryOn']

export function readRetry(part: Part, reading: Reading): Retry {
  if (!part.given || !reading.fields(part, FIELDS, 'a retryPolicy')) return DEFAULT_RETRY
  const { backoff, delayMs } = readBackoff(part.get('backoff'), reading)
  const retries = part.get('maxRetries').whole('maxRetries', { least: 0, most: 1_000_000 }) ?? 3
  const initialMs = delayMs ?? part.get('initialDelay').duration('initialDelay') ?? DEFAULT_RETRY.initialMs
  if (delayMs !== null && part.has('initialDelay')) {
    reading.warn(
      part.get('initialDelay').path,
      `backoff already gives the delay; initialDelay is ignored`,
      'write backoff: constant and keep initialDelay',
    )
  }
  return {
    ...DEFAULT_RETRY,
    maxAttempts: retries + 1,
    backoff,
    initialMs,
    maxMs: part.get('maxDelay').duration('maxDelay') ?? Math.max(initialMs, DEFAULT_RETRY.maxMs),
    retryOn: part.has('retryOn') ? readCategories(part.get('retryOn')) : DEFAULT_RETRY.retryOn,
  }
}

/** A strategy, or, as in many files, the delay itself. */
function readBackoff(part: Part, reading: Reading): { readonly backoff: Backoff; readonly delayMs: number | null } {
  const delayMs = parseDuration(part.value)
  if (delayMs === null) return { backoff: part.choice('backoff', STRATEGIES) ?? DEFAULT_RETRY.backoff, delayMs }
  const text = String(part.value)
  reading.warn(
    part.path,
    `backoff names a strategy; '${text}' is taken as a constant delay`,
    `write backoff: constant and initialDelay: ${text}`,
  )
  return { backoff: 'constant', delayMs }
}

function readCategories(part: Part): readonly string[] {
  return part.items('retryOn').flatMap((item) => {
    const category = item.choice('a category', CATEGORIES)
    if (category === null) {
      if (!item.given) item.wrong('retryOn lists categories of errors', `of: ${RETRYABLE.join(', ')}`)
      return []
    }
    if ((RETRYABLE as readonly string[]).includes(category)) return [category]
    item.wrong(`an error of category ${category} is never tried again`, `retryOn: ${RETRYABLE.join(', ')}`)
    return []
  })
}
