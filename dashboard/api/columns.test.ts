import fc from 'fast-check'
import { expect, it } from 'vitest'
import { differences, wordColumn } from '../../src/wire/pictures/columns.ts'
import { sumsOf, wordsOf } from './columns.ts'

it('columns are read back as the server has written them', () => {
  const numbers = fc.array(fc.option(fc.integer()))
  fc.assert(
    fc.property(fc.array(fc.option(fc.string())), numbers, fc.integer(), (words, values, base) => {
      expect(wordsOf(wordColumn(words))).toEqual(words)
      expect(sumsOf(differences(values, base), base)).toEqual(values)
    }),
  )
})
