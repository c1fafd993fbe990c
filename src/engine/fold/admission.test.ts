import { describe, expect, it } from 'vitest'
import { aLeasedRun, aRun, T0 } from '../../../test/store/rows.ts'
import type { LimitRow } from '../../model/rows.ts'
import { Admission } from './admission.ts'

const limit = (rest: Partial<LimitRow>): LimitRow => ({
  key: 'queue:default',
  maxConcurrent: null,
  ratePer: null,
  periodMs: null,
  inUse: 0,
  windowStart: 0,
  windowUsed: 0,
  ...rest,
})

function admission(limits: readonly LimitRow[], rest: Partial<ConstructorParameters<typeof Admission>[0]> = {}) {
  return new Admission({
    queues: new Map(),
    limits: new Map(limits.map((row) => [row.key, row])),
    listing: () => null,
    isPaused: () => false,
    now: T0,
    ...rest,
  })
}

describe('admission', () => {
  it('admits as many as the limit has places, and one more for each release', () => {
    const a = admission([limit({ maxConcurrent: 2, inUse: 1 })])
    expect(a.take(aRun(), null)).toBeNull()
    expect(a.take(aRun(), null)).toBe('queue_limit')
    a.release(aLeasedRun({ sessionId: 's' }))
    expect(a.take(aRun(), null)).toBeNull()
    expect(a.changed()).toEqual([expect.objectContaining({ key: 'queue:default', inUse: 2 })])
  })

  it('takes no place under one limit if another is full', () => {
    const a = admission([limit({ maxConcurrent: 5 }), limit({ key: 'key:k', maxConcurrent: 1, inUse: 1 })])
    expect(a.take(aRun({ limitKey: 'k' }), null)).toBe('key_limit')
    expect(a.changed()).toEqual([])
  })

  it('releases no place that a foreign client never took', () => {
    const a = admission([limit({ maxConcurrent: 2, inUse: 1 })])
    a.release(aRun({ status: 'leased', leasedBy: 'sql' }))
    expect(a.changed()).toEqual([])
  })

  it('counts a rate by window, and returns when the next one opens', () => {
    const rate = limit({ ratePer: 1, periodMs: 1_000, windowStart: T0 - 400, windowUsed: 1 })
    const closed = admission([rate])
    expect(closed.take(aRun(), null)).toBe('queue_limit')
    expect(closed.retryAt).toBe(T0 + 600)
    const open = admission([rate], { now: T0 + 600 })
    expect(open.take(aRun(), null)).toBeNull()
    expect(open.changed()[0]).toMatchObject({ windowStart: T0 + 600, windowUsed: 1 })
  })

  it('refuses a paused queue, and types of another runtime', () => {
    const paused = admission([], { queues: new Map([['default', { name: 'default', paused: true }]]) })
    expect(paused.take(aRun(), null)).toBe('paused')
    const listed = admission([], { listing: () => ({ runtime: 'go', enabled: true }) })
    expect(listed.take(aRun(), 'node')).toBe('closed')
    expect(listed.take(aRun(), 'go')).toBeNull()
  })

  it('admits nothing under a limit that another transaction holds', () => {
    const a = admission([], { lockedLimits: new Set(['queue:default']) })
    expect(a.take(aRun(), null)).toBe('queue_limit')
    expect(() => a.release(aLeasedRun({ sessionId: 's' }))).toThrow(/another transaction holds/)
  })
})
