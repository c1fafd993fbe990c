import { describe, expect, it } from 'vitest'
import { checkFields, checkOneOf } from './fields.ts'

const TABLE = { url: { types: ['text'] }, params: { types: ['map', 'list'], hint: 'A map.' }, body: {} } as const

describe('the fields of a task', () => {
  it('are known and of their type, or templates', () => {
    const config = { url: 'x', params: '{{ query }}', body: 7 }
    expect(checkFields(config, TABLE)).toEqual([])
    expect(checkFields({ params: '{% if a %}{}{% endif %}' }, TABLE)).toEqual([])
  })

  it('that are unknown are a warning that lists the known ones', () => {
    expect(checkFields({ uri: 'x' }, TABLE)).toEqual([
      { path: ['uri'], message: 'unknown field uri', hint: 'Known are url, params, body.', warning: true },
    ])
    expect(checkFields({ constructor: 'x' }, TABLE)).toMatchObject([{ path: ['constructor'], warning: true }])
  })

  it('of another type are an error that names the expected type', () => {
    expect(checkFields({ url: ['x'], params: 1 }, TABLE)).toEqual([
      { path: ['url'], message: 'url must be text, not a list' },
      { path: ['params'], message: 'params must be a map or a list, not a number', hint: 'A map.' },
    ])
  })

  it('that have the same meaning exclude each other, and one of them may be required', () => {
    expect(checkOneOf({ a: 1, b: null }, ['a', 'b'], { hint: 'h' })).toEqual([])
    expect(checkOneOf({ a: 1, b: 2 }, ['a', 'b'], null)).toEqual([
      { path: ['b'], message: 'a and b are given', hint: 'Keep one of them.' },
    ])
    expect(checkOneOf({}, ['a', 'b'], null)).toEqual([])
    expect(checkOneOf({}, ['a', 'b'], { hint: 'h' })).toEqual([{ path: [], message: 'a is missing', hint: 'h' }])
  })
})
