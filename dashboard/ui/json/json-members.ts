/**
 * The parts of a JSON text as they were written, without reading numbers: for data that are shown digit by digit. The text
 * must be valid JSON, such as an answer of the server.
 */

/** The members of an object, each with its text; empty if the text is not an object. */
export function membersOf(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  let at = pastSpace(text, 0)
  if (text[at] !== '{') return found
  at = pastSpace(text, at + 1)
  while (at < text.length && text[at] !== '}') {
    const keyEnd = endOfValue(text, at)
    const key = JSON.parse(text.slice(at, keyEnd)) as string
    const begin = pastSpace(text, pastSpace(text, keyEnd) + 1)
    const end = endOfValue(text, begin)
    found.set(key, text.slice(begin, end))
    at = pastComma(text, end)
  }
  return found
}

/** The elements of a list, each as its text; empty if the text is not a list. */
export function elementsOf(text: string): readonly string[] {
  const found: string[] = []
  let at = pastSpace(text, 0)
  if (text[at] !== '[') return found
  at = pastSpace(text, at + 1)
  while (at < text.length && text[at] !== ']') {
    const end = endOfValue(text, at)
    found.push(text.slice(at, end))
    at = pastComma(text, end)
  }
  return found
}

/** The text of a member of a member; null if there is none. */
export function memberAt(text: string, ...path: readonly string[]): string | null {
  let part: string | undefined = text
  for (const name of path) {
    part = membersOf(part).get(name)
    if (part === undefined) return null
  }
  return part
}

function pastSpace(text: string, at: number): number {
  while (at < text.length && (text.charCodeAt(at) === 32 || (text.charCodeAt(at) >= 9 && text.charCodeAt(at) <= 13)))
    at++
  return at
}

function pastComma(text: string, at: number): number {
  const next = pastSpace(text, at)
  return text[next] === ',' ? pastSpace(text, next + 1) : next
}

function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return end + 1
  }
  return text.length
}

const MARK = /["[\]{}]/g
const AFTER_WORD = /[\s,\]}]/g

function endOfValue(text: string, at: number): number {
  const first = text[at]
  if (first === '"') return endOfString(text, at)
  if (first !== '{' && first !== '[') return indexAfter(AFTER_WORD, text, at)
  let depth = 0
  for (let mark = at; mark < text.length; mark = indexAfter(MARK, text, mark)) {
    const sign = text[mark]
    if (sign === '"') {
      mark = endOfString(text, mark)
      continue
    }
    if (sign === '{' || sign === '[') depth++
    else if (sign === '}' || sign === ']') depth--
    if (depth === 0) return mark + 1
    mark++
  }
  return text.length
}

function indexAfter(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  const found = pattern.exec(text)
  return found === null ? text.length : found.index
}
