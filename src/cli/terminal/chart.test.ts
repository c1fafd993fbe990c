import { describe, expect, it } from 'vitest'
import type { Segment } from '../../views/pictures/segments.ts'
import { bar } from './chart.ts'

const segment = (waits: Segment['waits'], from: number, to: number | null): Segment => ({
  attempt: 1,
  waits,
  from,
  to,
  worker: null,
  error: null,
})

describe('a bar of segments', () => {
  it('has one character per part of the time shown', () => {
    const segments = [segment('scheduled', 0, 20), segment('queue', 20, 40), segment(null, 40, 80)]
    expect(bar(segments, { from: 0, to: 100 }, 10)).toBe('··░░████')
  })

  it('shows an execution that is shorter than one part', () => {
    expect(
      bar([segment('queue', 0, 50), segment(null, 50, 51), segment('retry', 51, 100)], { from: 0, to: 100 }, 4),
    ).toBe('░░█·')
  })

  it('fills up to the end what has not ended', () => {
    expect(bar([segment('gate', 50, null)], { from: 0, to: 100 }, 4)).toBe('  ▒▒')
  })

  it('is one character for a moment without length', () => {
    expect(bar([], { from: 5, to: 5 }, 3)).toBe('')
  })
})
