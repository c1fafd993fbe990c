/**
 * Cuts a template into text, output tags and statement tags. The library's tokenizer could do it too, but it keeps no
 * positions, rejects escapes Python accepts, and rewrites `{% generation %}` with a regular expression that is
 * quadratic in white space. So it only ever gets the code inside one tag, with string literals extracted and runs of
 * white space collapsed.
 */
import { DEPTH_LIMIT, SOURCE_LIMIT } from '../budget.ts'
import { ExprError, type Place, placeAt } from '../errors.ts'

/** The code of one expression or tag. In `text`, a string literal is replaced by its number in `strings`, quoted. */
export interface Code {
  readonly text: string
  readonly strings: readonly string[]
  readonly place: Place
}

export type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly code: Code }
  | { readonly kind: 'statement'; readonly code: Code }

export function guardSource(source: string): void {
  if (source.length <= SOURCE_LIMIT) return
  throw new ExprError(
    'expr_budget',
    `the source is ${source.length} characters long, the limit is ${SOURCE_LIMIT}: move the fixed text into data`,
    placeAt(source, 0, 80),
  )
}

export function scanExpression(source: string): Code {
  const { text, strings, end } = scanCode(source, 0, null)
  return { text, strings, place: placeAt(source, 0, end) }
}

const OPENING = /\{[{%#]/g

export function scanTemplate(source: string): readonly Segment[] {
  // Jinja2 drops one newline at the very end, which YAML block scalars always have.
  const limit = source.endsWith('\n') ? source.length - 1 : source.length
  const template = source.slice(0, limit)
  const segments: Segment[] = []
  let trimNext = false
  let at = 0
  const addText = (end: number, trimEnd: boolean) => {
    let text = template.slice(at, end)
    if (trimNext) text = text.trimStart()
    if (trimEnd) text = text.trimEnd()
    if (text !== '') segments.push({ kind: 'text', text })
  }
  while (true) {
    OPENING.lastIndex = at
    const start = OPENING.exec(template)?.index
    if (start === undefined) break
    const sign = template.charAt(start + 2)
    addText(start, sign === '-')
    const from = sign === '-' || sign === '+' ? start + 3 : start + 2
    const tag = template.charAt(start + 1)
    if (tag === '#') {
      at = endOfComment(template, start, from)
      trimNext = template.charAt(at - 3) === '-'
      continue
    }
    const raw = tag === '%' ? rawText(template, start) : null
    if (raw !== null) {
      at = raw.from
      trimNext = raw.trimStart
      addText(raw.to, raw.trimEnd)
      at = raw.end
      trimNext = raw.trimAfter
      continue
    }
    const closing = tag === '{' ? '}}' : '%}'
    const scanned = scanCode(template, from, closing)
    const code = { text: scanned.text, strings: scanned.strings, place: placeAt(template, start, scanned.end - start) }
    segments.push({ kind: tag === '{' ? 'output' : 'statement', code })
    trimNext = scanned.trimAfter
    at = scanned.end
  }
  addText(template.length, false)
  return segments
}

interface Raw {
  readonly from: number
  readonly to: number
  readonly end: number
  readonly trimStart: boolean
  readonly trimEnd: boolean
  readonly trimAfter: boolean
}

const RAW = /\{%[-+]?\s*raw\s*(-?)%\}/y
const END_RAW = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g

/** {% raw %}: text without tags. null: this is another tag. */
function rawText(source: string, start: number): Raw | null {
  RAW.lastIndex = start
  const opening = RAW.exec(source)
  if (opening === null) return null
  const from = start + opening[0].length
  END_RAW.lastIndex = from
  const closing = END_RAW.exec(source)
  if (closing === null) {
    throw new ExprError('expr_syntax', '`raw` is never closed: add {% endraw %}', placeAt(source, start, 20))
  }
  return {
    from,
    to: closing.index,
    end: closing.index + closing[0].length,
    trimStart: opening[1] === '-',
    trimEnd: closing[1] === '-',
    trimAfter: closing[2] === '-',
  }
}

function endOfComment(source: string, start: number, from: number): number {
  const end = source.indexOf('#}', from)
  if (end >= 0) return end + 2
  throw new ExprError('expr_syntax', 'the comment is never closed: end it with `#}`', placeAt(source, start, 20))
}

interface Scanned {
  readonly text: string
  readonly strings: readonly string[]
  readonly end: number
  readonly trimAfter: boolean
}

const CLOSERS: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
])

function scanCode(source: string, from: number, closing: '}}' | '%}' | null): Scanned {
  const strings: string[] = []
  const expected: string[] = []
  let text = ''
  let at = from
  const fail = (detail: string, where = at) => new ExprError('expr_syntax', detail, placeAt(source, where, 40))
  while (at < source.length) {
    const char = source.charAt(at)
    if (closing !== null && expected.length === 0) {
      if (source.startsWith(closing, at)) return { text, strings, end: at + 2, trimAfter: false }
      const signed = char === '-' || (char === '+' && closing === '%}')
      if (signed && source.startsWith(closing, at + 1)) return { text, strings, end: at + 3, trimAfter: char === '-' }
    }
    if (char === "'" || char === '"') {
      const literal = scanString(source, at)
      text += ` '${strings.push(literal.value) - 1}' `
      at = literal.end
      continue
    }
    const closer = CLOSERS.get(char)
    if (closer !== undefined) {
      expected.push(closer)
      if (expected.length > DEPTH_LIMIT) {
        throw new ExprError('expr_budget', `brackets nest deeper than ${DEPTH_LIMIT} levels`, placeAt(source, at, 40))
      }
    } else if (char === ')' || char === ']' || char === '}') {
      const wanted = expected.pop()
      if (wanted !== char)
        throw fail(
          wanted === undefined ? `\`${char}\` closes nothing` : `\`${char}\` found where \`${wanted}\` is expected`,
        )
    }
    if (/\s/.test(char)) {
      if (!text.endsWith(' ')) text += ' '
    } else text += char
    at++
  }
  const [open] = expected.slice(-1)
  if (open !== undefined) throw fail(`\`${open}\` is missing at the end`, from)
  if (closing !== null) throw fail(`the tag is never closed: end it with \`${closing}\``, Math.max(0, from - 2))
  return { text, strings, end: at, trimAfter: false }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
  ['v', '\v'],
  ['a', '\x07'],
  ['\n', ''],
])

const CODE_POINT = /x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})/y

/** A string literal with Python's escapes; a backslash before anything else stays, so '\d' needs no doubling. */
function scanString(source: string, start: number): { readonly value: string; readonly end: number } {
  const quote = source.charAt(start)
  let value = ''
  let at = start + 1
  while (at < source.length) {
    const char = source.charAt(at)
    if (char === quote) return { value, end: at + 1 }
    if (char !== '\\') {
      value += char
      at++
      continue
    }
    const simple = ESCAPES.get(source.charAt(at + 1))
    CODE_POINT.lastIndex = at + 1
    const point = simple === undefined ? CODE_POINT.exec(source) : null
    value += simple ?? decodePoint(point) ?? '\\'
    at += simple !== undefined ? 2 : point !== null ? 1 + point[0].length : 1
  }
  throw new ExprError('expr_syntax', `the string is never closed: end it with ${quote}`, placeAt(source, start, 40))
}

function decodePoint(match: RegExpExecArray | null): string | null {
  if (match === null) return null
  const hex = match[1] ?? match[2] ?? match[3]
  const code = hex === undefined ? Number.parseInt(match[4] ?? '0', 8) : Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
}
