import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { QueueOutlook } from './queue-outlook.ts'

const run = (priority: number): { readonly priority: number } => ({ priority })

describe('what a session knows of its queues', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is nothing at first', () => {
    expect(new QueueOutlook().waiting()).toEqual({ waiting: undefined, renew: false })
  })

  it('after a claim that took all there was: nothing waits', () => {
    const outlook = new QueueOutlook()
    outlook.claiming()
    outlook.claimed([run(1), run(2)], 2, 5)
    expect(outlook.waiting()).toEqual({ waiting: null, renew: false })
  })

  it('after a full claim: what is left is no more urgent than the last run taken', () => {
    const outlook = new QueueOutlook()
    outlook.claiming()
    outlook.claimed([run(1), run(2)], 2, 2)
    expect(outlook.waiting()).toEqual({ waiting: 2, renew: false })
  })

  it('is unknown while candidates were left behind', () => {
    const outlook = new QueueOutlook()
    outlook.claiming()
    outlook.claimed([run(1), run(2)], 1, 5)
    expect(outlook.waiting()).toEqual({ waiting: undefined, renew: false })
  })

  it('is unknown after more urgent work was added, and unchanged by less urgent work', () => {
    const outlook = new QueueOutlook()
    outlook.looked(10)
    outlook.added(20)
    expect(outlook.waiting()).toMatchObject({ waiting: 10 })
    outlook.added(5)
    expect(outlook.waiting()).toMatchObject({ waiting: undefined })
  })

  it('counts for 20 ms, once more until 250 ms while the store is asked, then no longer', () => {
    const outlook = new QueueOutlook()
    outlook.looked(10)
    expect(outlook.waiting()).toEqual({ waiting: 10, renew: false })
    vi.advanceTimersByTime(100)
    expect(outlook.waiting()).toEqual({ waiting: 10, renew: true })
    vi.advanceTimersByTime(200)
    expect(outlook.waiting()).toEqual({ waiting: undefined, renew: false })
  })
})
