import { describe, expect, it } from 'vitest'
import { depthOf, unstorable } from './json-limits.ts'
import { MAX_JSON_DEPTH } from './limits.ts'

const code = (text: string, maxBytes = 1_000): string | null => unstorable(text, maxBytes)?.code ?? null
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

describe('JSON text to be stored', () => {
  it.each([
    ['plain', '{"a":[1,"b",null]}'],
    ['brackets and quotes inside texts', JSON.stringify({ a: '[[[{{{"]', b: '\\' })],
    ['an escape that is only spelled', JSON.stringify('\\u0000 and \\ud800')],
    ['a pair of surrogates, plain and escaped', '["\u{1F426}","\\ud83d\\udc26"]'],
    ['other escapes', '"\\n\\t\\u00e9\\/\\\\"'],
    ['the maximal depth', deep(MAX_JSON_DEPTH)],
    ['the maximal length', JSON.stringify('é'.repeat(499))],
  ])('accepts %s', (_, text) => {
    expect(code(text)).toBe(null)
  })

  it.each([
    ['a NUL, escaped', '"a\\u0000"', 'unstorable'],
    ['a NUL after escaped backslashes', '"\\\\\\u0000"', 'unstorable'],
    ['an unescaped NUL', '"\u0000"', 'unstorable'],
    ['a lone surrogate', '"\ud800"', 'unstorable'],
    ['a lone surrogate, escaped', '"\\udc26"', 'unstorable'],
    ['a lone surrogate as a key', '{"\\ud83d":1}', 'unstorable'],
    ['a lone surrogate after a backslash', '"\\\ud800"', 'unstorable'],
    ['too deep', deep(MAX_JSON_DEPTH + 1), 'unstorable'],
    ['too long in bytes', JSON.stringify('é'.repeat(500)), 'payload_too_large'],
  ])('refuses %s', (_, text, expected) => {
    expect(code(text)).toBe(expected)
  })

  it('counts the deepest nesting', () => {
    expect([depthOf('1'), depthOf('{"a":[[]],"b":{}}'), depthOf('"[["'), depthOf('[[],[[]]]')]).toEqual([0, 3, 0, 3])
  })
})
