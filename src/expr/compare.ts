import { guardDepth, type Meter } from './budget.ts'
import { ExprError } from './errors.ts'
import {
  type AnyDict,
  entriesOf,
  hasKey,
  isDict,
  isList,
  itemsOf,
  numberOf,
  sizeOf,
  Tuple,
  typeName,
  type Value,
  valueAt,
} from './value.ts'

export function isTruthy(value: Value, meter: Meter): boolean {
  if (value === undefined || value === null || value === '') return false
  const number = numberOf(value)
  if (number !== null) return number !== 0
  const items = itemsOf(value)
  if (items !== null) return items.length > 0
  return isDict(value) ? sizeOf(value, meter) > 0 : true
}

export function equals(left: Value, right: Value, meter: Meter, depth = 0): boolean {
  meter.touch(1)
  const leftNumber = numberOf(left)
  const rightNumber = numberOf(right)
  if (leftNumber !== null || rightNumber !== null) return leftNumber === rightNumber
  if (left === right) return true
  guardDepth(depth)
  if (isDict(left)) return isDict(right) && sameDict(left, right, meter, depth)
  if (isList(left) !== isList(right) || left instanceof Tuple !== right instanceof Tuple) return false
  const leftItems = itemsOf(left)
  const rightItems = itemsOf(right)
  if (leftItems === null || rightItems === null || leftItems.length !== rightItems.length) return false
  return leftItems.every((item, at) => equals(item, rightItems[at], meter, depth + 1))
}

function sameDict(left: AnyDict, right: AnyDict, meter: Meter, depth: number): boolean {
  if (sizeOf(left, meter) !== sizeOf(right, meter)) return false
  return entriesOf(left).every(
    ([key, value]) => hasKey(right, key) && equals(value, valueAt(right, key), meter, depth + 1),
  )
}

/** Negative, zero or positive; NaN when the two are unordered floats. */
export function order(left: Value, right: Value, meter: Meter, operator: string, depth = 0): number {
  meter.touch(1)
  const leftNumber = numberOf(left)
  const rightNumber = numberOf(right)
  if (leftNumber !== null && rightNumber !== null) return compareNumbers(leftNumber, rightNumber)
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right)
  const leftItems = itemsOf(left)
  const rightItems = itemsOf(right)
  if (leftItems === null || rightItems === null || left instanceof Tuple !== right instanceof Tuple) {
    throw unorderable(left, right, operator)
  }
  guardDepth(depth)
  const shared = Math.min(leftItems.length, rightItems.length)
  for (let at = 0; at < shared; at++) {
    if (equals(leftItems[at], rightItems[at], meter, depth + 1)) continue
    return order(leftItems[at], rightItems[at], meter, operator, depth + 1)
  }
  return leftItems.length - rightItems.length
}

function compareNumbers(left: number, right: number): number {
  if (left < right) return -1
  if (left > right) return 1
  return left === right ? 0 : Number.NaN
}

const SURROGATE = /[\ud800-\udfff]/

/** Python orders by code point; JavaScript's order by code unit differs once surrogates are involved. */
function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  if (!SURROGATE.test(left) && !SURROGATE.test(right)) return left < right ? -1 : 1
  let at = 0
  while (at < left.length && at < right.length && left[at] === right[at]) at++
  const leftPoint = left.codePointAt(at) ?? -1
  const rightPoint = right.codePointAt(at) ?? -1
  return leftPoint - rightPoint
}

function unorderable(left: Value, right: Value, operator: string): ExprError {
  const advice =
    left === undefined || right === undefined
      ? 'give the undefined one a value with `| default(…)`'
      : 'convert one side, for example with `| int` or `| string`'
  return new ExprError('expr_type', `'${operator}' cannot order ${typeName(left)} and ${typeName(right)}: ${advice}`)
}

export function contains(container: Value, wanted: Value, meter: Meter): boolean {
  if (container === undefined) return false
  if (typeof container === 'string') {
    if (typeof wanted !== 'string') {
      throw new ExprError('expr_type', `'in' a str needs a str on the left, not ${typeName(wanted)}: use \`| string\``)
    }
    meter.read(container)
    return container.includes(wanted)
  }
  if (isDict(container)) return hasKey(container, wanted)
  const items = itemsOf(container)
  if (items === null) {
    throw new ExprError('expr_type', `'in' needs a list, tuple, dict or str on the right, not ${typeName(container)}`)
  }
  return items.some((item) => equals(item, wanted, meter))
}
