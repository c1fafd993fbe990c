/** Retry policies: read from definition files and from the wire, and shown. */

import { isoDuration, LONGEST_MS } from '../../../kernel/duration.ts'
import type { Mistake } from '../../../kernel/reading/mistakes.ts'
import type { Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import type { Backoff } from '../../../net/retry/strategies.ts'
import { DEFAULT_RETRY } from './tree.ts'

/** The first name is the preferred one; existing clients also send the others. */
const NAMES = {
  attempts: ['max_attempts', 'maxAttempts'],
  initial: ['initial_interval', 'initialInterval'],
  initialMs: ['initial_interval_ms', 'initialIntervalMs', 'base_delay_ms', 'baseDelayMs'],
  max: ['max_interval', 'maxInterval'],
  maxMs: ['max_interval_ms', 'maxIntervalMs', 'max_delay_ms', 'maxDelayMs'],
  coefficient: ['backoff_coefficient', 'backoffCoefficient'],
  strategy: ['backoff_strategy', 'backoffStrategy', 'backoff'],
  jitter: ['jitter'],
  never: ['non_retryable_errors', 'nonRetryableErrors'],
  exhausted: ['on_exhaustion', 'onExhaustion'],
} as const

/** By their names in the notation; the first name of each strategy is the one that is shown. */
const STRATEGIES = {
  none: 'constant',
  constant: 'constant',
  linear: 'linear',
  exponential: 'exponential',
  polynomial: 'polynomial',
} as const satisfies Readonly<Record<string, Backoff>>

const MOST_ATTEMPTS = 1_000_000

/**
 * file: every key must be known, durations are written by hand (30s), a number alone is the number of attempts. wire:
 * unknown keys are extensions, durations are ISO 8601 and longer than 0.
 */
export type Writing = 'file' | 'wire'

/** The strategies that the notation offers, by the names that are shown. */
export const SHOWN_STRATEGIES = [...new Set(Object.values(STRATEGIES))].map(nameOf)

/** Only the given fields; DEFAULT_RETRY has the others. */
export function readRetry(part: Part, writing: Writing): Partial<Retry> {
  if (writing === 'file' && typeof part.value === 'number') return attemptsOf(part)
  if (writing === 'file' ? !part.hasOnly(Object.values(NAMES).flat(), 'a retry policy') : !isPolicy(part)) return {}
  const get = (names: readonly string[]): Part => part.get(names.find((name) => part.has(name)) ?? (names[0] as string))
  const initial = interval(get(NAMES.initial), get(NAMES.initialMs), writing)
  const max = interval(get(NAMES.max), get(NAMES.maxMs), writing)
  if (initial !== null && max !== null && max < initial) {
    get(NAMES.max).wrong(`max_interval must be at least initial_interval (${initial} ms), not ${max} ms`)
  }
  const coefficient = get(NAMES.coefficient).number('backoff_coefficient', 1)
  const strategy = get(NAMES.strategy).choice(
    'backoff_strategy',
    Object.keys(STRATEGIES) as (keyof typeof STRATEGIES)[],
  )
  const jitter = get(NAMES.jitter).flag('jitter')
  const exhausted = get(NAMES.exhausted).choice('on_exhaustion', ['discard', 'dead_letter'])
  const never = get(NAMES.never)
  return {
    ...attemptsOf(get(NAMES.attempts)),
    ...(initial === null ? {} : { initialMs: initial }),
    ...maxOf(initial, max),
    ...(coefficient === null ? {} : { coefficient }),
    ...(strategy === null ? {} : { backoff: STRATEGIES[strategy] }),
    ...(jitter === null ? {} : { jitter: jitter ? DEFAULT_RETRY.jitter : 0 }),
    ...(exhausted === null ? {} : { deadLetter: exhausted === 'dead_letter' }),
    ...(never.given
      ? { nonRetryable: never.items('non_retryable_errors').flatMap((item) => item.text('an error type') ?? []) }
      : {}),
  }
}

/** A mistake in a policy is answered with another status than one in the rest of the body. */
export function isRetryMistake(mistake: Mistake): boolean {
  return mistake.path.includes('retry') || mistake.path.includes('retry_policy')
}

export function retryWire(retry: Retry): { readonly [key: string]: Json } {
  return {
    max_attempts: retry.maxAttempts,
    initial_interval: isoDuration(retry.initialMs),
    backoff_coefficient: retry.coefficient,
    backoff_strategy: nameOf(retry.backoff),
    max_interval: isoDuration(retry.maxMs),
    jitter: retry.jitter > 0,
    non_retryable_errors: [...retry.nonRetryable],
    on_exhaustion: retry.deadLetter ? 'dead_letter' : 'discard',
  }
}

function nameOf(backoff: Backoff): string {
  return Object.entries(STRATEGIES).find(([, strategy]) => strategy === backoff)?.[0] ?? backoff
}

function isPolicy(part: Part): boolean {
  if (!part.isObject) part.wrong('retry is an object', 'such as { "max_attempts": 5, "initial_interval": "PT1S" }')
  return part.isObject
}

/** 0 and 1 both mean: one execution, no retry. */
function attemptsOf(part: Part): Partial<Retry> {
  const attempts = part.whole('max_attempts (executions in all)', { least: 0, most: MOST_ATTEMPTS })
  return attempts === null ? {} : { maxAttempts: Math.max(1, attempts) }
}

function interval(text: Part, ms: Part, writing: Writing): number | null {
  const what = text.path.at(-1) as string
  const given = writing === 'file' ? text.duration(what) : text.isoDuration(what)
  return given ?? ms.number(ms.path.at(-1) as string, writing === 'file' ? 0 : 1, LONGEST_MS)
}

/** A first interval that is longer than the default maximum raises the maximum, which the client did not give. */
function maxOf(initial: number | null, max: number | null): Partial<Retry> {
  if (max !== null) return { maxMs: max }
  return initial !== null && initial > DEFAULT_RETRY.maxMs ? { maxMs: initial } : {}
}
