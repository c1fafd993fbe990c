import { describe, expect, it } from 'vitest'
import { checked } from '../../../../wire/mistaken.ts'
import { ChangeRequest, SubscribeRequest, settingsOf } from './settings.ts'

const read = (body: { readonly [name: string]: unknown }, allowPrivate = false) =>
  settingsOf(checked(ChangeRequest, body), { allowPrivate })

describe('settings of a webhook', () => {
  it('are those that the body names; null removes a filter and metadata', () => {
    expect(read({})).toEqual({})
    expect(read({ active: false, filter: { queues: ['a'] }, metadata: { owner: 'me' } })).toEqual({
      active: false,
      queues: ['a'],
      jobTypes: null,
      metadata: '{"owner":"me"}',
    })
    expect(read({ filter: null, metadata: null })).toEqual({ queues: null, jobTypes: null, metadata: null })
  })

  it('keep a URL as it is given where that is the same', () => {
    expect(read({ url: 'https://example.com' }).url).toBe('https://example.com')
    expect(read({ url: 'https://EXAMPLE.com/a b' }).url).toBe('https://example.com/a%20b')
  })

  it('take http and private addresses only where these are allowed', () => {
    expect(() => read({ url: 'http://example.com/' })).toThrow('url must be https')
    expect(() => read({ url: 'https://10.0.0.1/' })).toThrow('10.0.0.1 is not a public address')
    expect(() => read({ url: 'https://sub.localhost/' })).toThrow('is not a public address')
    expect(read({ url: 'http://10.0.0.1/' }, true).url).toBe('http://10.0.0.1/')
  })

  it.each([
    [{ url: 'ftp://example.com' }, 'url must be an https URL of at most 2000 characters'],
    [{ url: 'https://user:pass@example.com' }, 'url holds a name or password'],
    [{ events: ['Job Done'] }, 'a type of event such as job.completed'],
    [{ secret: 'another one' }, 'secret is not changed here'],
    [{ event: 'x' }, "'event'"],
    [{ metadata: { text: 'x'.repeat(20_000) } }, 'metadata has'],
  ])('refuse %j', (body, message) => {
    expect(() => read(body)).toThrow(message)
  })

  it('name a URL and events when they are new', () => {
    expect(() => checked(SubscribeRequest, {})).toThrow('url is missing (and 1 more)')
  })
})
