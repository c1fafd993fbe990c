import fc from 'fast-check'
import { expect, it } from 'vitest'
import { iso } from './lease-events.ts'

it('a time is written in the format of Date, whatever its original format', () => {
  const moment = fc.oneof(
    fc.integer({ min: 0, max: 4_102_444_800_000 }),
    fc.integer({ min: 1_800_000_000_000, max: 1_800_000_003_000 }),
    fc.integer({ min: -5_000, max: 5_000 }),
  )
  fc.assert(
    fc.property(fc.array(moment, { minLength: 1, maxLength: 20 }), (moments) => {
      expect(moments.map(iso)).toEqual(moments.map((ms) => new Date(ms).toISOString()))
    }),
  )
  expect(iso(null)).toBe(null)
})
