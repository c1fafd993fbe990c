import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { finder, indexIn, lastIndexIn } from './search.ts'

/** Few letters and much repetition, so that patterns nearly match everywhere; longer than the host's fast path. */
const letters = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 6 })
const pattern = fc
  .tuple(letters, fc.integer({ min: 12, max: 60 }), letters)
  .map(([unit, times, end]) => unit.repeat(times).padStart(66, unit) + end)
const around = fc.tuple(letters, fc.nat(60), letters).map(([unit, times, end]) => unit.repeat(times) + end)

describe('a search', () => {
  it("finds the same as the host's search", () => {
    fc.assert(
      fc.property(pattern, around, around, fc.nat(3), fc.nat(20), (wanted, before, after, times, from) => {
        const text = before + wanted.repeat(times) + after + wanted.slice(1) + wanted
        expect(indexIn(text, wanted)).toBe(text.indexOf(wanted))
        expect(lastIndexIn(text, wanted)).toBe(text.lastIndexOf(wanted))
        expect(finder(wanted)(text, from)).toBe(text.indexOf(wanted, from))
        expect(indexIn(text, `${wanted}c`)).toBe(-1)
        expect(lastIndexIn(text, `c${wanted}`)).toBe(-1)
      }),
      { numRuns: 300 },
    )
  })

  it('finds short texts, and nothing in a text shorter than the pattern', () => {
    expect([indexIn('abcabc', 'bc'), lastIndexIn('abcabc', 'bc'), finder('bc')('abcabc', 2)]).toEqual([1, 4, 4])
    expect([indexIn('abc', ''), lastIndexIn('abc', ''), indexIn('', 'a')]).toEqual([0, 3, -1])
    expect([indexIn('ab', 'a'.repeat(100)), lastIndexIn('ab', 'a'.repeat(100))]).toEqual([-1, -1])
  })

  it('counts and splits at long texts without overlaps', () => {
    const wanted = 'ab'.repeat(50)
    const find = finder(wanted)
    const text = wanted.repeat(3)
    expect([find(text, 0), find(text, 1), find(text, 100), find(text, 201)]).toEqual([0, 2, 100, -1])
  })
})
