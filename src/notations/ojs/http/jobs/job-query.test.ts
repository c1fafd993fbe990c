import { describe, expect, it } from 'vitest'
import { checked } from '../../../../wire/mistaken.ts'
import { object } from '../../../../wire/schema.ts'
import { type BulkAsked, bulkFields, bulkFilter } from './job-query.ts'

const REQUEST = object(bulkFields(['available', 'discarded']))
const read = (body: object): BulkAsked => checked(REQUEST, body as BulkAsked & { readonly [name: string]: unknown })

describe('the filter of a change of many jobs', () => {
  it('has the states that it names, as one text or as a list, else those of the route', () => {
    expect(bulkFilter(read({ states: 'available,discarded' }), ['discarded']).states).toEqual([
      'available',
      'discarded',
    ])
    expect(bulkFilter(read({ state: ['available'] }), ['discarded']).states).toEqual(['available'])
    for (const none of [{}, { states: null }, { states: '' }, { states: [] }]) {
      expect(bulkFilter(read(none), ['discarded']).filter).toMatchObject({ status: ['failed'], wait: null })
    }
  })

  it('is beside the other fields, or under `filter`', () => {
    expect(bulkFilter(read({ queue: 'a' }), ['available']).filter.queue).toBe('a')
    expect(bulkFilter(read({ filter: { queue: 'b' }, queue: 'a' }), ['available']).filter.queue).toBe('b')
  })

  it('ends at `older_than`, or else at `until`', () => {
    const [older, until] = ['2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z']
    const end = (body: object) => bulkFilter(read(body), ['available']).filter.createdBefore
    expect(end({ older_than: older, until })).toBe(Date.parse(older))
    expect(end({ until })).toBe(Date.parse(until))
    expect(end({ until: '' })).toBe(null)
  })

  it.each([
    [{ states: ['completed'] }, "state cannot be 'completed' here; one of available, discarded"],
    [{ state: 'available,active' }, "state cannot be 'active' here; one of available, discarded"],
    [{ filter: { queue: 'Not a queue' } }, 'queue must be a name in lower case'],
    [{ since: 'yesterday' }, 'since must be a time such as'],
  ])('refuses %j', (body, message) => {
    expect(() => read(body)).toThrow(message)
  })
})
