/** The tests that may follow `is`. */

import { ExprError } from '../errors.ts'
import type { Face } from '../evaluate/alias.ts'
import { REQUIRED, type Run, type Table, type Test } from '../evaluate/callable.ts'
import { alike, order, sameText, within } from '../evaluate/compare.ts'
import { isLower, isUpper } from '../evaluate/text.ts'
import { Float, isDict, isFloat, isInt, itemsOf, numberOf, typeName, type Value } from '../evaluate/value.ts'
import { filters } from './filters.ts'

export const tests: Table<Test> = {
  ...kinds({
    defined: (value) => value !== undefined,
    undefined: (value) => value === undefined,
    none: (value) => value === null,
    true: (value) => value === true,
    false: (value) => value === false,
    boolean: (value) => typeof value === 'boolean',
    string: (value) => typeof value === 'string',
    number: (value) => numberOf(value) !== null,
    integer: isInt,
    float: isFloat,
    mapping: isDict,
    sequence: isCollection,
    iterable: isCollection,
    lower: (value, { meter }) => typeof value === 'string' && isLower(value, meter),
    upper: (value, { meter }) => typeof value === 'string' && isUpper(value, meter),
    callable: () => false,
    escaped: () => false,
    odd: (value) => remainder(value, 2, 'odd') === 1,
    even: (value) => remainder(value, 2, 'even') === 0,
  }),
  ...comparisons({
    ...named(['lt', 'lessthan', '<'], (value, other, { meter }) => order(value, other, meter, '<') < 0),
    ...named(['le', '<='], (value, other, { meter }) => order(value, other, meter, '<=') <= 0),
    ...named(['gt', 'greaterthan', '>'], (value, other, { meter }) => order(value, other, meter, '>') > 0),
    ...named(['ge', '>='], (value, other, { meter }) => order(value, other, meter, '>=') >= 0),
    sameas: same,
    divisibleby: (value, other) => remainder(value, other, 'divisibleby') === 0,
  }),
  ...likenesses({
    ...named(['eq', 'equalto', '=='], (value, other, { meter }) => alike(value, other, meter)),
    ...named(['ne', '!='], (value, other, { meter }) => !alike(value, other, meter)),
    in: (value, other, { meter }) => within(other, value, meter),
  }),
  filter: { params: {}, apply: (value) => typeof value === 'string' && Object.hasOwn(filters, value) },
  test: { params: {}, apply: (value) => typeof value === 'string' && Object.hasOwn(tests, value) },
}

/** The same check under several names. */
function named<T>(names: readonly string[], check: T): { readonly [name: string]: T } {
  return Object.fromEntries(names.map((name) => [name, check]))
}

/** Python's `is`: of plain values, the same type and value; of lists and dicts, the very same one. */
function same(value: Value, other: Value, { meter }: Run): boolean {
  if (typeof value === 'string' && typeof other === 'string') return sameText(value, other, meter)
  return value === other || (value instanceof Float && other instanceof Float && value.value === other.value)
}

function kinds(checks: { readonly [name: string]: (value: Value, run: Run) => boolean }): Table<Test> {
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]): [string, Test] => [
      name,
      { params: {}, apply: (value, _args, run) => check(value, run) },
    ]),
  )
}

type Comparison = (value: Value, other: Value, run: Run) => boolean

function comparisons(checks: { readonly [name: string]: Comparison }): Table<Test> {
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]): [string, Test] => [
      name,
      { params: { other: REQUIRED }, apply: (value, [other], run) => check(value, other, run) },
    ]),
  )
}

/** These compare a value under all of its names. */
function likenesses(checks: { readonly [name: string]: (value: Face, other: Face, run: Run) => boolean }): Table<Test> {
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]): [string, Test] => [
      name,
      {
        params: { other: REQUIRED },
        apply: (value, [other], run) => check(value, other, run),
        faced: (value, [other], run) => check(value, other, run),
      },
    ]),
  )
}

function isCollection(value: Value): boolean {
  return value === undefined || typeof value === 'string' || itemsOf(value) !== null || isDict(value)
}

function remainder(value: Value, by: Value, test: string): number {
  const number = numberOf(value)
  const divisor = numberOf(by)
  if (number === null || divisor === null) {
    throw new ExprError(
      'expr_type',
      `\`is ${test}\` needs numbers, not ${typeName(number === null ? value : by)}: use \`| int\``,
    )
  }
  if (divisor === 0) throw new ExprError('expr_value', `\`is ${test}\` cannot divide by zero`)
  return Math.abs(number % divisor)
}
