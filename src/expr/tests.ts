/** What may follow `is`. */
import { REQUIRED, type Run, type Table, type Test } from './callable.ts'
import { contains, equals, order } from './compare.ts'
import { ExprError } from './errors.ts'
import { isDict, isFloat, isInt, itemsOf, numberOf, typeName, type Value } from './value.ts'

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
    odd: (value) => remainder(value, 2, 'odd') === 1,
    even: (value) => remainder(value, 2, 'even') === 0,
  }),
  ...comparisons({
    eq: (value, other, { meter }) => equals(value, other, meter),
    ne: (value, other, { meter }) => !equals(value, other, meter),
    lt: (value, other, { meter }) => order(value, other, meter, '<') < 0,
    le: (value, other, { meter }) => order(value, other, meter, '<=') <= 0,
    gt: (value, other, { meter }) => order(value, other, meter, '>') > 0,
    ge: (value, other, { meter }) => order(value, other, meter, '>=') >= 0,
    in: (value, other, { meter }) => contains(other, value, meter),
    divisibleby: (value, other) => remainder(value, other, 'divisibleby') === 0,
  }),
}

function kinds(checks: { readonly [name: string]: (value: Value) => boolean }): Table<Test> {
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, { params: {}, apply: check }]))
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

function isCollection(value: Value): boolean {
  return typeof value === 'string' || itemsOf(value) !== null || isDict(value)
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
