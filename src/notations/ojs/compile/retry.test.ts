import { describe, expect, it } from 'vitest'
import { pathText } from '../../../kernel/reading/mistakes.ts'
import { BodyNotes, Part } from '../../../kernel/reading/part.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { isRetryMistake, readRetry, retryWire, type Writing } from './retry.ts'
import { DEFAULT_RETRY, retryOf } from './tree.ts'

function read(value: unknown, writing: Writing = 'wire'): { policy: Partial<Retry>; mistakes: string[] } {
  const notes = new BodyNotes()
  const policy = readRetry(new Part(notes, value, ['options', 'retry']), writing)
  return { policy, mistakes: notes.mistakes.map((m) => `${pathText(m.path)}: ${m.message}`) }
}

describe('a retry policy of the wire', () => {
  it('returns only the given fields; the rest is the default', () => {
    expect(read({ max_attempts: 5 })).toEqual({ policy: { maxAttempts: 5 }, mistakes: [] })
    expect(retryOf(read({ max_attempts: 5 }).policy)).toEqual({ ...DEFAULT_RETRY, maxAttempts: 5 })
  })

  it.each([
    ['ISO durations', { initial_interval: 'PT2S', max_interval: 'PT1M' }],
    ['milliseconds', { initial_interval_ms: 2000, max_interval_ms: 60_000 }],
    ['base_delay_ms', { base_delay_ms: 2000, max_delay_ms: 60_000 }],
    ['camel case', { initialInterval: 'PT2S', maxInterval: 'PT1M' }],
    ['camel case milliseconds', { initialIntervalMs: 2000, maxIntervalMs: 60_000 }],
  ])('accepts intervals as %s', (_, body) => {
    expect(read(body)).toEqual({ policy: { initialMs: 2000, maxMs: 60_000 }, mistakes: [] })
  })

  it('accepts every field under its camel case name too', () => {
    const body = {
      maxAttempts: 2,
      backoffCoefficient: 3,
      backoffStrategy: 'linear',
      jitter: false,
      nonRetryableErrors: ['Auth.*'],
      onExhaustion: 'dead_letter',
    }
    expect(read(body).policy).toEqual({
      maxAttempts: 2,
      coefficient: 3,
      backoff: 'linear',
      jitter: 0,
      nonRetryable: ['Auth.*'],
      deadLetter: true,
    })
  })

  it.each([
    ['none', 'constant'],
    ['linear', 'linear'],
    ['exponential', 'exponential'],
    ['polynomial', 'polynomial'],
  ])('maps the strategy %s', (name, backoff) => {
    expect(read({ backoff: name }).policy).toEqual({ backoff })
  })

  it('treats 0 attempts as one execution', () => {
    expect(read({ max_attempts: 0 }).policy).toEqual({ maxAttempts: 1 })
  })

  it('a long first interval raises the default cap', () => {
    expect(read({ initial_interval: 'PT10M' }).policy).toEqual({ initialMs: 600_000, maxMs: 600_000 })
  })

  it.each([
    [{ max_attempts: -1 }, 'max_attempts'],
    [{ max_attempts: 1.5 }, 'max_attempts'],
    [{ max_attempts: '3' }, 'max_attempts'],
    [{ backoff_coefficient: 0.5 }, 'backoff_coefficient'],
    [{ initial_interval: 'PT0S' }, 'initial_interval'],
    [{ initial_interval: '1s' }, 'initial_interval'],
    [{ initial_interval: 1000 }, 'initial_interval'],
    [{ initial_interval_ms: 0 }, 'initial_interval_ms'],
    [{ max_interval: 'soon' }, 'max_interval'],
    [{ initial_interval: 'PT10S', max_interval: 'PT5S' }, 'max_interval'],
    [{ jitter: 'yes' }, 'jitter'],
    [{ backoff_strategy: 'random' }, 'backoff_strategy'],
    [{ on_exhaustion: 'explode' }, 'on_exhaustion'],
    [{ non_retryable_errors: 'all' }, 'non_retryable_errors'],
    [{ non_retryable_errors: [1] }, 'non_retryable_errors'],
    [3, 'retry'],
    [[], 'retry'],
  ])('refuses %j and names %s', (body, name) => {
    const notes = new BodyNotes()
    readRetry(new Part(notes, body, ['options', 'retry']), 'wire')
    expect(notes.mistakes).toHaveLength(1)
    expect(`${pathText(notes.mistakes[0]?.path ?? [])}: ${notes.mistakes[0]?.message}`).toContain(name)
    expect(notes.mistakes.every(isRetryMistake)).toBe(true)
  })

  it('keeps extensions', () => {
    expect(read({ max_attempts: 2, x_budget: 7 })).toEqual({ policy: { maxAttempts: 2 }, mistakes: [] })
  })

  it('is shown completely and parsed back as it was', () => {
    const policy = retryOf(read({ max_attempts: 7, initial_interval: 'PT1.5S', backoff: 'none', jitter: false }).policy)
    expect(retryWire(policy)).toEqual({
      max_attempts: 7,
      initial_interval: 'PT1.5S',
      backoff_coefficient: 2,
      backoff_strategy: 'none',
      max_interval: 'PT5M',
      jitter: false,
      non_retryable_errors: [],
      on_exhaustion: 'discard',
    })
    expect(retryOf(read(retryWire(policy)).policy)).toEqual(policy)
  })
})

describe('a retry policy of a file', () => {
  it('may be a bare number of attempts', () => {
    expect(read(5, 'file')).toEqual({ policy: { maxAttempts: 5 }, mistakes: [] })
  })

  it('accepts durations in common notations', () => {
    expect(read({ initial_interval: '2s', max_interval: 60_000 }, 'file').policy).toEqual({
      initialMs: 2000,
      maxMs: 60_000,
    })
  })

  it('refuses other keys', () => {
    expect(read({ max_atempts: 2 }, 'file').mistakes).toEqual([
      "options.retry.max_atempts: a retry policy has no key 'max_atempts'",
    ])
  })
})
