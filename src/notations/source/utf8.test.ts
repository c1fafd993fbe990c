import { describe, expect, it } from 'vitest'
import type { DefinitionError } from './mistakes.ts'
import { definitionText } from './utf8.ts'

const bytes = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : Buffer.from(part))))

function placeOf(given: Buffer): string {
  try {
    return definitionText('f.yaml', given)
  } catch (error) {
    const [problem] = (error as DefinitionError).problems
    return `${problem?.line}:${problem?.column} ${problem?.message} (${problem?.hint})`
  }
}

describe('the text of a definition', () => {
  it('is UTF-8, with or without a byte order mark', () => {
    expect(placeOf(bytes('name: Zoë 🐦\n'))).toBe('name: Zoë 🐦\n')
    expect(placeOf(bytes([0xef, 0xbb, 0xbf], 'a: 1'))).toBe('\ufeffa: 1')
    expect(placeOf(bytes(''))).toBe('')
  })

  it.each([
    ['Latin-1', bytes('a: 1\nname: Zo', [0xeb], ' x\n'), '2:9'],
    ['a character cut off at the end', bytes('a: é', [0xc3]), '1:5'],
    ['a character cut off by the end of its line', bytes('é: ', [0xe2, 0x82], '\nb: 2'), '1:4'],
    ['UTF-16', bytes([0xff, 0xfe, 0x61, 0]), '1:1'],
    ['half of a surrogate pair', bytes('\n\nx', [0xed, 0xa0, 0x80]), '3:2'],
  ])('%s is refused, with the position', (_, given, place) => {
    expect(placeOf(given)).toBe(
      `${place} the file is not UTF-8: the byte here begins no character (save the file as UTF-8)`,
    )
  })
})
