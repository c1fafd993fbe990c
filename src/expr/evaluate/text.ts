/** Texts as in Python: code points instead of code units, its definition of white space, its split and replace. */
import type { Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { finder } from './search.ts'

const SURROGATE = /[\ud800-\udfff]/

/** One entry per code point. */
export function characters(text: string, meter: Meter): readonly string[] {
  meter.slots(text.length)
  return SURROGATE.test(text) ? Array.from(text) : text.split('')
}

export function textLength(text: string, meter: Meter): number {
  meter.read(text.length)
  return SURROGATE.test(text) ? codePoints(text) : text.length
}

/** Counted one by one: a list of them would take many times the memory of the text. */
function codePoints(text: string): number {
  let count = 0
  for (const _character of text) count++
  return count
}

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

function isSpace(char: string): boolean {
  return SPACE.test(char)
}

export type Side = 'start' | 'end' | 'both'

export function strip(text: string, chars: string | null, side: Side, meter: Meter): string {
  meter.read(text.length)
  if (chars !== null) meter.touch(chars.length)
  const set = chars === null ? null : new Set(chars)
  const drop = set === null ? isSpace : (char: string) => set.has(char)
  const wide = chars !== null && SURROGATE.test(chars)
  const units = wide ? characters(text, meter) : null
  const at = (position: number) => units?.[position] ?? text.charAt(position)
  let start = 0
  let end = units?.length ?? text.length
  if (side !== 'end') while (start < end && drop(at(start))) start++
  if (side !== 'start') while (end > start && drop(at(end - 1))) end--
  return units === null ? text.slice(start, end) : units.slice(start, end).join('')
}

/** limit: at most that many cuts, -1 for all. */
export function split(text: string, separator: string | null, limit: number, meter: Meter): readonly string[] {
  if (separator === '')
    throw new ExprError('expr_value', 'split needs a separator that is not empty: leave it out to split at white space')
  meter.text(text)
  const parts = separator === null ? splitAtSpace(text, limit) : splitAt(text, separator, limit)
  meter.slots(parts.length)
  return parts
}

/** The same, cutting from the end. */
export function splitFromEnd(text: string, separator: string | null, limit: number, meter: Meter): readonly string[] {
  if (limit < 0) return split(text, separator, limit, meter)
  const turned = (part: string) => characters(part, meter).toReversed().join('')
  const parts = split(turned(text), separator === null ? null : turned(separator), limit, meter)
  return parts.map(turned).toReversed()
}

function splitAt(text: string, separator: string, limit: number): readonly string[] {
  const find = finder(separator)
  const parts: string[] = []
  let from = 0
  while (limit < 0 || parts.length < limit) {
    const at = find(text, from)
    if (at < 0) break
    parts.push(text.slice(from, at))
    from = at + separator.length
  }
  parts.push(text.slice(from))
  return parts
}

function splitAtSpace(text: string, limit: number): readonly string[] {
  const parts: string[] = []
  let at = 0
  while (true) {
    while (at < text.length && isSpace(text.charAt(at))) at++
    if (at >= text.length) return parts
    if (limit >= 0 && parts.length === limit) {
      parts.push(text.slice(at))
      return parts
    }
    const start = at
    while (at < text.length && !isSpace(text.charAt(at))) at++
    parts.push(text.slice(start, at))
  }
}

/** The size is known before the text is built, so an exploding replacement costs nothing. */
export function replace(text: string, old: string, fresh: string, limit: number, meter: Meter): string {
  meter.text(text)
  const pieces = old === '' ? ['', ...characters(text, meter), ''] : splitAt(text, old, limit)
  const joins = limit < 0 ? pieces.length - 1 : Math.min(limit, pieces.length - 1)
  meter.produce(joins * Buffer.byteLength(fresh))
  if (old !== '' || limit < 0) return pieces.join(fresh)
  return (
    pieces
      .slice(0, joins)
      .map((piece) => piece + fresh)
      .join('') + pieces.slice(joins).join('')
  )
}

export function capitalize(text: string): string {
  const [first = ''] = text
  return titled(first) + text.slice(first.length).toLowerCase()
}

/** The first letter in title case: if it becomes two, only the first is a capital. */
function titled(first: string): string {
  const [upper = '', ...more] = first.toUpperCase()
  return upper + more.join('').toLowerCase()
}

const WORD_BREAK = /([-\s({[<]+)/

/** The filter: a word begins after white space, a hyphen or an opening bracket. */
export function title(text: string): string {
  return text
    .split(WORD_BREAK)
    .map((word) => {
      const [first = ''] = word
      return first.toUpperCase() + word.slice(first.length).toLowerCase()
    })
    .join('')
}

/** The method: a word is a run of letters. */
export function titleCase(text: string): string {
  return text.replace(/\p{L}+/gu, capitalize)
}

export function swapCase(text: string): string {
  return Array.from(text, (char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase())).join('')
}

/** Without overlaps. */
export function occurrences(text: string, wanted: string, meter: Meter): number {
  meter.read(text.length)
  meter.read(wanted.length)
  if (wanted === '') return textLength(text, meter) + 1
  const find = finder(wanted)
  let count = 0
  for (let at = find(text, 0); at >= 0; at = find(text, at + wanted.length)) count++
  return count
}

/** To at least `width` code points. */
export function padStart(text: string, width: number, fill: string, meter: Meter): string {
  return fill.repeat(Math.max(0, width - textLength(text, meter))) + text
}

/** Python's str.center: an odd blank is placed left when the width is odd. */
export function center(text: string, width: number, fill: string, meter: Meter): string {
  const missing = Math.max(0, width - textLength(text, meter))
  const left = Math.floor(missing / 2) + (missing & width & 1)
  meter.produce(Buffer.byteLength(text) + missing * Buffer.byteLength(fill))
  return fill.repeat(left) + text + fill.repeat(missing - left)
}

export function padEnd(text: string, width: number, fill: string, meter: Meter): string {
  return text + fill.repeat(Math.max(0, width - textLength(text, meter)))
}

const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/

/** Python's splitlines: no empty line at the end. */
export function lines(text: string, meter: Meter): readonly string[] {
  meter.text(text)
  const parts = text.split(LINE_END)
  if (parts.at(-1) === '') parts.pop()
  meter.slots(parts.length)
  return parts
}

/** true: it has letters with case, and all of them are lower. */
export function isLower(text: string, meter: Meter): boolean {
  meter.read(text.length)
  return text !== text.toUpperCase() && text === text.toLowerCase()
}

export function isUpper(text: string, meter: Meter): boolean {
  meter.read(text.length)
  return text !== text.toLowerCase() && text === text.toUpperCase()
}
