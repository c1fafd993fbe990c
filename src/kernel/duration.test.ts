import { describe, expect, it } from 'vitest'
import { isoDuration, parseDuration, parseIsoDuration } from './duration.ts'

describe('parseIsoDuration', () => {
  it.each([
    ['PT1S', 1000],
    ['PT0.5S', 500],
    ['PT5M', 300_000],
    ['PT1H30M', 5_400_000],
    ['P1D', 86_400_000],
    ['P2W', 1_209_600_000],
    ['P1DT12H', 129_600_000],
    ['PT0S', 0],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseIsoDuration(text)).toBe(ms)
  })

  it.each(['', 'P', 'PT', 'P1DT', '1S', 'PT1', 'P1Y', 'P1M', 'PT-1S', '30s', 'PT1S ', 1000, null])(
    'refuses %j',
    (text) => {
      expect(parseIsoDuration(text)).toBeNull()
    },
  )
})

describe('parseDuration', () => {
  it('accepts common notations, ISO 8601 and bare milliseconds', () => {
    expect([500, '500ms', '30s', '1.5m', '2h', '1d', 'PT2S'].map(parseDuration)).toEqual([
      500, 500, 30_000, 90_000, 7_200_000, 86_400_000, 2000,
    ])
    expect([-1, '3 weeks', 'soon', {}].map(parseDuration)).toEqual([null, null, null, null])
  })
})

describe('isoDuration', () => {
  it.each([0, 1, 500, 1000, 60_000, 300_000, 5_400_000, 86_400_000, 90_061_001])('is parsed back as %i', (ms) => {
    expect(parseIsoDuration(isoDuration(ms))).toBe(ms)
  })

  it('is short', () => {
    expect([1000, 300_000, 5_400_500].map(isoDuration)).toEqual(['PT1S', 'PT5M', 'PT1H30M0.5S'])
  })
})
