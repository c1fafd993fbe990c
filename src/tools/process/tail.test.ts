import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Tail } from './tail.ts'

describe('the tail of a stream', () => {
  it('is its last bytes, however they were chunked', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 50 })
    fc.assert(
      fc.property(chunks, fc.integer({ min: 0, max: 60 }), (parts, limit) => {
        const tail = new Tail(limit)
        for (const part of parts) tail.push(Buffer.from(part.map((byte) => (byte % 26) + 97)))
        const whole = Buffer.concat(parts).map((byte) => (byte % 26) + 97)
        expect(tail.text()).toBe(Buffer.from(whole.subarray(Math.max(0, whole.length - limit))).toString())
        expect(tail.truncated).toBe(whole.length > limit)
      }),
      { seed: 1 },
    )
  })

  it('does not begin in the middle of a character', () => {
    const tail = new Tail(4)
    tail.push(Buffer.from('aüüx'))
    expect(tail.text()).toBe('üx')
  })
})
