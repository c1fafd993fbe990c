/** The words of a line of YAML or JSON, for colouring: a line at a time, without understanding the text. */

export type WordKind = 'key' | 'text' | 'comment' | 'number' | 'plain'

export interface Word {
  readonly kind: WordKind
  readonly text: string
}

/** In this order: a comment begins a line or follows a space; a key is followed by a colon. */
const WORDS =
  /(?<comment>(?<![^\s])#.*)|(?<key>(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\w$][\w$./-]*)(?=\s*:(?:\s|$)))|(?<text>"(?:[^"\\]|\\.)*"?|(?<![^\s[{,:-])'(?:[^']|'')*'?)|(?<number>(?<![^\s[{,:])(?:-?\d[\d.eE+-]*|true|false|null|~)(?![^\s\]},]))|(?<plain>\s+|[^\s"'#[\]{},:]+|.)/g

const LONGEST = 2_000

export function wordsOf(line: string): readonly Word[] {
  // A line of data, such as a picture in base64.
  if (line.length > LONGEST) return [{ kind: 'plain', text: line }]
  const words: { kind: WordKind; text: string }[] = []
  for (const { groups = {} } of line.matchAll(WORDS)) {
    const [kind, text] = Object.entries(groups).find(([, found]) => found !== undefined) as [WordKind, string]
    const last = words.at(-1)
    if (last?.kind === kind) last.text += text
    else words.push({ kind, text })
  }
  return words
}

/** Without the line break at the end of the last one. */
export function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r\n|\n|\r/)
  if (lines.length > 1 && lines.at(-1) === '') lines.pop()
  return lines
}
