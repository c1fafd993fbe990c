import { expect, it } from 'vitest'
import { DefinitionError } from './mistakes.ts'
import { readSource } from './source.ts'

function problem(text: string): unknown {
  try {
    return readSource('f', text).value
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return error.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
  }
}

const inexact = (place: string, number: string): string[] => [
  `${place} ${number} is not a number that can be kept exactly`,
]

it.each([
  ['a: 1\nb: [ 9007199254740993 ]', inexact('2:6', '9007199254740993')],
  ['a: -18446744073709551615', inexact('1:4', '-18446744073709551615')],
  ['a: 1e400', inexact('1:4', '1e400')],
  ['a: .inf', inexact('1:4', '.inf')],
  ['a: -.INF\nb: 0x20000000000001', [...inexact('1:4', '-.INF'), ...inexact('2:4', '0x20000000000001')]],
  ['{"a": [1,\n 12345678901234567891]}', inexact('2:2', '12345678901234567891')],
])('refuses %s', (text, expected) => {
  expect(problem(text)).toEqual(expected)
})

it('keeps the others', () => {
  const text =
    'a: 9007199254740991\nb: "12345678901234567891"\nc: 1e300\nd: 100000000000000000000\ne: 0.1234567890123456789'
  expect(problem(text)).toEqual({
    a: 9007199254740991,
    b: '12345678901234567891',
    c: 1e300,
    d: 1e20,
    e: Number('0.1234567890123456789'),
  })
})
