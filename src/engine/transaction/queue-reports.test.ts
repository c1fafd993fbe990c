import { describe, expect, it } from 'vitest'
import type { QueueFront } from '../../model/queries/queueing.ts'
import { carried } from './queue-reports.ts'

const COUNTED = {
  counts: { queue: 'q', available: 50_000, scheduled: 2_000, retryable: 30, held: 4, leased: 100 },
  countedAt: 1_000,
}
const FRONT: QueueFront = {
  available: 9_000,
  scheduled: 900,
  retryable: 30,
  held: 4,
  leased: 120,
  more: true,
  oldestDueAt: null,
  paused: false,
  concurrency: 200,
  maxConcurrent: null,
}

describe('a count that is carried forward', () => {
  it('grows by what has arrived and shrinks by what has ended; what is active now is no longer pending', () => {
    expect(carried(COUNTED, FRONT, { arrived: 500, ended: 1_000 })).toEqual({
      available: 49_480,
      scheduled: 2_000,
      retryable: 30,
      held: 4,
      active: 120,
      accuracy: 'estimated',
      countedAt: 1_000,
    })
  })

  it('is never less than what was just counted', () => {
    expect(carried(COUNTED, FRONT, { arrived: 0, ended: 60_000 }).available).toBe(9_000)
  })
})
