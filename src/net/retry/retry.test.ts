import { describe, expect, it } from 'vitest'
import { backoffMs, problemsOfRetry, type Retry, retryable } from './retry.ts'
import { BACKOFFS, growthMs } from './strategies.ts'

const POLICY: Retry = {
  maxAttempts: 3,
  backoff: 'exponential',
  initialMs: 1000,
  coefficient: 2,
  maxMs: 60_000,
  jitter: 0,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
}

describe('a backoff strategy', () => {
  const delays = {
    constant: [100, 100, 100],
    linear: [100, 200, 300],
    exponential: [100, 300, 900],
    polynomial: [100, 800, 2700],
  }
  it.each(BACKOFFS)('%s', (backoff) => {
    const growth = { initialMs: 100, coefficient: 3 }
    expect([1, 2, 3].map((n) => growthMs(backoff, growth, n))).toEqual(delays[backoff])
  })
})

describe('the delay before the next execution', () => {
  it('is limited, also where the strategy grows beyond all numbers', () => {
    expect(backoffMs({ ...POLICY, maxMs: 3000 }, 5, () => 0.5)).toBe(3000)
    expect(backoffMs(POLICY, 5000, () => 0.5)).toBe(60_000)
  })

  it.each(BACKOFFS)('stays 0 if the first one is, after any number of failures: %s', (backoff) => {
    const none = { ...POLICY, backoff, initialMs: 0, coefficient: 1000 }
    expect([1, 1025, 5000].map((n) => backoffMs(none, n, () => 0.5))).toEqual([0, 0, 0])
  })

  it('is drawn around the computed delay, and the limit holds with jitter too', () => {
    const around = { ...POLICY, jitter: 0.5 }
    expect([0, 0.5, 1].map((random) => backoffMs(around, 1, () => random))).toEqual([500, 1000, 1500])
    expect(backoffMs({ ...around, maxMs: 1200 }, 1, () => 1)).toBe(1200)
  })
})

describe('whether a failure is tried again', () => {
  const failure = { code: 'payment.declined', message: '' }

  it('the error itself can refuse', () => {
    expect(retryable(POLICY, failure)).toBe(true)
    expect(retryable(POLICY, { ...failure, retryable: false })).toBe(false)
  })

  it('codes and types can be excluded, by name or by prefix', () => {
    expect(retryable({ ...POLICY, nonRetryable: ['payment.declined'] }, failure)).toBe(false)
    expect(retryable({ ...POLICY, nonRetryable: ['payment.*'] }, failure)).toBe(false)
    expect(retryable({ ...POLICY, nonRetryable: ['pay'] }, failure)).toBe(true)
    expect(retryable({ ...POLICY, nonRetryable: ['Declined'] }, { ...failure, type: 'Declined' })).toBe(false)
  })

  it('categories can be selected; a failure without one counts as agent', () => {
    const only = (retryOn: readonly string[]): Retry => ({ ...POLICY, retryOn })
    expect(retryable(only(['transient']), { ...failure, category: 'transient' })).toBe(true)
    expect(retryable(only(['transient']), failure)).toBe(false)
    expect(retryable(only(['agent']), failure)).toBe(true)
  })
})

describe('the parameters of a policy', () => {
  it('are reported by field', () => {
    expect(problemsOfRetry(POLICY)).toEqual([])
    const wrong = {
      ...POLICY,
      maxAttempts: 0.5,
      backoff: 'fast' as never,
      maxMs: Number.NaN,
      jitter: 2,
      coefficient: 0,
    }
    expect(problemsOfRetry(wrong).map(({ field }) => field)).toEqual([
      'maxAttempts',
      'backoff',
      'maxMs',
      'coefficient',
      'jitter',
    ])
  })
})
