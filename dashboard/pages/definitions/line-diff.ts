/** Two texts line by line: what both have, and what one of them has. */

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
  /** From 1; null: that text does not have it. */
  readonly before: number | null
  readonly after: number | null
}

/** Larger differences are shown as one block that was replaced. */
const MOST_CELLS = 4_000_000

export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++
  }
  const lines: DiffLine[] = []
  const same = (i: number, j: number): void => {
    lines.push({ kind: 'same', text: before[i] as string, before: i + 1, after: j + 1 })
  }
  for (let i = 0; i < start; i++) same(i, i)
  const until = { before: before.length - end, after: after.length - end }
  let i = start
  let j = start
  for (const [a, b] of [...common(before, after, start, until), [until.before, until.after] as const]) {
    for (; i < a; i++) lines.push({ kind: 'removed', text: before[i] as string, before: i + 1, after: null })
    for (; j < b; j++) lines.push({ kind: 'added', text: after[j] as string, before: null, after: j + 1 })
    if (a === until.before && b === until.after) break
    same(i++, j++)
  }
  for (; i < before.length; i++, j++) same(i, j)
  return lines
}

/** Pairs of equal lines: a longest common subsequence. */
function common(
  before: readonly string[],
  after: readonly string[],
  start: number,
  until: { readonly before: number; readonly after: number },
): readonly (readonly [number, number])[] {
  const rows = until.before - start
  const columns = until.after - start
  if (rows === 0 || columns === 0 || rows * columns > MOST_CELLS) return []
  const width = columns + 1
  const lengths = new Uint32Array((rows + 1) * width)
  const at = (i: number, j: number): number => lengths[i * width + j] as number
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const isSame = before[start + i] === after[start + j]
      lengths[i * width + j] = isSame ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const pairs: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (before[start + i] === after[start + j]) pairs.push([start + i++, start + j++])
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return pairs
}

/** Only what has changed and a few lines around it; null: a gap. */
export function withContext(lines: readonly DiffLine[], around = 3): readonly (DiffLine | null)[] {
  const near = new Set<number>()
  for (const [i, { kind }] of lines.entries()) {
    if (kind !== 'same') for (let k = i - around; k <= i + around; k++) near.add(k)
  }
  const shown: (DiffLine | null)[] = []
  for (const [i, line] of lines.entries()) {
    if (near.has(i)) shown.push(line)
    else if (shown.at(-1) !== null) shown.push(null)
  }
  return shown
}
