import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { elementsOf, memberAt, membersOf } from './json-members.ts'

describe('the parts of a JSON text', () => {
  it('are the text that was written, with every digit', () => {
    const text = '{ "id": 12345678901234567890.10 , "a\\"b": {"c": [1, "}", {}]}, "e":[],"n":null }'
    expect([...membersOf(text)]).toEqual([
      ['id', '12345678901234567890.10'],
      ['a"b', '{"c": [1, "}", {}]}'],
      ['e', '[]'],
      ['n', 'null'],
    ])
    expect(elementsOf('[1e400, "a,b" ,[2],{"x":"\\\\"}]')).toEqual(['1e400', '"a,b"', '[2]', '{"x":"\\\\"}'])
    expect(memberAt(text, 'a"b', 'c')).toBe('[1, "}", {}]')
    expect(memberAt(text, 'a"b', 'd')).toBeNull()
  })

  it('are none of another kind of value', () => {
    expect([membersOf('[1]').size, elementsOf('{"a":1}'), membersOf('"{"').size]).toEqual([0, [], 0])
  })

  it('put together give the value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()), (object, list) => {
        const indented = JSON.stringify(object, null, 2)
        const read = Object.fromEntries([...membersOf(indented)].map(([name, part]) => [name, JSON.parse(part)]))
        expect(read).toEqual(JSON.parse(indented))
        expect(elementsOf(JSON.stringify(list)).map((part) => JSON.parse(part))).toEqual(
          JSON.parse(JSON.stringify(list)),
        )
      }),
    )
  })
})

describe('a member of a JSON text', () => {
  it('is cut out digit by digit', () => {
    const text = '{ "run": {"id":"a","payload": {"n":12345678901234567890.5,"s":"}\\"]"} , "x":null}, "z": [1] }'
    expect(memberAt(text, 'run', 'payload')).toBe('{"n":12345678901234567890.5,"s":"}\\"]"}')
    expect(memberAt(text, 'run', 'payload', 'n')).toBe('12345678901234567890.5')
    expect(memberAt(text, 'run', 'x')).toBe('null')
    expect(memberAt(text, 'run', 'none')).toBeNull()
  })

  it('is the same as when it is read, for any JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 2), (given, indent) => {
        const text = JSON.stringify(given, null, indent)
        for (const [name, value] of Object.entries(JSON.parse(text))) {
          expect(JSON.parse(memberAt(text, name) ?? 'undefined')).toEqual(value)
        }
      }),
    )
  })
})
