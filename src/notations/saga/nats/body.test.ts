import { expect, it } from 'vitest'
import { readBody } from './body.ts'

it('refuses numbers that it would round, with their path', () => {
  const read = (text: string) => () => readBody(Buffer.from(text), 10_000)
  expect(read('{"input":{"n":12345678901234567891}}')).toThrow(/it\.input\.n: 12345678901234567891 is not a number/)
  expect(read('{"n":1e400}')).toThrow(/it\.n: 1e400/)
  expect(read('{"n":"12345678901234567891"}')()).toEqual({ n: '12345678901234567891' })
})
