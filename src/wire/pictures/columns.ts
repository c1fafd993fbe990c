/**
 * Columns: a table as one list per column, for pictures of thousands of rows. Words are listed once and referred to by their
 * index, and numbers that grow are written as differences, so that what compresses well is small before that, too.
 */
import { list, nullable, object, text, type Value, whole } from '../schema.ts'

export const WordColumn = object({
  words: list(text()),
  of: list(nullable(whole('Index in `words`.'))),
})
export type Words = Value<typeof WordColumn>

export const numbers = (description: string) => list(nullable(whole()), description)

/** Each word once, in the order in which they first occur. */
export function wordColumn(values: readonly (string | null)[]): Words {
  const at = new Map<string, number>()
  const of = values.map((value) => {
    if (value === null) return null
    const known = at.get(value)
    if (known !== undefined) return known
    at.set(value, at.size)
    return at.size - 1
  })
  return { words: [...at.keys()], of }
}

export function wordsIn({ words, of }: Words): readonly (string | null)[] {
  return of.map((at) => (at === null ? null : (words[at] ?? null)))
}

/** Differences: each number minus the one before it, the first minus `base`. A null is skipped. */
export function differences(values: readonly (number | null)[], base: number): readonly (number | null)[] {
  let before = base
  return values.map((value) => {
    if (value === null) return null
    const difference = value - before
    before = value
    return difference
  })
}

export function sums(values: readonly (number | null)[], base: number): readonly (number | null)[] {
  let sum = base
  return values.map((value) => {
    if (value === null) return null
    sum += value
    return sum
  })
}
