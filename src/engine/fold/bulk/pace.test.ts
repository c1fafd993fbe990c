import { describe, expect, it } from 'vitest'
import { allowance } from './pace.ts'

const NOW = 1_000_000

describe('the pace of a bulk operation', () => {
  it('without a rate is as many as there may be', () => {
    const { count, nextAt } = allowance({ rate: null, paceAt: null }, NOW, 50)
    expect([count, nextAt(50)]).toEqual([50, NOW])
  })

  it('begins with one item, and admits the next after an interval', () => {
    const first = allowance({ rate: 60, paceAt: null }, NOW, 50)
    expect([first.count, first.nextAt(1)]).toEqual([1, NOW + 1_000])
    const early = allowance({ rate: 60, paceAt: NOW + 1_000 }, NOW + 999, 50)
    expect([early.count, early.nextAt(0)]).toEqual([0, NOW + 1_000])
    expect(allowance({ rate: 60, paceAt: NOW + 1_000 }, NOW + 1_000, 50).count).toBe(1)
  })

  it('makes up for what was missed by at most a second’s share', () => {
    const late = allowance({ rate: 600, paceAt: NOW - 60_000 }, NOW, 50)
    expect([late.count, late.nextAt(10)]).toEqual([10, NOW + 100])
    expect(allowance({ rate: 600, paceAt: NOW - 250 }, NOW, 50).count).toBe(3)
    expect(allowance({ rate: 600, paceAt: NOW - 60_000 }, NOW, 4).count).toBe(4)
    expect(allowance({ rate: 1, paceAt: NOW - 3_600_000 }, NOW, 50).count).toBe(1)
  })

  it('counts on from the items that were taken, not from those that were admitted', () => {
    expect(allowance({ rate: 600, paceAt: NOW - 60_000 }, NOW, 50).nextAt(2)).toBe(NOW - 700)
  })

  it('does not wait for a time that a clock set back has made distant', () => {
    expect(allowance({ rate: 60, paceAt: NOW + 3_600_000 }, NOW, 50).count).toBe(1)
  })

  it('admits in any minute at most the rate and a second’s share', () => {
    for (const rate of [1, 59, 60, 600, 7_000, 60_000]) {
      let paceAt: number | null = null
      let taken = 0
      for (let now = NOW; now < NOW + 60_000; now += 17) {
        const { count, nextAt } = allowance({ rate, paceAt }, now, 1_000)
        taken += count
        if (count > 0) paceAt = nextAt(count)
      }
      expect(taken).toBeLessThanOrEqual(rate + Math.max(1, Math.floor(rate / 60)))
      expect(taken).toBeGreaterThanOrEqual(Math.floor(rate * 0.95))
    }
  })
})
