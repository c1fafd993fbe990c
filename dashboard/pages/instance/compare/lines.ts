/** The differences of two texts, line by line. */

export interface DiffLine {
  readonly kind: 'same' | 'only here' | 'only there'
  readonly text: string
}

/** Above this the lines in between are shown as replaced, without looking for common ones among them. */
const MOST_CELLS = 4_000_000

export function diffLines(here: readonly string[], there: readonly string[]): readonly DiffLine[] {
  let start = 0
  while (start < here.length && start < there.length && here[start] === there[start]) start++
  let end = 0
  while (end < here.length - start && end < there.length - start && here.at(-1 - end) === there.at(-1 - end)) end++
  const same = (text: string): DiffLine => ({ kind: 'same', text })
  const between = middle(here.slice(start, here.length - end), there.slice(start, there.length - end))
  return [...here.slice(0, start).map(same), ...between, ...here.slice(here.length - end).map(same)]
}

function middle(here: readonly string[], there: readonly string[]): readonly DiffLine[] {
  if (here.length * there.length > MOST_CELLS) {
    return [
      ...here.map((text): DiffLine => ({ kind: 'only here', text })),
      ...there.map((text): DiffLine => ({ kind: 'only there', text })),
    ]
  }
  const width = there.length + 1
  // Length of the longest common subsequence of what follows each pair.
  const common = new Uint32Array((here.length + 1) * width)
  for (let i = here.length - 1; i >= 0; i--) {
    for (let j = there.length - 1; j >= 0; j--) {
      const below = common[(i + 1) * width + j] as number
      const right = common[i * width + j + 1] as number
      const both = (common[(i + 1) * width + j + 1] as number) + 1
      common[i * width + j] = here[i] === there[j] ? both : Math.max(below, right)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < here.length || j < there.length) {
    if (i < here.length && j < there.length && here[i] === there[j]) {
      lines.push({ kind: 'same', text: here[i] as string })
      i++
      j++
    } else if (
      j === there.length ||
      (i < here.length && (common[(i + 1) * width + j] as number) >= (common[i * width + j + 1] as number))
    ) {
      lines.push({ kind: 'only here', text: here[i] as string })
      i++
    } else {
      lines.push({ kind: 'only there', text: there[j] as string })
      j++
    }
  }
  return lines
}

const AROUND = 3

/** Of long equal parts only the lines next to a difference; a number stands for what is left out. */
export function folded(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const near = new Set<number>()
  for (const [at, { kind }] of lines.entries()) {
    if (kind === 'same') continue
    for (let by = -AROUND; by <= AROUND; by++) near.add(at + by)
  }
  const shown: (DiffLine | number)[] = []
  for (const [at, line] of lines.entries()) {
    const last = shown.at(-1)
    if (near.has(at)) shown.push(line)
    else if (typeof last === 'number') shown[shown.length - 1] = last + 1
    else shown.push(1)
  }
  return shown
}
