import { describe, expect, it } from 'vitest'
import { DefinitionError } from './mistakes.ts'
import { readSource } from './source.ts'

/** Every mistake as `line:column path: message (hint)`. */
function mistakes(text: string, file = 'x.yaml'): readonly string[] {
  try {
    readSource(file, text)
    return []
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return error.problems.map((p) => `${p.line}:${p.column} ${p.path}: ${p.message} (${p.hint})`)
  }
}

describe('the syntax of files', () => {
  it('aliases, and mappings merged by <<, have the meaning of other YAML readers', () => {
    const { value, locate } = readSource('x.yaml', 'base: &b { n: 1, m: 1 }\nown: { <<: *b, m: 2 }\nsame: *b\n')
    expect(value).toEqual({ base: { n: 1, m: 1 }, own: { n: 1, m: 2 }, same: { n: 1, m: 1 } })
    expect(locate(['own', 'm'])).toEqual({ line: 2, column: 19 })
    expect(locate(['own', 'n'])).toEqual({ line: 2, column: 6 })
  })

  it('keys that are special in JavaScript are ordinary keys', () => {
    const { value } = readSource('x.yaml', '__proto__: { a: 1 }\nconstructor: 2\n')
    expect(Object.entries(value as object)).toEqual([
      ['__proto__', { a: 1 }],
      ['constructor', 2],
    ])
    expect(({} as { a?: number }).a).toBeUndefined()
  })
})

describe('refused syntax', () => {
  it.each<readonly [string, string, readonly string[]]>([
    [
      'an alias of a value that contains it',
      'a: &a\n  - 1\n  - { b: *a }\n',
      ["3:10 : '*a' is inside its own target (write out what is meant)"],
    ],
    ['an alias of nothing', 'a: *b\n', ["1:4 : no '&b' comes before '*b' (write out what is meant)"]],
    ['a list as a key', '{ [a]: 1 }\n', ['1:3 : a list cannot be a key (write a string)']],
    [
      'lists in lists without end',
      `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`,
      ['1:1 : the file is nested too deeply (fewer levels)'],
    ],
    [
      'mappings in mappings without end',
      Array.from({ length: 3000 }, (_, i) => `${' '.repeat(i)}a:\n`).join(''),
      ['1:1 : the file is nested too deeply (fewer levels)'],
    ],
    [
      'a NUL character',
      'a:\n  - b\n  - "x\\0y"\n',
      ['3:5 a[1]: a text with a NUL character or half of a surrogate pair cannot be stored (leave the character out)'],
    ],
    [
      'half of a surrogate pair',
      'a: "\\ud800"\n',
      ['1:4 a: a text with a NUL character or half of a surrogate pair cannot be stored (leave the character out)'],
    ],
  ])('%s', (_, text, expected) => {
    expect(mistakes(text)).toEqual(expected)
  })

  it('in JSON, too', () => {
    expect(mistakes('{\n  "a": "\\u0000"\n}', 'x.json')).toEqual([
      '2:8 a: a text with a NUL character or half of a surrogate pair cannot be stored (leave the character out)',
    ])
  })

  it('a value that only looks like one of these is accepted', () => {
    expect(mistakes('a: "C:\\\\0"\nb: \'\\0\'\nc: "\\ud83d\\ude00"\n')).toEqual([])
  })
})
