import { ExprError } from '../errors.ts'
import { arithmetic, negate } from '../evaluate/arithmetic.ts'
import type { Filter, Run, Table } from '../evaluate/callable.ts'
import { fixed } from '../evaluate/decimal.ts'
import { intArgument, iterate, keyReader } from '../evaluate/lookup.ts'
import { float, int, isFloat, numberOf, typeName, type Value } from '../evaluate/value.ts'

export const numberFilters: Table<Filter> = {
  abs: {
    params: {},
    apply: (value) => {
      const number = numberArgument(value, 'abs')
      if (isFloat(value)) return float(Math.abs(number))
      return number < 0 ? negate(value) : int(number)
    },
  },
  round: { params: { precision: 0, method: 'common' }, apply: round },
  sum: { params: { attribute: null, start: 0 }, apply: sum },
}

function numberArgument(value: Value, filter: string): number {
  const number = numberOf(value)
  if (number !== null) return number
  throw new ExprError(
    'expr_type',
    `${filter} needs a number, not ${typeName(value)}: use \`| int\` or \`| float\` first`,
  )
}

function sum(value: Value, [attribute, start]: readonly Value[], { meter }: Run): Value {
  const items = iterate(value, meter)
  meter.touch(items.length)
  if (typeof start === 'string') throw new ExprError('expr_type', 'sum adds no texts: use `| join`')
  const read = keyReader(attribute, meter)
  let total: Value = start
  for (const item of items) total = arithmetic('+', total, read(item), meter)
  return total
}

function round(value: Value, [precision, method]: readonly Value[]): Value {
  const number = numberArgument(value, 'round')
  const digits = intArgument(precision, 'round')
  if (method === 'ceil' || method === 'floor') {
    const scale = 10 ** digits
    const rounded = (Math[method](number * scale) + 0) / scale
    if (Number.isFinite(rounded)) return float(rounded)
    throw new ExprError('expr_value', `round: ${digits} digits are out of reach for this number`)
  }
  if (method !== 'common') throw new ExprError('expr_value', "round's method is 'common', 'ceil' or 'floor'")
  if (!isFloat(value)) return digits >= 0 ? int(number) : int(roundToTens(number, 10 ** -digits))
  if (!Number.isFinite(number)) return number
  return float(digits >= 0 ? roundDecimals(number, digits) : roundToTens(number, 10 ** -digits))
}

function roundDecimals(number: number, digits: number): number {
  if (digits > 50 || Math.abs(number) >= 1e21) return number
  return Number(fixed(number, digits))
}

function roundToTens(number: number, unit: number): number {
  const sign = number < 0 || Object.is(number, -0) ? -1 : 1
  if (!Number.isFinite(unit)) return 0 * sign
  const size = Math.abs(number)
  const whole = Math.floor(size / unit)
  const twice = (size - whole * unit) * 2
  const up = twice > unit || (twice === unit && whole % 2 === 1)
  return (up ? whole + 1 : whole) * unit * sign
}
