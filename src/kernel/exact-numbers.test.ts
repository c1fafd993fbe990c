import { expect, it } from 'vitest'
import { inexactNumber } from './exact-numbers.ts'

it.each([
  ['{"a":[1,{"b":9007199254740993}]}', ['a', 1, 'b'], '9007199254740993'],
  ['[1e400]', [0], '1e400'],
  ['[-1E+999]', [0], '-1E+999'],
  ['{"x":"12345678901234567890","y":[[],{},[-12345678901234567891]]}', ['y', 2, 0], '-12345678901234567891'],
  [`{"long":1${'0'.repeat(400)}}`, ['long'], `1${'0'.repeat(400)}`],
  ['12345678901234567891', [], '12345678901234567891'],
  ['{"a\\"b":{"c,d":18446744073709551615}}', ['a"b', 'c,d'], '18446744073709551615'],
])('finds %s', (text, path, number) => {
  JSON.parse(text)
  expect(inexactNumber(text)).toEqual({ path, text: number })
})

it.each([
  '9007199254740991',
  '-9007199254740991',
  '9007199254740992',
  '[100000000000000000000, 1e300, 1.7976931348623157e308, 0.12345678901234567890, 1e-400]',
  '{"12345678901234567891":"1e400 \\" 12345678901234567891"}',
  '"12345678901234567891"',
])('accepts %s: a double represents it, or is as near as for any fraction', (text) => {
  JSON.parse(text)
  expect(inexactNumber(text)).toBeNull()
})
