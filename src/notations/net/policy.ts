/** Retries and timeouts in a net file. */

import type { Part } from '../../kernel/reading/part.ts'
import type { Timeout } from '../../net/net.ts'
import type { Retry } from '../../net/retry/retry.ts'
import { BACKOFFS } from '../../net/retry/strategies.ts'

const RETRY_KEYS = [
  'maxAttempts',
  'backoff',
  'initial',
  'coefficient',
  'max',
  'jitter',
  'nonRetryable',
  'retryOn',
  'deadLetter',
]

/** `retry: 3` is short for three executions in all, with the usual backoff. */
export function readRetry(part: Part): Retry | null {
  if (!part.given) return null
  const short = typeof part.value === 'number'
  if (!short) part.hasOnly(RETRY_KEYS, 'a retry policy')
  const attempts = short ? part : part.get('maxAttempts')
  const texts = (name: string): readonly string[] =>
    part
      .get(name)
      .items(name)
      .flatMap((item) => item.text('an error code') ?? [])
  const initialMs = part.get('initial').duration('initial') ?? 1000
  return {
    maxAttempts: attempts.number('maxAttempts (executions in all)', 1) ?? 3,
    backoff: part.get('backoff').choice('backoff', BACKOFFS) ?? 'exponential',
    initialMs,
    coefficient: part.get('coefficient').number('coefficient', 1) ?? 2,
    maxMs: part.get('max').duration('max') ?? Math.max(initialMs, 300_000),
    jitter: part.get('jitter').number('jitter', 0) ?? 0.5,
    nonRetryable: texts('nonRetryable'),
    retryOn: part.has('retryOn') ? texts('retryOn') : null,
    deadLetter: part.get('deadLetter').flag('deadLetter') ?? false,
  }
}

/** `timeout: 30s` applies to each attempt. */
export function readTimeout(part: Part): Timeout | null {
  if (!part.given) return null
  if (!part.isObject) {
    const ms = part.duration('timeout')
    return ms === null ? null : { ms, per: 'attempt' }
  }
  part.hasOnly(['after', 'per'], 'a timeout')
  if (!part.has('after')) part.wrong('a timeout needs a time', 'for example { after: 30s, per: node }')
  const ms = part.get('after').duration('after')
  return ms === null ? null : { ms, per: part.get('per').choice('per', ['attempt', 'node']) ?? 'attempt' }
}
