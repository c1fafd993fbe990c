import { expect, it } from 'vitest'
import { costOf } from './cost.ts'

const of = (...usages: readonly object[]) => costOf(usages.map((usage) => JSON.stringify(usage)))

it('adds up tokens and cost; without any the result is empty', () => {
  expect(of()).toEqual({ tokens: 0, cost: 0, currency: null })
  expect(
    of({ tokens: 10, cost: 0.1, currency: 'USD' }, { tokens: 5, cost: 0.2, currency: 'USD' }, { tokens: 1 }),
  ).toEqual({
    tokens: 16,
    cost: 0.3,
    currency: 'USD',
  })
})

it('returns no sum of several currencies', () => {
  expect(of({ cost: 1, currency: 'USD' }, { cost: 2, currency: 'CHF' })).toEqual({
    tokens: 0,
    cost: null,
    currency: null,
  })
})

it('skips values that are not amounts', () => {
  expect(of({ tokens: 'many', cost: -1, currency: 7 }, { tokens: 3, cost: 2 })).toEqual({
    tokens: 3,
    cost: 2,
    currency: null,
  })
})
