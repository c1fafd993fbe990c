import { guardDepth, type Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { Alias, type Face, plainOf } from './alias.ts'
import { indexIn } from './search.ts'
import {
  type AnyDict,
  hasKey,
  isDict,
  isList,
  itemsOf,
  keysOf,
  List,
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

/** `==`, which also compares the other names of a value. */
export function alike(left: Face, right: Face, meter: Meter): boolean {
  if (left instanceof Alias && left.names !== null && typeof right === 'string') return left.names.includes(right)
  if (right instanceof Alias && right.names !== null && typeof left === 'string') return right.names.includes(left)
  return equals(plainOf(left), plainOf(right), meter)
}

function namesOf(face: Face): readonly string[] | null {
  return face instanceof Alias ? face.names : null
}

/** `in`, which also compares the other names. */
export function within(container: Face, wanted: Face, meter: Meter): boolean {
  const plain = plainOf(container)
  const faces = plain instanceof List || plain instanceof Tuple ? plain.faces : null
  if (faces !== null) return faces.some((face) => alike(face, wanted, meter))
  const names = namesOf(wanted)
  if (names === null) return contains(plain, plainOf(wanted), meter)
  return names.some((name) => contains(plain, name, meter))
}

export function equals(left: Value, right: Value, meter: Meter, depth = 0): boolean {
  meter.touch(1)
  const leftNumber = numberOf(left)
  const rightNumber = numberOf(right)
  if (leftNumber !== null || rightNumber !== null) return leftNumber === rightNumber
  if (typeof left === 'string' && typeof right === 'string') return sameText(left, right, meter)
  if (left === right) return true
  guardDepth(depth)
  if (isDict(left)) return isDict(right) && sameDict(left, right, meter, depth)
  if (isList(left) !== isList(right) || left instanceof Tuple !== right instanceof Tuple) return false
  const leftItems = itemsOf(left)
  const rightItems = itemsOf(right)
  if (leftItems === null || rightItems === null || leftItems.length !== rightItems.length) return false
  return leftItems.every((item, at) => equals(item, rightItems[at], meter, depth + 1))
}

/** Texts of different lengths differ, so they are not read. */
export function sameText(left: string, right: string, meter: Meter): boolean {
  if (left.length !== right.length) return false
  meter.read(left.length)
  return left === right
}

function sameDict(left: AnyDict, right: AnyDict, meter: Meter, depth: number): boolean {
  if (sizeOf(left, meter) !== sizeOf(right, meter)) return false
  return keysOf(left, meter).every(
    (key) => hasKey(right, key) && equals(valueAt(left, key), valueAt(right, key), meter, depth + 1),
  )
}

/** Negative, zero or positive; NaN when the two are unordered floats. */
export function order(left: Value, right: Value, meter: Meter, operator: string, depth = 0): number {
  meter.touch(1)
  const leftNumber = numberOf(left)
  const rightNumber = numberOf(right)
  if (leftNumber !== null && rightNumber !== null) return compareNumbers(leftNumber, rightNumber)
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right, meter)
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

/** Python orders by code point; JavaScript's order by code unit differs once surrogates are involved. */
function compareTexts(left: string, right: string, meter: Meter): number {
  const shared = Math.min(left.length, right.length)
  let at = 0
  while (at < shared && left.charCodeAt(at) === right.charCodeAt(at)) at++
  meter.read(at)
  return (left.codePointAt(at) ?? -1) - (right.codePointAt(at) ?? -1)
}

/** A key to sort or group by: the case of texts does not count, unless requested. */
export function foldCase(key: Value, caseSensitive: boolean, meter: Meter): Value {
  return typeof key === 'string' && !caseSensitive ? meter.text(key).toLowerCase() : key
}

function unorderable(left: Value, right: Value, operator: string): ExprError {
  const advice =
    left === undefined || right === undefined
      ? 'give the undefined one a value with `| default(…)`'
      : 'convert one side, for example with `| int` or `| string`'
  return new ExprError('expr_type', `'${operator}' cannot order ${typeName(left)} and ${typeName(right)}: ${advice}`)
}

function contains(container: Value, wanted: Value, meter: Meter): boolean {
  if (container === undefined) return false
  if (typeof container === 'string') {
    if (typeof wanted !== 'string') {
      throw new ExprError('expr_type', `'in' a str needs a str on the left, not ${typeName(wanted)}: use \`| string\``)
    }
    meter.read(container.length)
    meter.read(wanted.length)
    return indexIn(container, wanted) >= 0
  }
  if (isDict(container)) return hasKey(container, wanted)
  const items = itemsOf(container)
  if (items === null) {
    throw new ExprError('expr_type', `'in' needs a list, tuple, dict or str on the right, not ${typeName(container)}`)
  }
  return items.some((item) => equals(item, wanted, meter))
}
