import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PetrelError } from '../../kernel/errors.ts'
import { MAX_QUERY_FILTERS, MAX_QUERY_LENGTH, MAX_QUERY_VALUES, MAX_TERM_LENGTH } from '../../kernel/limits.ts'
import { INSTANCE_FIELDS, RUN_FIELDS } from './fields.ts'
import { parseInstanceSearch, parseRunSearch } from './parse.ts'
import { printSearch } from './print.ts'
import { matchesEverything } from './search.ts'
import { checkedTags, startTerms } from './terms.ts'

const conditions = (text: string) => parseInstanceSearch(text).conditions
const text = (field: string, ...values: string[]) => ({
  kind: 'text',
  field,
  not: false,
  values: values.map((value) => ({ text: value, prefix: false })),
})
const term = (field: string, ...values: string[]) => ({ kind: 'term', field, not: false, values })

describe('a query', () => {
  it('is a list of filters, all of which must hold', () => {
    expect(
      conditions('state:failed name:order* notation:dag error:card_declined tag:eu meta.region:eu input.id:117'),
    ).toEqual([
      text('state', 'failed'),
      { kind: 'text', field: 'name', not: false, values: [{ text: 'order', prefix: true }] },
      text('notation', 'dag'),
      term('error', 'card_declined'),
      term('tag', 'eu'),
      term('meta.region', 'eu'),
      term('input.id', '117'),
    ])
    expect(conditions(' \t initiator:ada\n has:gate ')).toEqual([term('initiator', 'ada'), text('has', 'gate')])
  })

  it('a comma means or, a leading - means not, quotes keep spaces and commas', () => {
    expect(conditions('state:failed,cancelled')).toEqual([text('state', 'failed', 'cancelled')])
    expect(conditions('-tag:test,"two words"')).toEqual([{ ...term('tag', 'test', 'two words'), not: true }])
    expect(conditions('name:"a \\"b\\" \\\\ c, d*"')).toEqual([text('name', 'a "b" \\ c, d*')])
    expect(conditions('input.text:""')).toEqual([term('input.text', '')])
  })

  it('compares times and numbers', () => {
    const at = Date.UTC(2030, 0, 31, 9)
    expect(conditions('created:>=2030-01-31T10:00:00+01:00')).toEqual([
      { kind: 'moment', field: 'created', not: false, comparison: '>=', at },
    ])
    expect(conditions(printSearch(parseInstanceSearch('-created:<2030-01-31T09:00:00Z')))).toMatchObject([
      { not: true, at },
    ])
    for (const wrong of ['created:2030-01-31T09:00:00Z', 'created:>1h', 'created:>2030-01-31']) {
      expect(() => conditions(wrong)).toThrow(/created:>=2030|missing|zone/)
    }
    expect(conditions('age:>1h -took:<=90s')).toEqual([
      { kind: 'span', field: 'age', not: false, comparison: '>', ms: 3_600_000 },
      { kind: 'span', field: 'took', not: true, comparison: '<=', ms: 90_000 },
    ])
    expect(parseRunSearch('attempt:>2 attempt:5 -dead:true inbox:true').conditions).toEqual([
      { kind: 'number', field: 'attempt', not: false, comparison: '>', number: 2 },
      { kind: 'number', field: 'attempt', not: false, comparison: '=', number: 5 },
      { kind: 'flag', field: 'dead', value: false },
      { kind: 'flag', field: 'inbox', value: true },
    ])
  })

  it('without a filter matches everything', () => {
    expect(matchesEverything(parseInstanceSearch(' '))).toBe(true)
    expect(matchesEverything(parseRunSearch('dead:true'))).toBe(false)
  })
})

const refused = (query: string, parse: (text: string) => unknown = parseInstanceSearch): PetrelError => {
  try {
    parse(query)
  } catch (error) {
    if (error instanceof PetrelError) return error
    throw error
  }
  throw new Error(`${query} was accepted`)
}

describe('a mistake in a query', () => {
  it.each([
    ['state:failed sate:x', 13, "there is no filter 'sate' for instances; did you mean 'state'?"],
    ['state:faild', 6, "state cannot be 'faild'; did you mean 'failed'?"],
    ['state:failed,runing', 13, "state cannot be 'runing'; did you mean 'running'?"],
    ['order', 0, 'a filter is FIELD:VALUE'],
    ['state: failed', 6, 'a value is missing'],
    ['state:', 6, 'a value is missing'],
    ['tag:a,,b', 6, 'a value is missing'],
    ['tag:"eu', 4, 'the quote is not closed'],
    ['tag:"eu"x', 8, 'something follows the closing quote'],
    ['tag:e"u', 5, 'a quote inside a value'],
    ['name:*order', 5, 'a * stands only at the end of a value'],
    ['name:*', 5, 'a * stands only at the end of a value'],
    ['key:order*', 4, 'key has no prefixes'],
    ['age:1h', 4, "a comparison is missing; did you mean '>1h'?"],
    ['age:>soon', 4, 'age must be compared with a duration'],
    ['age:>5', 4, 'age must be compared with a duration'],
    ['age:>1h,>2h', 0, 'age takes one value'],
    ['meta:eu', 0, "'meta' needs the name of a member"],
    ['dead:true', 0, "'dead' is a filter for runs, not for instances"],
    [':x', 0, 'a filter is FIELD:VALUE'],
  ])('%s: names its position, the word and what would be right', (query, offset, problem) => {
    const error = refused(query)
    expect(error).toMatchObject({ code: 'invalid_request', details: { parameter: 'q', offset } })
    expect(error.message).toContain(problem)
    expect(error.message).toContain(`character ${offset + 1}`)
    expect(error.details.hint).toMatch(/\S/)
  })

  it.each([
    ['status:failed attempt:many', 22, 'attempt must be a whole number'],
    ['dead:yes', 5, 'dead is true or false'],
    ['instance:17', 9, 'instance must be an id'],
    ['input.id:1', 0, "'input.id' is a filter for instances, not for runs"],
  ])('%s, of runs', (query, offset, problem) => {
    const error = refused(query, parseRunSearch)
    expect(error.details).toMatchObject({ offset })
    expect(error.message).toContain(problem)
  })

  it('what is too long or too much is refused', () => {
    expect(refused(`name:${'x'.repeat(MAX_QUERY_LENGTH)}`).message).toContain('characters')
    expect(refused('state:failed '.repeat(MAX_QUERY_FILTERS + 1)).message).toContain('too many filters')
    expect(refused(`tag:${'a,'.repeat(MAX_QUERY_VALUES)}a`).message).toContain('21 values')
    expect(refused(`tag:${'x'.repeat(MAX_TERM_LENGTH + 1)}`).message).toContain('201 characters')
    expect(refused('name:a\u0000').message).toContain('no value can contain this character')
    expect(refused('name:\ud800').message).toContain('no value can contain this character')
  })
})

describe('the canonical text', () => {
  it.each([
    'state:failed,cancelled name:order* -tag:test',
    'name:"order*" meta.region:"two words"',
    'age:>1h took:<=90s ended:<2d',
    'input.text:""',
  ])('%s stays as it is', (query) => expect(printSearch(parseInstanceSearch(query))).toBe(query))

  it('of a flag is positive, of a span in its largest unit', () => {
    expect(printSearch(parseRunSearch('-dead:false   age:>3600s attempt:=2'))).toBe('dead:true age:>1h attempt:2')
  })

  it('is read as the same query, whatever its values are', () => {
    const value = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((s) => !/[\0\p{Surrogate}]/u.test(s))
    const quoted = value.map((s) => `"${s.replace(/["\\]/g, '\\$&')}"`)
    const filter = fc.oneof(
      fc.tuple(
        fc.constantFrom('tag', 'name', 'key', 'meta.a', 'error'),
        fc.array(quoted, { minLength: 1, maxLength: 3 }),
      ),
      fc.tuple(fc.constantFrom('age', 'took'), fc.tuple(fc.nat(1e9).map((n) => `<${n}ms`))),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), filter), { maxLength: 4 }), (filters) => {
        const query = filters.map(([not, [field, values]]) => `${not ? '-' : ''}${field}:${values.join(',')}`).join(' ')
        const search = parseInstanceSearch(query)
        expect(parseInstanceSearch(printSearch(search))).toEqual(search)
      }),
    )
  })
})

describe('terms', () => {
  it('of a start: tags, initiator, and scalar members of metadata and input', () => {
    const begun = {
      tags: ['eu'],
      initiator: 'ada',
      meta: { region: 'eu', definition: { name: 'x' }, priority: 2 },
      input: { id: 117, urgent: true, note: null, lines: [1] },
    }
    expect(startTerms(begun)).toEqual([
      'i:tag:eu',
      'i:initiator:ada',
      'i:meta.region:eu',
      'i:meta.priority:2',
      'i:input.id:117',
      'i:input.urgent:true',
    ])
    expect(startTerms({ input: null })).toEqual([])
    expect(startTerms({ input: [1, 2] })).toEqual([])
  })

  it('are few and short: long values are left out, and only the first members are found', () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`m${i}`, i]))
    expect(startTerms({ input: many })).toHaveLength(16)
    expect(startTerms({ input: { long: 'x'.repeat(201), short: 'y' } })).toEqual(['i:input.short:y'])
    expect(startTerms({ input: { ['n'.repeat(101)]: 1 } })).toEqual([])
  })

  it('tags are checked, and each counts once', () => {
    expect(checkedTags(['a', 'b', 'a'], 'tags')).toEqual(['a', 'b'])
    expect(() => checkedTags(['a', ''], 'start.tags')).toThrow('start.tags[1]: a tag is a text of 1 to 200 characters')
    expect(() => checkedTags(['x'.repeat(201)], 'tags')).toThrow('tags[0]')
    expect(() =>
      checkedTags(
        Array.from({ length: 21 }, (_, i) => `t${i}`),
        'tags',
      ),
    ).toThrow('at most 20 tags, these are 21')
  })
})

it('every filter is a word that an author can write', () => {
  for (const { rules, members } of [INSTANCE_FIELDS, RUN_FIELDS]) {
    for (const name of [...Object.keys(rules), ...members]) expect(name).toMatch(/^[a-z]+$/)
  }
})
