import { describe, expect, it } from 'vitest'
import { PetrelError } from '../../../kernel/errors.ts'
import { connectionOptions } from './connect.ts'
import { namesUnder } from './names.ts'

describe('an address of NATS', () => {
  it.each([
    ['nats://127.0.0.1:4222', { servers: ['127.0.0.1:4222'] }],
    ['127.0.0.1:4222', { servers: ['127.0.0.1:4222'] }],
    ['nats://a, nats://b:4333', { servers: ['a', 'b:4333'] }],
    ['nats://ada:p%40ss:1@host', { servers: ['host'], user: 'ada', pass: 'p@ss:1' }],
    ['nats://secret@host:4222', { servers: ['host:4222'], token: 'secret' }],
    ['tls://host', { servers: ['host'], tls: {} }],
    ['nats://[::1]:4222', { servers: ['[::1]:4222'] }],
  ])('%s', (url, expected) => {
    const { servers, user, pass, token, tls } = connectionOptions({ url })
    const given = { servers, user, pass, token, tls }
    expect(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))).toEqual(expected)
  })

  it.each(['', ' , ', 'http://host', 'nats://', 'nats://a b'])("'%s' is not an address", (url) => {
    expect(() => connectionOptions({ url })).toThrow(PetrelError)
  })

  it('is not printed with its password', () => {
    expect(() => connectionOptions({ url: 'ftp://ada:secret@host' })).toThrow(/^(?!.*secret).*\*\*\*@host/)
  })

  it('keeps reconnecting', () => {
    expect(connectionOptions({ url: 'nats://host' })).toMatchObject({
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
    })
  })
})

describe('names', () => {
  it('have a prefix, and so has the stream', () => {
    expect(namesUnder(null)).toMatchObject({ stream: 'PETREL_SAGA', start: 'workflow.v1.start' })
    const names = namesUnder('acme.test')
    expect(names).toMatchObject({
      stream: 'PETREL_SAGA_acme_test',
      completed: 'acme.test.workflow.v1.events.step-completed',
    })
    expect([names.control('list'), names.under('iam.v1.accounts.save')]).toEqual([
      'acme.test.workflow.v1.list',
      'acme.test.iam.v1.accounts.save',
    ])
  })

  it.each(['', 'a.', '.a', 'a..b', 'a.*', '>', 'a b', '$JS'])("'%s' is not a valid prefix", (prefix) => {
    expect(() => namesUnder(prefix)).toThrow(/not a prefix/)
  })
})
