import { expect, it } from 'vitest'
import { jsonArgument } from './json-argument.ts'

it('refuses numbers that it would round, with their path', () => {
  const read = (text: string) => () => jsonArgument(text, '--input', 'an example')
  expect(read('{"a":[1,9007199254740993]}')).toThrow(
    /^--input\.a\.1: 9007199254740993 is not a number that can be kept/,
  )
  expect(read('1e400')).toThrow(/^--input: 1e400/)
  expect(read('{"a":[1,9007199254740991]}')()).toEqual({ a: [1, 9007199254740991] })
})
