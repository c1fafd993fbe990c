import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PetrelError } from '../kernel/errors.ts'
import { storableText, toJsonText } from './json.ts'

const limits = { maxBytes: 65_536, what: 'the result' }

function refusal(value: unknown): { code: string; message: string } {
  try {
    toJsonText(value, limits)
  } catch (error) {
    if (error instanceof PetrelError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('it was accepted')
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = { a: value }
  return value
}

describe('values that JSON can represent', () => {
  it.each([
    ['undefined at the top', undefined, 'null'],
    ['null', null, 'null'],
    ['false', false, 'false'],
    ['undefined inside', { a: undefined, b: [undefined] }, '{"b":[null]}'],
    ['a date', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['something with toJSON', new URL('http://a/'), '"http://a/"'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [
      'an instance of a class',
      new (class Point {
        x = 1
      })(),
      '{"x":1}',
    ],
    ['the same object twice', ((o) => [o, o])({ a: 1 }), '[{"a":1},{"a":1}]'],
    ['a text that only looks escaped', 'C:\\u0000 \\ud800', '"C:\\\\u0000 \\\\ud800"'],
    ['other control characters', '\u0001\u001f', '"\\u0001\\u001f"'],
  ])('%s', (_, value, text) => {
    expect(toJsonText(value, limits)).toBe(text)
  })

  it('writes any JSON exactly as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value)
        fc.pre(!text.includes('\\u0000') && text.isWellFormed() && !/\\ud[89a-f]/.test(text))
        expect(toJsonText(value, limits)).toBe(text)
      }),
    )
  })
})

describe('refused values, with their path', () => {
  const circular: { list: unknown[] } = { list: [] }
  circular.list.push(circular)

  it.each([
    ['a function', () => 1, 'the result is a function, which is not JSON'],
    ['a function inside', { a: { b: () => 1 } }, 'the result at $.a.b is a function, which is not JSON'],
    ['a bigint', { a: [1, 2n] }, 'the result at $.a[1] is a bigint, which is not JSON'],
    ['a symbol', { 'odd key': Symbol('x') }, 'the result at $["odd key"] is a symbol, which is not JSON'],
    ['NaN', { a: Number.NaN }, 'the result at $.a is NaN, which is not JSON'],
    ['infinity', [Number.POSITIVE_INFINITY], 'the result at $[0] is Infinity, which is not JSON'],
    ['a circle', circular, 'the result at $.list[0] is circular'],
    ['a Map', { m: new Map() }, 'the result at $.m is a Map, which is not JSON: use Object.fromEntries(…)'],
    ['a Set', new Set([1]), 'the result is a Set, which is not JSON: use [...set]'],
    ['a forgotten await', { p: Promise.resolve(1) }, 'the result at $.p is a Promise: await it first'],
    ['an error', { e: new Error('x') }, 'the result at $.e is an Error, which is not JSON'],
    ['bytes', new Uint8Array(2), 'the result is binary, which is not JSON: use base64'],
    ['a NUL', { a: 'x\0y' }, 'the result at $.a contains a NUL character, which cannot be stored'],
    ['a NUL in a key', { 'a\0': 1 }, 'the result has a key that contains a NUL character, which cannot be stored'],
    ['half a pair', ['\ud800'], 'the result at $[0] contains half of a surrogate pair, which cannot be stored'],
    ['too deep', nested(201), `the result at $${'.a'.repeat(12)}… is nested more than 200 levels deep`],
    [
      'a getter that throws',
      {
        get a() {
          throw new Error('no')
        },
      },
      'the result cannot be read: no',
    ],
  ])('%s', (_, value, message) => {
    expect(refusal(value)).toEqual({ code: 'unstorable', message })
  })

  it('accepts 200 levels, not 10,000', () => {
    expect(toJsonText(nested(200), limits)).toContain('1')
    expect(refusal(nested(10_000)).message).toContain('levels deep')
  })

  it('counts bytes, not characters', () => {
    expect(toJsonText('x'.repeat(65_534), limits)).toHaveLength(65_536)
    expect(refusal('x'.repeat(65_535)).code).toBe('payload_too_large')
    expect(refusal('ü'.repeat(40_000))).toEqual({
      code: 'payload_too_large',
      message:
        'the result takes 80002 bytes as JSON; at most 65536 are allowed: store it elsewhere and pass a reference',
    })
  })

  it('gives up early on shared structure that would expand without end', () => {
    let value: unknown = 'leaf'
    for (let i = 0; i < 150; i++) value = [value, value]
    expect(refusal(value).code).toBe('payload_too_large')
  })
})

describe('texts made storable', () => {
  it('replaces characters that no database stores and truncates long text', () => {
    expect(storableText('a\0b\ud800', 100)).toBe('a\ufffdb\ufffd')
    expect(storableText('x'.repeat(10), 4)).toBe('xxxx…')
  })
})
