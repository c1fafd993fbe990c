import type { Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { str } from './print.ts'
import { printf } from './printf.ts'
import { float, int, isFloat, isList, itemsOf, List, numberOf, Tuple, typeName, type Value } from './value.ts'

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**' | '~'

export function arithmetic(operator: ArithmeticOperator, left: Value, right: Value, meter: Meter): Value {
  if (operator === '~') return concatenate(str(left, meter), str(right, meter), meter)
  const x = numberOf(left)
  const y = numberOf(right)
  if (x !== null && y !== null) {
    return isFloat(left) || isFloat(right) ? floatArithmetic(operator, x, y) : intArithmetic(operator, x, y)
  }
  if (operator === '%' && typeof left === 'string') return printf(left, right, meter)
  const joined = operator === '+' ? add(left, right, meter) : operator === '*' ? repeat(left, right, meter) : null
  if (joined === null) throw unsupported(operator, left, right)
  return joined
}

export function negate(value: Value): Value {
  const number = signable('-', value)
  return isFloat(value) ? float(-number) : int(-number)
}

export function plus(value: Value): Value {
  const number = signable('+', value)
  return isFloat(value) ? value : int(number)
}

function signable(operator: string, value: Value): number {
  const number = numberOf(value)
  if (number !== null) return number
  throw new ExprError('expr_type', `unary '${operator}' needs a number, not ${typeName(value)}: use \`| int\` first`)
}

function unsupported(operator: string, left: Value, right: Value): ExprError {
  const advice =
    left === undefined || right === undefined
      ? 'give the undefined one a value with `| default(…)`'
      : typeof left === 'string' || typeof right === 'string'
        ? 'join texts with `~`, or convert with `| int`'
        : 'convert one side first'
  return new ExprError(
    'expr_type',
    `'${operator}' does not work on ${typeName(left)} and ${typeName(right)}: ${advice}`,
  )
}

function concatenate(left: string, right: string, meter: Meter): string {
  meter.produce(Buffer.byteLength(left) + Buffer.byteLength(right))
  return left + right
}

function add(left: Value, right: Value, meter: Meter): Value {
  if (typeof left === 'string' && typeof right === 'string') return concatenate(left, right, meter)
  const leftItems = itemsOf(left)
  const rightItems = itemsOf(right)
  if (leftItems === null || rightItems === null || isList(left) !== isList(right)) return null
  meter.slots(leftItems.length + rightItems.length)
  const items = leftItems.concat(rightItems)
  return isList(left) ? new List(items) : new Tuple(items)
}

function repeat(left: Value, right: Value, meter: Meter): Value {
  const [what, times] = numberOf(right) !== null ? [left, right] : [right, left]
  const count = numberOf(times)
  if (count === null || isFloat(times)) return null
  const rounds = Math.max(0, count)
  if (typeof what === 'string') {
    meter.produce(Buffer.byteLength(what) * rounds)
    return what === '' ? '' : what.repeat(rounds)
  }
  const items = itemsOf(what)
  if (items === null) return null
  meter.slots(items.length * rounds)
  const repeated: Value[] = []
  if (items.length > 0) for (let round = 0; round < rounds; round++) for (const item of items) repeated.push(item)
  return isList(what) ? new List(repeated) : new Tuple(repeated)
}

function intArithmetic(operator: ArithmeticOperator, x: number, y: number): Value {
  switch (operator) {
    case '+':
      return int(x + y)
    case '-':
      return int(x - y)
    case '*':
      return int(x * y)
    case '/':
      return float(x / divisor(y))
    case '//':
      return int((x - modulo(x, divisor(y))) / y)
    case '%':
      return int(modulo(x, divisor(y)))
    default:
      return y < 0 ? float(power(divisor(x), y)) : intPower(x, y)
  }
}

function floatArithmetic(operator: ArithmeticOperator, x: number, y: number): Value {
  switch (operator) {
    case '+':
      return float(x + y)
    case '-':
      return float(x - y)
    case '*':
      return float(x * y)
    case '/':
      return float(x / divisor(y))
    case '//':
      return float(floorDivide(x, divisor(y)))
    case '%':
      return float(modulo(x, divisor(y)) || (y < 0 ? -0 : 0))
    default:
      return float(power(y < 0 ? divisor(x) : x, y))
  }
}

function divisor(value: number): number {
  if (value === 0) throw new ExprError('expr_value', 'division by zero: test the divisor with an inline if first')
  return value
}

/** The result has the sign of the divisor, as in Python. */
function modulo(x: number, y: number): number {
  const rest = x % y
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest
}

/** Python's float_floor_div: dividing first would round 1.0 // 0.1 up to 10. */
function floorDivide(x: number, y: number): number {
  if (!Number.isFinite(y)) return Math.floor(x / y)
  const quotient = (x - modulo(x, y)) / y
  const floor = Math.floor(quotient)
  const rounded = quotient - floor > 0.5 ? floor + 1 : floor
  return rounded === 0 ? 0 * (x / y) : rounded
}

/** By squaring: exact as long as the result is, which Math.pow does not guarantee. */
function intPower(base: number, exponent: number): number {
  let result = 1
  let square = base
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = int(result * square)
    if (rest > 1) square = Math.abs(square) > 1 ? int(square * square) : square * square
  }
  return int(result)
}

function power(base: number, exponent: number): number {
  const result = base ** exponent
  if (Number.isNaN(result) && !Number.isNaN(base) && !Number.isNaN(exponent)) {
    throw new ExprError('expr_value', 'a negative number has no real fractional power')
  }
  if (!Number.isFinite(result) && Number.isFinite(base) && Number.isFinite(exponent)) {
    throw new ExprError('expr_value', 'the power is too large for a float')
  }
  return result
}
