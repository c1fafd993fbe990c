import { guardDepth, type Meter } from '../budget.ts'
import { Pieces } from './pieces.ts'
import { Float, isDict, isList, itemsOf, keysOf, Tuple, type Value, valueAt } from './value.ts'

/** Python's str(): the text that `{{ value }}` prints. */
export function str(value: Value, meter: Meter): string {
  return typeof value === 'string' ? value : repr(value, meter)
}

export function repr(value: Value, meter: Meter): string {
  // Most printed values are numbers.
  const scalar = scalarText(value, 0)
  if (scalar !== null) {
    meter.produce(scalar.length)
    return scalar
  }
  const pieces = new Pieces()
  write(value, pieces, meter, 0)
  return pieces.text()
}

function write(value: Value, pieces: Pieces, meter: Meter, depth: number): void {
  if (typeof value === 'string') {
    meter.produce(Buffer.byteLength(value) + 2)
    pieces.push(quote(value))
    return
  }
  const scalar = scalarText(value, depth)
  if (scalar !== null) {
    meter.produce(scalar.length)
    pieces.push(scalar)
    return
  }
  guardDepth(depth)
  meter.produce(2)
  if (isDict(value)) {
    pieces.push('{')
    keysOf(value, meter).forEach((key, at) => {
      if (at > 0) pieces.push(', ')
      write(key, pieces, meter, depth + 1)
      pieces.push(': ')
      write(valueAt(value, key), pieces, meter, depth + 1)
      meter.produce(4)
    })
    pieces.push('}')
    return
  }
  const items = itemsOf(value) ?? []
  pieces.push(isList(value) ? '[' : '(')
  items.forEach((item, at) => {
    if (at > 0) pieces.push(', ')
    write(item, pieces, meter, depth + 1)
    meter.produce(2)
  })
  pieces.push(isList(value) ? ']' : value instanceof Tuple && items.length === 1 ? ',)' : ')')
}

function scalarText(value: Value, depth: number): string | null {
  if (value === undefined) return depth === 0 ? '' : 'Undefined'
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (value instanceof Float) return floatText(value.value)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : floatText(value)
  return null
}

/** repr(float): the shortest digits that read back, in exponent form below 1e-4 and from 1e16 on. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  const [digits, power] = value.toExponential().split('e') as [string, string]
  const exponent = Number(power)
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${digits}e${exponent < 0 ? '-' : '+'}${size}`
  }
  const text = String(value)
  return text.includes('.') ? text : `${text}.0`
}

const PLAIN = /^[ !#-&(-[\]-~]*$/
const UNPRINTABLE = /[\p{C}\p{Z}\\]/gu
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  [' ', ' '],
])

function quote(text: string): string {
  if (PLAIN.test(text)) return `'${text}'`
  const escaped = text.replace(UNPRINTABLE, (char) => ESCAPES.get(char) ?? codePointEscape(char))
  if (!escaped.includes("'")) return `'${escaped}'`
  return escaped.includes('"') ? `'${escaped.replaceAll("'", "\\'")}'` : `"${escaped}"`
}

function codePointEscape(char: string): string {
  const code = char.codePointAt(0) ?? 0
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, '0')}`
  return `\\U${code.toString(16).padStart(8, '0')}`
}
