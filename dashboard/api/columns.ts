/** Reads the columns of pictures (src/wire/pictures/columns.ts writes them). */

interface Words {
  readonly words: readonly string[]
  readonly of: readonly (number | null)[]
}

export function wordsOf({ words, of }: Words): readonly (string | null)[] {
  return of.map((at) => (at === null ? null : (words[at] ?? null)))
}

/** Numbers from differences; the first is to `base`. */
export function sumsOf(differences: readonly (number | null)[], base: number): readonly (number | null)[] {
  let sum = base
  return differences.map((difference) => (difference === null ? null : (sum += difference)))
}
