import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Cancelled, Failed, failureOf, Retryable, Shutdown, stoppedFailure, Terminal, TimedOut } from './errors.ts'

describe('an exception of a handler, as it is recorded', () => {
  it('an Error: its code, message, name and stack', () => {
    const error = Object.assign(new TypeError('no such card'), { code: 'card_declined', category: 'payment' })
    const failure = failureOf(error)
    expect(failure).toMatchObject({
      code: 'card_declined',
      message: 'no such card',
      type: 'TypeError',
      category: 'payment',
    })
    expect(failure.details).toMatchObject({ stack: expect.stringContaining('errors.test.ts') })
    expect(failure).not.toHaveProperty('retryable')
  })

  it('an Error without a usable code has code handler_error', () => {
    expect(failureOf(new Error('x')).code).toBe('handler_error')
    expect(failureOf(Object.assign(new Error('x'), { code: 11 })).code).toBe('handler_error')
    expect(failureOf(new Error('')).message).toBe('Error without a message')
  })

  it('a failure with all its parts is recorded as it is, except for text that no database stores', () => {
    const failure = {
      code: 'http',
      message: 'it said no',
      category: 'external',
      retryable: true,
      details: { status: 503 },
    }
    expect(failureOf(new Failed(failure))).toEqual(failure)
    expect(failureOf(new Failed({ code: 'x', message: 'm' }))).toEqual({ code: 'x', message: 'm' })
    const wrong = { code: 'x', message: 'a\0b', details: { text: '\ud800' } }
    expect(failureOf(new Failed(wrong))).toMatchObject({
      message: 'a\ufffdb',
      details: { unstorable: expect.stringContaining('surrogate') },
    })
  })

  it('an Error of another realm is an Error', () => {
    expect(failureOf(runInNewContext('new RangeError("far away")'))).toMatchObject({
      message: 'far away',
      type: 'RangeError',
    })
  })

  it.each([
    ['boom', 'handler threw a string: boom', 'string'],
    [undefined, 'handler threw undefined', 'undefined'],
    [null, 'handler threw null', 'null'],
    [42, 'handler threw a number: 42', 'number'],
    [{ reason: 'x' }, 'handler threw an object: {"reason":"x"}', 'object'],
    [['a'], 'handler threw an array: ["a"]', 'array'],
    [() => 1, 'handler threw a function: () => 1', 'function'],
    [10n, 'handler threw a bigint: 10', 'bigint'],
  ])('%s', (thrown, message, type) => {
    expect(failureOf(thrown)).toEqual({ code: 'handler_error', message, type })
  })

  it('classes determine what happens to the run', () => {
    expect(failureOf(new Terminal('bad card', { code: 'card' }))).toMatchObject({ code: 'card', retryable: false })
    expect(failureOf(new Cancelled())).toMatchObject({ code: 'cancelled', retryable: false })
    const later = failureOf(new Retryable('busy', { delayMs: 5_000, details: { host: 'a' } }))
    expect(later).toMatchObject({ retryable: true, details: { retry_delay_ms: 5_000, host: 'a' } })
  })

  it('details that cannot be stored are replaced by their description', () => {
    const failure = failureOf(new Terminal('x', { details: { f: () => 1 } as never }))
    expect(failure.details).toMatchObject({ unstorable: expect.stringContaining('$.f is a function') })
  })

  it('never throws, and returns text that any store accepts', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
      },
    )
    expect(failureOf(hostile).message).toContain('handler threw')
    expect(failureOf(new Error('a\0b')).message).toBe('a\ufffdb')
    fc.assert(fc.property(fc.anything(), (thrown) => void JSON.stringify(failureOf(thrown))))
  })
})

describe('a handler that ended because it was asked to stop', () => {
  it('is recorded under the reason, with its exception', () => {
    const reason = new TimedOut('too long')
    expect(stoppedFailure(reason, reason)).toEqual({
      code: 'timeout',
      message: 'too long',
      type: 'TimedOut',
      category: 'timeout',
    })
    expect(stoppedFailure(new Shutdown(), null)).toMatchObject({ code: 'shutdown', category: 'transient' })
    expect(failureOf({ code: 'pii', category: 'governance' })).toMatchObject({ code: 'pii', category: 'governance' })
    const aborted = stoppedFailure(new Cancelled('stop'), new Error('socket closed'))
    expect(aborted).toMatchObject({ code: 'cancelled', retryable: false })
    expect(aborted.message).toBe('stop; the handler ended with: socket closed')
  })
})
