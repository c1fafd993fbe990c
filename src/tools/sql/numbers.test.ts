import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactNumber } from './numbers.ts'

describe('a number of a database', () => {
  it.each([
    ['0', 0],
    ['-0.00', -0],
    ['1.50', 1.5],
    ['100', 100],
    ['-12.0340', -12.034],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992],
    ['9007199254740993', '9007199254740993'],
    ['0.1', 0.1],
    ['0.10000000000000000001', '0.10000000000000000001'],
    ['1e+30', 1e30],
    ['1000000000000000000000000000000', 1e30],
    ['0.00000001', 1e-8],
    ['NaN', 'NaN'],
    ['Infinity', 'Infinity'],
  ])('%s is %s', (text, expected) => {
    expect(exactNumber(text)).toBe(expected)
  })

  it('is itself for every double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(exactNumber(String(value))).toBe(value === 0 ? Number(String(value)) : value)
      }),
      { seed: 1 },
    )
  })

  it('is a number only if it is an integer that a double represents exactly, else text', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value) => {
        const exact = exactNumber(String(value))
        expect(typeof exact === 'number' ? BigInt(exact) : BigInt(exact)).toBe(value)
      }),
      { seed: 1 },
    )
  })
})
