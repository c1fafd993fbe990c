import { describe, expect, it } from 'vitest'
import { parseInstanceSearch } from '../../../src/model/search/parse.ts'
import {
  brushed,
  type Dot,
  type Frame,
  frameOf,
  nearest,
  spanDown,
  spanUp,
  timeTicks,
  tookTicks,
  xOf,
  yOf,
} from './dots.ts'

const NOW = Date.UTC(2026, 0, 2, 12)
const HOUR = 3_600_000
const dot = (id: string, ageMs: number, tookMs: number): Dot => ({
  id,
  name: 'order',
  state: 'completed',
  at: NOW - ageMs,
  tookMs,
})
const size = { width: 800, height: 140 }
const dots = [dot('a', 4 * HOUR, 50), dot('b', 2 * HOUR, 3_000), dot('c', 0, 90_000)]
const frame = frameOf(dots, size) as Frame

describe('the frame', () => {
  it('contains every dot', () => {
    for (const { at, tookMs } of dots) {
      expect(xOf(frame, at)).toBeGreaterThan(0)
      expect(xOf(frame, at)).toBeLessThan(size.width)
      expect(yOf(frame, tookMs)).toBeGreaterThan(0)
      expect(yOf(frame, tookMs)).toBeLessThan(size.height)
    }
    expect(yOf(frame, 90_000)).toBeLessThan(yOf(frame, 50))
  })

  it('of one dot, or of one that took no time, has a width and a height', () => {
    const one = frameOf([dot('a', 0, 0)], size) as Frame
    expect(one.to).toBeGreaterThan(one.from)
    expect(Number.isFinite(xOf(one, NOW))).toBe(true)
    expect(Number.isFinite(yOf(one, 0))).toBe(true)
    expect(frameOf([], size)).toBeNull()
  })

  it('finds the nearest dot', () => {
    expect(nearest(dots, frame, xOf(frame, dots[1]?.at ?? 0) + 3, yOf(frame, 3_000))?.id).toBe('b')
    expect(nearest(dots, frame, 300, 5)).toBeNull()
  })
})

describe('a brush', () => {
  it('is a query that finds what it covers', () => {
    const [, b] = dots
    const x = xOf(frame, b?.at ?? 0)
    const y = yOf(frame, b?.tookMs ?? 0)
    const query = brushed(frame, { x1: x - 20, y1: y - 10, x2: x + 20, y2: y + 10 }, NOW)
    const { conditions } = parseInstanceSearch(query)
    const holds = ({ at, tookMs }: Dot): boolean =>
      conditions.every((condition) => {
        if (condition.kind !== 'span') return false
        const value = condition.field === 'age' ? NOW - at : tookMs
        return condition.comparison === '<=' ? value <= condition.ms : value >= condition.ms
      })
    expect(dots.filter(holds).map(({ id }) => id)).toEqual(['b'])
  })

  it('of the whole height is about time alone, of the whole width about durations', () => {
    expect(brushed(frame, { x1: 300, y1: 0, x2: 500, y2: 140 }, NOW)).toMatch(/^age:<=\S+ age:>=\S+$/)
    expect(brushed(frame, { x1: 0, y1: 20, x2: 800, y2: 60 }, NOW)).toMatch(/^took:>=\S+ took:<=\S+$/)
    expect(brushed(frame, { x1: 0, y1: 0, x2: 800, y2: 140 }, NOW)).toBe('')
  })

  it('is rounded outwards', () => {
    expect([spanUp(150_500), spanDown(150_500)]).toEqual(['151s', '150s'])
    expect([spanUp(12), spanDown(0.5)]).toEqual(['12ms', '0ms'])
    expect(spanUp(200 * HOUR)).toBe('200h')
  })
})

describe('labels', () => {
  it('are at round times of the clock', () => {
    expect(timeTicks(frame, 0).map(({ label }) => label)).toEqual(['08:00', '09:00', '10:00', '11:00', '12:00'])
    expect(timeTicks(frame, HOUR / 2).map(({ label }) => label)).toEqual(['09:00', '10:00', '11:00', '12:00'])
  })

  it('of durations do not overlap', () => {
    const ticks = tookTicks(frame)
    expect(ticks.length).toBeGreaterThan(2)
    const places = ticks.map(({ at }) => yOf(frame, at))
    for (const [i, y] of places.entries()) if (i > 0) expect((places[i - 1] as number) - y).toBeGreaterThanOrEqual(16)
  })
})
