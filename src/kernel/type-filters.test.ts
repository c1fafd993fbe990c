import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  filterOfTools,
  parseTypeFilter,
  splitTypeFilters,
  TypeFilterError,
  toolsOfType,
  typeMatcher,
  typeWithTools,
} from './type-filters.ts'

/** Few letters, so that names and prefixes overlap; every special character, and some of other scripts. */
const NAME = fc.string({
  unit: fc.constantFrom('a', 'b', '.', '_', '%', '\\', 'ü', '\u{1F426}', '\u{10FFFF}'),
  maxLength: 6,
})

const escaped = (name: string): string => name.replace(/[%_\\]/g, '\\$&')

/** The same rules as a regular expression that matches complete types; null: refused. */
function reference(text: string): RegExp | null {
  const literal = (part: string): string => [...part].map((c) => `\\u{${c.codePointAt(0)?.toString(16)}}`).join('')
  if (!text.includes('%')) return text === '' ? null : new RegExp(`^${literal(text)}$`, 'su')
  const parts = /^((?:[^%\\]|\\[%_\\])*)(%?)$/su.exec(text)
  if (parts === null) return null
  const name = literal((parts[1] as string).replace(/\\(.)/gsu, '$1'))
  return new RegExp(`^${name}${parts[2] === '%' ? '.*' : ''}$`, 'su')
}

describe('type filters', () => {
  it('a text without % is a name, verbatim', () => {
    for (const text of ['billing.invoice.v1', 'a_b', 'a\\b', 'a\\_b', '\\', ' ', 'ünï.x']) {
      expect(parseTypeFilter(text)).toEqual({ exact: text })
    }
  })

  it('a % at the end makes a prefix; alone it matches every type', () => {
    expect(parseTypeFilter('billing.%')).toEqual({ prefix: 'billing.' })
    expect(parseTypeFilter('bill%')).toEqual({ prefix: 'bill' })
    expect(parseTypeFilter('%')).toEqual({ prefix: '' })
  })

  it('an underscore is literal, with a backslash or without', () => {
    expect(parseTypeFilter('a_b.%')).toEqual({ prefix: 'a_b.' })
    expect(parseTypeFilter('a\\_b.%')).toEqual({ prefix: 'a_b.' })
    expect(typeMatcher(['a_b.%'])('aXb.c')).toBe(false)
  })

  it('a literal percent sign or backslash is escaped with a backslash', () => {
    expect(parseTypeFilter('100\\%')).toEqual({ exact: '100%' })
    expect(parseTypeFilter('100\\%.%')).toEqual({ prefix: '100%.' })
    expect(parseTypeFilter('a\\\\%')).toEqual({ prefix: 'a\\' })
    expect(parseTypeFilter('a\\\\\\%')).toEqual({ exact: 'a\\%' })
  })

  it('explains what is wrong with an ambiguous filter', () => {
    const cases: [string, string][] = [
      ['', 'a type must be a string of at least one character'],
      ['a%b', "'%' is allowed only at the end of a type: 'a%b'; a percent sign of the name is written '\\%'"],
      ['a%%', "'%' is allowed only at the end of a type: 'a%%'"],
      [
        'a\\b%',
        "a backslash beside a '%' stands before '%', '_' or another backslash: 'a\\b%'; one of the name is written '\\\\'",
      ],
      ['a%\\', "'%' is allowed only at the end of a type"],
      ['a\0', 'holds a character that no type can have'],
      ['a\ud800%', 'holds a character that no type can have'],
      [`${'x'.repeat(1000)}%%`, `'${'x'.repeat(100)}…'`],
    ]
    for (const [text, message] of cases) {
      expect(() => parseTypeFilter(text), text).toThrow(TypeFilterError)
      expect(() => parseTypeFilter(text), text).toThrow(message)
    }
    for (const value of [undefined, null, 7, ['a']])
      expect(() => parseTypeFilter(value as never)).toThrow(TypeFilterError)
  })

  it('no filter means every type, an empty list none', () => {
    expect(typeMatcher(null)('whatever')).toBe(true)
    expect(typeMatcher([])('whatever')).toBe(false)
    expect(splitTypeFilters(null)).toEqual({ exact: new Set(), prefixes: new Set(['']), withTools: [] })
    expect(splitTypeFilters(['a', 'b.%', 'a', '%'])).toEqual({
      exact: new Set(['a']),
      prefixes: new Set(['b.', '']),
      withTools: [],
    })
  })

  it('accepts and refuses the same texts, and matches the same types, as the rules written as regular expressions', () => {
    fc.assert(
      fc.property(NAME, fc.array(NAME, { maxLength: 8 }), (text, types) => {
        const wanted = reference(text)
        if (wanted === null) {
          expect(() => parseTypeFilter(text)).toThrow(TypeFilterError)
          return
        }
        const matches = typeMatcher([text])
        for (const type of types) expect(matches(type), type).toBe(wanted.test(type))
      }),
      { numRuns: 2_000 },
    )
  })

  it('every name and every prefix can be written', () => {
    fc.assert(
      fc.property(
        NAME.filter((name) => name !== ''),
        (name) => {
          expect(parseTypeFilter(`${escaped(name)}%`)).toEqual({ prefix: name })
          expect(parseTypeFilter(name.includes('%') ? escaped(name) : name)).toEqual({ exact: name })
        },
      ),
    )
  })

  it('several filters match types that any of them matches', () => {
    const filter = NAME.filter((text) => reference(text) !== null)
    fc.assert(
      fc.property(fc.array(filter, { maxLength: 5 }), NAME, (filters, type) => {
        expect(typeMatcher(filters)(type)).toBe(filters.some((text) => typeMatcher([text])(type)))
      }),
    )
  })
})

describe('types that name the tools they need', () => {
  const needs = (...tools: readonly string[]) => typeWithTools('playbook.step', tools) as string

  it('are taken by workers that have all of them', () => {
    expect(needs('python', 'http', 'http')).toBe('playbook.step:tools=http+python')
    const matches = typeMatcher([filterOfTools('playbook.step', ['noop', 'http', 'a,b+c%}'])])
    for (const tools of [['http'], ['noop'], ['http', 'noop'], ['a,b+c%}', 'http']])
      expect(matches(needs(...tools))).toBe(true)
    for (const tools of [['python'], ['http', 'python'], ['a'], ['']]) expect(matches(needs(...tools))).toBe(false)
    for (const type of ['playbook.step', 'playbook.step:tools=', 'playbook.steps:tools=http'])
      expect(matches(type)).toBe(false)
  })

  it('are parsed back, and not if there would be too many', () => {
    expect(toolsOfType(needs('b', 'a,b+c%}'))).toEqual(['a,b+c%}', 'b'])
    expect(toolsOfType('billing:invoice')).toEqual([])
    expect(typeWithTools('playbook.step', ['x'.repeat(250)])).toBe(null)
  })
})
