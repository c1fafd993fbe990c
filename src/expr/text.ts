/** Python's view of text: code points instead of code units, its idea of white space, its split and replace. */
import type { Meter } from './budget.ts'
import { ExprError } from './errors.ts'

const SURROGATE = /[\ud800-\udfff]/

/** One entry per code point. */
export function characters(text: string, meter: Meter): readonly string[] {
  meter.slots(text.length)
  return SURROGATE.test(text) ? Array.from(text) : text.split('')
}

export function textLength(text: string, meter: Meter): number {
  meter.read(text)
  return SURROGATE.test(text) ? Array.from(text).length : text.length
}

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

function isSpace(char: string): boolean {
  return SPACE.test(char)
}

export function strip(text: string, chars: string | null, meter: Meter): string {
  meter.read(text)
  const drop = chars === null ? isSpace : (char: string) => chars.includes(char)
  let start = 0
  let end = text.length
  while (start < end && drop(text.charAt(start))) start++
  while (end > start && drop(text.charAt(end - 1))) end--
  return text.slice(start, end)
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

function splitAt(text: string, separator: string, limit: number): readonly string[] {
  if (limit < 0) return text.split(separator)
  const parts: string[] = []
  let from = 0
  while (parts.length < limit) {
    const at = text.indexOf(separator, from)
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
  meter.read(text)
  const pieces = old === '' ? ['', ...characters(text, meter), ''] : splitAt(text, old, limit)
  const joins = limit < 0 ? pieces.length - 1 : Math.min(limit, pieces.length - 1)
  meter.produce(Buffer.byteLength(text) + joins * Buffer.byteLength(fresh))
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
  return first.toUpperCase() + text.slice(first.length).toLowerCase()
}

const WORD_BREAK = /([-\s({[<]+)/

export function title(text: string): string {
  return text.split(WORD_BREAK).map(capitalize).join('')
}
