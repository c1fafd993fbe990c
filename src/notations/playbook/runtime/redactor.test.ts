import { describe, expect, it } from 'vitest'
import { Redactor } from './redactor.ts'

const SECRET = 'p/w "1"+ü&x'

describe('texts', () => {
  const redactor = new Redactor([SECRET])

  it.each([
    ['verbatim', SECRET],
    ['within JSON', JSON.stringify({ a: SECRET })],
    ['within JSON within JSON', JSON.stringify(JSON.stringify({ a: SECRET }))],
    ['in a URL', `https://h/?a=${encodeURIComponent(SECRET)}`],
    ['in a URL that was parsed', new URL(`https://h/?a=${SECRET}`).href],
    ['in the path of a URL that was parsed', new URL(`https://h/${SECRET}`).href],
    ['in a URL, small escapes', encodeURIComponent(SECRET).toLowerCase().replaceAll('%c3%bc', '%c3%bc')],
    ['in a form', new URLSearchParams({ a: SECRET }).toString().replace('%22', '%22')],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
    ['in Basic, after a name', Buffer.from(`u:${SECRET}`).toString('base64')],
    ['in Basic, after a longer one', Buffer.from(`ab:${SECRET}:more`).toString('base64')],
    ['in Basic, after a name of three', Buffer.from(`abc:${SECRET}!`).toString('base64')],
  ])('%s', (_, text) => {
    const clean = redactor.text(`before ${text} after`)
    expect(clean).toContain('***')
    expect(clean.startsWith('before ')).toBe(true)
    expect(clean.endsWith(' after')).toBe(true)
    for (const word of ['p/w', 'p%2F', Buffer.from(SECRET).toString('base64').slice(3, 9)])
      expect(clean).not.toContain(word)
  })

  it('the longest first: no rest of a secret remains', () => {
    expect(new Redactor(['abcd', 'abcdefgh']).text('abcdefgh abcd')).toBe('*** ***')
  })

  it('each line of a multi-line secret', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END KEY-----'
    expect(new Redactor([key]).text(`line: MIIEvQIBADAN`)).toBe('line: ***')
    expect(new Redactor([key]).text(JSON.stringify(key))).toBe('"***"')
  })

  it('the rest of one where a long text was truncated: at its end, at its beginning, not in its middle', () => {
    const long = 'x'.repeat(200)
    const secret = 's3cr3t-and-long-s3cr3t-enough'
    const cutting = new Redactor([secret])
    for (const size of [6, 12, 20, 28]) {
      expect(cutting.text(long + secret.slice(0, size))).toBe(`${long}***`)
      expect(cutting.text(secret.slice(-size) + long)).toBe(`***${long}`)
      expect(cutting.json({ a: [long + secret.slice(0, size)] })).toEqual({ a: [`${long}***`] })
      expect(cutting.json({ a: [secret.slice(-size) + long] })).toEqual({ a: [`***${long}`] })
    }
    const middle = `${long}${secret.slice(0, 12)}${long}`
    expect(cutting.text(middle)).toBe(middle)
    expect(cutting.text('only s3cr3t-and')).toBe('only s3cr3t-and')
  })

  it('one that was added later', () => {
    const growing = new Redactor(['first-secret'])
    growing.hide('second-secret')
    expect(growing.text('first-secret second-secret')).toBe('*** ***')
  })

  it('texts of three characters and fewer are not secrets', () => {
    expect(new Redactor(['abc', '']).text('abc')).toBe('abc')
  })
})

describe('values', () => {
  const redactor = new Redactor(['s3cret-token', '12345678', '4321'])

  it('in texts and keys, at any depth; other values keep their type', () => {
    const value = { a: ['x s3cret-token y', 1, null, true], 's3cret-token': { deep: 's3cret-token' }, n: 0.5 }
    expect(redactor.json(value)).toEqual({ a: ['x *** y', 1, null, true], '***': { deep: '***' }, n: 0.5 })
  })

  it('two keys that become one keep both values', () => {
    const clean = new Redactor(['aaaa', 'bbbb']).json({ aaaa: 1, bbbb: 2 })
    expect(Object.values(clean)).toEqual([1, 2])
  })

  it('a number that is equal to a secret; not one that is a number of four digits', () => {
    expect(redactor.json([12345678, 123456789, 4321])).toEqual(['***', 123456789, 4321])
    expect(redactor.json(12345678 as number)).toBe('***')
  })

  it('a value without secrets is returned as it is', () => {
    const value = { a: ['nothing'] }
    expect(redactor.json(value)).toBe(value)
    expect(new Redactor([]).json(value)).toBe(value)
  })

  it('keys named __proto__ stay data', () => {
    const value = JSON.parse('{"__proto__":{"x":"s3cret-token"}}')
    expect(JSON.stringify(redactor.json(value))).toBe('{"__proto__":{"x":"***"}}')
  })
})

describe('logs', () => {
  it('message, context, errors with their stack and fields', () => {
    const lines: unknown[] = []
    const sink = (context: object, message: string) => lines.push(context, message)
    const logger = new Redactor(['s3cret-token']).logger({ debug: sink, info: sink, warn: sink, error: sink })
    const err = Object.assign(new Error('bad s3cret-token'), {
      url: 'http://h/s3cret-token',
      deep: { a: ['s3cret-token'] },
    })
    logger.error({ err, n: 1 }, 'failed with s3cret-token')
    expect(JSON.stringify(lines)).not.toContain('s3cret')
    expect(lines).toMatchObject([
      { err: { type: 'Error', message: 'bad ***', url: 'http://h/***' }, n: 1 },
      'failed with ***',
    ])
    const later = new Redactor([])
    const quiet = later.logger({ debug: sink, info: sink, warn: sink, error: sink })
    later.hide('known-afterwards')
    quiet.info({}, 'has known-afterwards')
    expect(lines.at(-1)).toBe('has ***')
    const loop: Record<string, unknown> = {}
    loop['self'] = loop
    expect(() => logger.info(loop, 'round')).not.toThrow()
  })
})

describe('cost', () => {
  const secrets = Array.from({ length: 20 }, (_, i) => `secret-number-${i}-${'x'.repeat(20)}`)
  const rows = (text: string) =>
    Array.from({ length: 10_000 }, (_, id) => ({ id, name: `row ${id}`, text: `${text} ${'y'.repeat(60)}` }))
  const took = (act: () => unknown) => {
    const times = Array.from({ length: 5 }, () => {
      const began = performance.now()
      act()
      return performance.now() - began
    })
    return Math.min(...times)
  }

  it('a result of 1 MB without any of 20 secrets: a few copies of its text', () => {
    const redactor = new Redactor(secrets)
    const value = rows('nothing')
    expect(JSON.stringify(value).length).toBeGreaterThan(1_000_000)
    const copying = took(() => JSON.parse(JSON.stringify(value)))
    // About 20 copies on an idle machine: 200 forms are searched, each at the speed of memory.
    expect(took(() => redactor.json(value))).toBeLessThan(Math.max(100 * copying, 200))
  })

  it('a result of 1 MB full of them', () => {
    const redactor = new Redactor(secrets)
    const value = rows(secrets[7]!)
    let clean: unknown
    const ms = took(() => {
      clean = redactor.json(value)
    })
    expect(JSON.stringify(clean)).not.toContain('secret-number')
    expect(ms).toBeLessThan(1_000)
  })

  it('one text of 1 MB', () => {
    const redactor = new Redactor(secrets)
    expect(took(() => redactor.text(`${'a'.repeat(1_000_000)}${secrets[3]}`))).toBeLessThan(300)
  })
})
