import { describe, expect, it } from 'vitest'
import { Lines } from './lines.ts'

const linesOf = (...chunks: readonly Buffer[]): readonly string[] => {
  const found: string[] = []
  const lines = new Lines((line) => found.push(line))
  for (const chunk of chunks) lines.push(chunk)
  lines.end()
  return found
}

describe('lines of a stream', () => {
  it('are complete however the bytes arrive', () => {
    const bytes = Buffer.from('one\r\ntwö\n\nlast')
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(linesOf(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(['one', 'twö', '', 'last'])
    }
  })

  it('come in pieces if they are very long', () => {
    expect(linesOf(Buffer.from('x'.repeat(100_000))).map(({ length }) => length)).toEqual([100_000])
    const long = Buffer.from('x'.repeat(50_000))
    expect(linesOf(long, long).map(({ length }) => length)).toEqual([100_000])
    expect(linesOf(long, long, long).map(({ length }) => length)).toEqual([100_000, 50_000])
  })
})
