import { describe, expect, it } from 'vitest'
import { draftOf, draftText, readDraft, readJson } from './schema-draft.ts'
import { type Field, fieldOf } from './schema-fields.ts'

const ORDER = {
  type: 'object',
  required: ['amount', 'to'],
  properties: {
    amount: { type: 'number', title: 'Amount in CHF', minimum: 1, maximum: 50_000 },
    to: {
      type: 'object',
      required: ['city'],
      properties: { city: { type: 'string', minLength: 2 }, zip: { type: ['string', 'null'] } },
    },
    account: { enum: ['operations', 7, null] },
    urgent: { type: 'boolean', default: true },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    rest: { type: 'object', additionalProperties: { type: 'number' } },
    back: { type: 'object', properties: { account: { type: 'string' } } },
  },
} as const

const field = (schema: unknown): Field => {
  const found = fieldOf(schema)
  if (found === null) throw new Error('nothing is asked for')
  return found
}

const read = (schema: unknown, typed: Readonly<Record<string, string | readonly string[]>>) =>
  readDraft(field(schema), new Map(Object.entries(typed)))

describe('fields of a schema', () => {
  it('are those of its properties, in their order', () => {
    expect(field(ORDER).fields.map(({ path, kind, required }) => [path, kind, required])).toEqual([
      ['/amount', 'number', true],
      ['/to', 'group', true],
      ['/account', 'choice', false],
      ['/urgent', 'flag', false],
      ['/tags', 'list', false],
      ['/rest', 'json', false],
      ['/back', 'group', false],
    ])
  })

  it('ask for nothing where there is no schema, or one that accepts anything', () => {
    expect([fieldOf(undefined), fieldOf(null), fieldOf(true)]).toEqual([null, null, null])
  })

  it('can be one plain value', () => {
    expect(field({ type: 'string', maxLength: 500 })).toMatchObject({ path: '', kind: 'long', most: 500 })
  })

  it('take the titles of constants as labels', () => {
    const schema = { oneOf: [{ const: 1, title: 'low' }, { const: 2 }] }
    expect(field(schema).choices).toEqual([
      { value: 1, label: 'low' },
      { value: 2, label: '2' },
    ])
  })

  it.each([
    [{ type: 'object' }],
    [{ type: 'object', properties: {}, required: ['unseen'] }],
    [{ type: 'object', properties: { a: {} }, allOf: [] }],
    [{ $ref: '#/definitions/a' }],
    [{ type: 'array', items: { type: 'object', properties: {} } }],
    [{ type: ['string', 'number'] }],
    [false],
  ])('are one of JSON where a schema says more than fields can show: %j', (schema) => {
    expect(field(schema).kind).toBe('json')
  })

  it('escape names as JSON pointers do', () => {
    expect(field({ type: 'object', properties: { 'a/b~': { type: 'string' } } }).fields[0]?.path).toBe('/a~1b~0')
  })

  it('end at a depth that a page can show', () => {
    const nested = (depth: number): object =>
      depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(depth - 1) } }
    expect(JSON.stringify(field(nested(30)))).toContain('"kind":"json"')
  })
})

describe('the value of a form', () => {
  it('has what was typed, and leaves out empty optional fields', () => {
    const typed = {
      '/amount': '12.50',
      '/to/city': 'Bern',
      '/account': '1',
      '/urgent': 'false',
      '/tags': ['a', 'b'],
      '/rest': '{"x": 1}',
    }
    expect(read(ORDER, typed)).toEqual({
      ok: true,
      value: { amount: 12.5, to: { city: 'Bern' }, account: 7, urgent: false, tags: ['a', 'b'], rest: { x: 1 } },
    })
  })

  it('names every mistake with the path of its field', () => {
    const found = read(ORDER, { '/to/city': 'B', '/tags': ['a', 'b', 'c'], '/rest': '{' })
    expect(found.ok ? [] : found.mistakes.map(({ path, message }) => `${path} ${message}`)).toEqual([
      '/amount is missing',
      '/to/city must have at least 2 characters',
      '/tags takes at most 2 entries',
      expect.stringMatching(/^\/rest not valid JSON: /),
    ])
  })

  it.each([
    ['12,5', 'must be a number, such as 12 or 0.5'],
    ['0', 'must be at least 1'],
    ['50001', 'must be at most 50000'],
    ['0x10', 'must be a number, such as 12 or 0.5'],
    ['90071992547409931', 'is too large to be kept exactly'],
    ['1e999', 'is too large to be kept exactly'],
  ])('refuses the number %s', (text, message) => {
    expect(read(ORDER.properties.amount, { '': text })).toEqual({ ok: false, mistakes: [{ path: '', message }] })
  })

  it('accepts whole numbers only where the schema says so', () => {
    expect(read({ type: 'integer' }, { '': '1.5' })).toMatchObject({ ok: false })
    expect(read({ type: 'integer' }, { '': ' 15 ' })).toEqual({ ok: true, value: 15 })
  })

  it('is null where that is permitted and required, and an unchecked required flag is false', () => {
    const schema = {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: ['string', 'null'] }, b: { type: 'boolean' } },
    }
    expect(read(schema, {})).toEqual({ ok: true, value: { a: null, b: false } })
  })

  it('keeps a key that JavaScript gives a meaning', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as unknown
    const found = read(schema, { '/__proto__': 'x' })
    expect(found.ok && JSON.stringify(found.value)).toBe('{"__proto__":"x"}')
  })

  it('checks patterns and dates, and leaves expressions it cannot read to the server', () => {
    expect(read({ type: 'string', pattern: '^[A-Z]+$' }, { '': 'abc' })).toMatchObject({ ok: false })
    expect(read({ type: 'string', pattern: '(?<' }, { '': 'abc' })).toEqual({ ok: true, value: 'abc' })
    expect(read({ type: 'string', format: 'date' }, { '': '1 March' })).toMatchObject({ ok: false })
  })
})

describe('a draft', () => {
  it('begins with the defaults', () => {
    expect([...draftOf(field(ORDER))]).toEqual([['/urgent', 'true']])
  })

  it('of a value makes the same value', () => {
    const value = {
      amount: 3,
      to: { city: 'Bern' },
      account: null,
      urgent: false,
      tags: ['x'],
      rest: { a: 1 },
      back: { account: 'b' },
    }
    expect(readDraft(field(ORDER), draftOf(field(ORDER), value))).toEqual({ ok: true, value })
  })

  it('becomes JSON for editing by hand', () => {
    expect(draftText(field({ type: 'integer' }), new Map([['', '4']]))).toBe('4')
    expect(draftText(field(ORDER), new Map())).toBe('')
  })
})

describe('JSON typed by hand', () => {
  it('keeps every digit or is refused', () => {
    expect(readJson('{"a": [1, 2.5]}')).toEqual({ ok: true, value: { a: [1, 2.5] } })
    expect(readJson('{"a": 90071992547409931}')).toMatchObject({ ok: false })
  })
})
