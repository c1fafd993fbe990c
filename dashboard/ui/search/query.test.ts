import { describe, expect, it } from 'vitest'
import { INSTANCE_FIELDS, RUN_FIELDS } from '../../../src/model/search/fields.ts'
import { parseInstanceSearch } from '../../../src/model/search/parse.ts'
import { suggestions } from './completion.ts'
import { acceptedBy, accepting, atCaret, filter, filtersOf, isFinished, toggled, without } from './query.ts'

describe('filters of a query', () => {
  it('are found with their places', () => {
    const text = 'state:failed,cancelled  -tag:"two \\"words\\"" name'
    expect(filtersOf(text).map(({ not, field, values }) => [not, field, values.map((value) => value.text)])).toEqual([
      [false, 'state', ['failed', 'cancelled']],
      [true, 'tag', ['two "words"']],
      [false, 'name', []],
    ])
    for (const { fieldFrom, field, from, to } of filtersOf(text)) {
      expect(text.slice(fieldFrom, fieldFrom + field.length)).toBe(field)
      expect(text.slice(from, to)).toContain(field)
    }
  })

  it('of any text are cut without an endless loop', () => {
    for (const text of ['"', ':', '-', '--', 'a:"', ',', 'a:,,b', '"x" y:', '::', '-:']) {
      expect(filtersOf(text).length).toBeGreaterThan(0)
    }
    expect(filtersOf('  ')).toEqual([])
  })

  it.each([
    ['state:failed age:>1h', true],
    ['', true],
    ['state:', false],
    ['sta', false],
    ['age:>', false],
    ['state:failed,', false],
    ['tag:"two wo', false],
    ['tag:""', true],
  ])('%s is finished: %s', (text, finished) => expect(isFinished(text)).toBe(finished))
})

describe('changes of a query', () => {
  it('switch a state on and off', () => {
    expect(toggled('name:order', 'state', 'failed')).toBe('name:order state:failed')
    expect(toggled('state:failed name:order', 'state', 'running')).toBe('name:order state:failed,running')
    expect(toggled('state:failed name:order', 'state', 'failed')).toBe('name:order')
    expect(acceptedBy('name:order state:failed,running', 'state')).toEqual(['failed', 'running'])
  })

  it('replace filters of a field, positive or not', () => {
    expect(without('-state:failed age:>1h name:a age:<2h', ['state', 'age'])).toBe('name:a')
    expect(accepting('nested:any name:a', 'nested', [])).toBe('name:a')
  })

  it('write values so that they are read as they are', () => {
    for (const value of ['plain', 'two words', 'a,b', 'a"b', 'a\\b', 'order*']) {
      const [condition] = parseInstanceSearch(filter('tag', value)).conditions
      expect(condition).toMatchObject({ values: [value] })
    }
  })
})

describe('completion', () => {
  const labels = (text: string, caret = text.length): readonly string[] =>
    suggestions(text, caret, INSTANCE_FIELDS).map(({ label }) => label)

  it('offers fields, also after a minus', () => {
    expect(labels('st')).toEqual(['state', 'nested'])
    expect(labels('-na')[0]).toBe('name')
    expect(labels('state:failed ').slice(0, 2)).toEqual(['state', 'name'])
    expect(labels('me')).toContain('meta')
  })

  it('offers the values of a field, also after a comma', () => {
    expect(labels('state:c')).toEqual(expect.arrayContaining(['cancelled', 'completed']))
    expect(labels('state:failed,run')).toEqual(['running'])
    expect(labels('has:')).toContain('retry')
    expect(labels('notation:')).toContain('saga')
    expect(labels('age:')).toContain('>1h')
    expect(suggestions('dead:', 5, RUN_FIELDS).map(({ label }) => label)).toEqual(['true', 'false'])
  })

  it('offers nothing for a value that is complete, or of an unknown field', () => {
    expect(labels('state:running')).toEqual([])
    expect(labels('sate:r')).toEqual([])
  })

  it('offers what the server knows', () => {
    const known = { name: ['order', 'order two'] }
    const found = suggestions('name:order t', 10, INSTANCE_FIELDS, known)
    expect(found.map(({ insert }) => insert)).toEqual(['order', '"order two"'])
  })

  it('replaces only what the caret is in', () => {
    const text = 'sta:failed name:x'
    const [first] = suggestions(text, 3, INSTANCE_FIELDS)
    const { from, to, insert } = first as { from: number; to: number; insert: string }
    expect(text.slice(0, from) + insert + text.slice(to)).toBe('state:failed name:x')
    expect(atCaret(text, text.length)).toMatchObject({ kind: 'value', field: 'name', word: 'x' })
  })
})
