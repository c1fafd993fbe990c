import type { Json } from '../../net/net.ts'
import { guardDepth, type Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { plainOf } from '../evaluate/alias.ts'
import type { Filter, Run, Table } from '../evaluate/callable.ts'
import { isTruthy } from '../evaluate/compare.ts'
import { jsonText } from '../evaluate/json-text.ts'
import { intArgument } from '../evaluate/lookup.ts'
import { float, int, numberOf, typeName, type Value } from '../evaluate/value.ts'

const fallback: Filter = {
  params: { default_value: '', boolean: false },
  apply: (value, [instead, boolean], { meter }) =>
    value === undefined || (isTruthy(boolean, meter) && !isTruthy(value, meter)) ? instead : value,
  faced: (face, [instead, boolean], { meter }) => {
    const value = plainOf(face)
    const strict = isTruthy(plainOf(boolean), meter)
    return value === undefined || (strict && !isTruthy(value, meter)) ? instead : face
  },
}

export const conversionFilters: Table<Filter> = {
  default: fallback,
  d: fallback,
  int: {
    params: { default: 0, base: 10 },
    apply: (value, [instead, base], { meter }) => toInt(value, intArgument(base, 'int'), meter) ?? instead,
  },
  float: { params: { default: float(0) }, apply: (value, [instead], { meter }) => toFloat(value, meter) ?? instead },
  tojson: {
    params: { indent: null },
    apply: (value, [indent], { meter }) => jsonText(value, indent === null ? null : indentOf(indent), meter),
  },
  fromjson: { params: {}, apply: fromJson },
}

function indentOf(value: Value): number {
  return Math.max(intArgument(value, 'tojson'), 0)
}

function fromJson(value: Value, _args: readonly Value[], { meter }: Run): Json {
  if (typeof value !== 'string') {
    throw new ExprError('expr_type', `fromjson needs a str, not ${typeName(value)}: it may be parsed already`)
  }
  meter.text(value)
  const parsed = parseJson(value)
  guardNesting(parsed, 0)
  return parsed
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new ExprError('expr_value', `fromjson: ${error instanceof Error ? error.message : 'not JSON'}`)
  }
}

/** The parser accepts any depth, but writing such a value as JSON would overflow the stack. */
function guardNesting(value: Json, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  guardDepth(depth)
  for (const inner of Object.values(value)) guardNesting(inner, depth + 1)
}

/** undefined: not a number, so the default applies. */
function toInt(value: Value, base: number, meter: Meter): Value {
  if (typeof value === 'string') {
    meter.read(value.length)
    const whole = parseWhole(value.trim().toLowerCase(), base)
    if (whole !== null) return int(whole)
  }
  const number = typeof value === 'string' ? parseNumber(value) : numberOf(value)
  return number === null || !Number.isFinite(number) ? undefined : int(Math.trunc(number))
}

function toFloat(value: Value, meter: Meter): Value {
  if (typeof value === 'string') meter.read(value.length)
  const number = typeof value === 'string' ? parseNumber(value) : numberOf(value)
  return number === null ? undefined : float(number)
}

const PREFIXES: ReadonlyMap<number, string> = new Map([
  [2, '0b'],
  [8, '0o'],
  [16, '0x'],
])

const DIGITS = /^\d+(?:_\d+)*$/
const LETTERS = /^[\da-z]+(?:_[\da-z]+)*$/

/** Python's int(text, base): a sign, digits of the base, single underscores between them. */
function parseWhole(text: string, base: number): number | null {
  if (base < 2 || base > 36) return null
  const negative = text.startsWith('-')
  const unsigned = negative || text.startsWith('+') ? text.slice(1) : text
  const prefix = PREFIXES.get(base)
  const digits = prefix !== undefined && unsigned.startsWith(prefix) ? unsigned.slice(prefix.length) : unsigned
  if (!(base === 10 ? DIGITS : LETTERS).test(digits)) return null
  if (base === 10) return Number(unsigned.replaceAll('_', '')) * (negative ? -1 : 1)
  let whole = 0
  for (const digit of digits.replaceAll('_', '')) {
    const worth = Number.parseInt(digit, 36)
    if (worth >= base) return null
    whole = whole * base + worth
  }
  return negative ? -whole : whole
}

const DECIMAL = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+)?$/
const SPECIAL = /^([+-]?)(inf|infinity|nan)$/

function parseNumber(text: string): number | null {
  const lower = text.trim().toLowerCase()
  if (DECIMAL.test(lower)) return Number(lower.replaceAll('_', ''))
  const special = SPECIAL.exec(lower)
  if (special === null) return null
  if (special[2] === 'nan') return Number.NaN
  return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}
