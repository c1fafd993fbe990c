import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { differences, sums, wordColumn, wordsIn } from './columns.ts'

describe('columns', () => {
  it('words are listed once, in the order in which they first occur', () => {
    expect(wordColumn(['b', 'a', null, 'b'])).toEqual({ words: ['b', 'a'], of: [0, 1, null, 0] })
  })

  it('numbers are differences, the first from the base', () => {
    expect(differences([105, null, 110, 100], 100)).toEqual([5, null, 5, -10])
  })

  it('both are read back as they were', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.string())),
        fc.array(fc.option(fc.integer())),
        fc.integer(),
        (words, values, base) => {
          expect(wordsIn(wordColumn(words))).toEqual(words)
          expect(sums(differences(values, base), base)).toEqual(values)
        },
      ),
    )
  })
})
