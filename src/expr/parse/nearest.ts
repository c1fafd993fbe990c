/** The known word most similar to a mistyped one; null: none is close. */
export function nearest(word: string, known: readonly string[]): string | null {
  const limit = Math.max(1, Math.floor(word.length / 3))
  let best: string | null = null
  let least = limit + 1
  if (word.length > 40) return null
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue
    const steps = distance(word, candidate)
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best
}

/** Letters to insert, remove or replace. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_none, at) => at)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] as number) + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, replaced))
    }
    row = next
  }
  return row[right.length] as number
}
