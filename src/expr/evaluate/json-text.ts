/**
 * tojson as Jinja2 writes it: sorted keys, `, ` and `: `, ASCII only, and < > & ' escaped so that the text is safe
 * inside HTML and inside a single-quoted string.
 */
import { guardDepth, type Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { Pieces } from './pieces.ts'
import { floatText } from './print.ts'
import { Float, isDict, itemsOf, keysOf, keyText, type Value, valueAt } from './value.ts'

export function jsonText(value: Value, indent: number | null, meter: Meter): string {
  const pieces = new Pieces()
  write(value, indent, pieces, meter, 0)
  return pieces.text()
}

function write(value: Value, indent: number | null, pieces: Pieces, meter: Meter, depth: number): void {
  const atLeast = typeof value === 'string' ? value.length : 0
  meter.produce(atLeast)
  const scalar = scalarText(value)
  if (scalar !== null) {
    meter.produce(scalar.length - atLeast)
    pieces.push(scalar)
    return
  }
  guardDepth(depth)
  meter.produce((indent ?? 0) * (depth + 1))
  const inner = indent === null ? '' : `\n${' '.repeat(indent * (depth + 1))}`
  const outer = indent === null ? '' : `\n${' '.repeat(indent * depth)}`
  const comma = indent === null ? ', ' : ','
  const put = (piece: string) => {
    meter.produce(piece.length)
    pieces.push(piece)
  }
  const separate = (at: number) => put(at === 0 ? inner : comma + inner)
  if (isDict(value)) {
    const keys = keysOf(value, meter).map((key) => ({ key, text: keyText(key) }))
    keys.sort((left, right) => (left.text < right.text ? -1 : 1))
    put('{')
    keys.forEach(({ key, text }, at) => {
      separate(at)
      put(quote(text))
      put(': ')
      write(valueAt(value, key), indent, pieces, meter, depth + 1)
    })
    put(keys.length > 0 ? `${outer}}` : '}')
    return
  }
  const items = itemsOf(value) ?? []
  put('[')
  items.forEach((item, at) => {
    separate(at)
    write(item, indent, pieces, meter, depth + 1)
  })
  put(items.length > 0 ? `${outer}]` : ']')
}

function scalarText(value: Value): string | null {
  if (value === undefined || value === null) return 'null'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return quote(value)
  if (value instanceof Float) return floatText(value.value)
  if (typeof value !== 'number') return null
  if (!Number.isFinite(value)) throw new ExprError('expr_value', `${floatText(value)} cannot be written as JSON`)
  return Number.isSafeInteger(value) ? String(value) : floatText(value)
}

const ESCAPED = /[<>&'\x7f-\uffff]/g

function quote(text: string): string {
  return JSON.stringify(text).replace(ESCAPED, escaped)
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
