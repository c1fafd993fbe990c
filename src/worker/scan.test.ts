import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Execution } from './execution.ts'
import { Scan } from './scan.ts'

/** An execution as far as the scan reads it, begun now. */
function execution(runId: string): Execution {
  const startedAt = Date.now()
  const begun = {
    delivery: { runId, epoch: 1 },
    startedAt,
    startReported: false,
    get ageMs() {
      return Date.now() - startedAt
    },
  }
  return begun as unknown as Execution
}

describe('the scan of executing runs', () => {
  const executing = new Set<Execution>()
  const reported: string[][] = []
  let scans = 0
  let scan: Scan

  beforeEach(() => {
    vi.useFakeTimers()
    executing.clear()
    reported.length = 0
    scans = 0
    scan = new Scan({
      executing,
      session: () => ({
        started: async (runs) => void reported.push(runs.map(({ runId }) => runId)),
      }),
      scanned: () => scans++,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    })
  })
  afterEach(() => {
    scan.stop()
    vi.useRealTimers()
  })

  const begin = (runId: string): Execution => {
    const begun = execution(runId)
    executing.add(begun)
    scan.begin()
    return begun
  }

  it('reports the start of a run that lasts, once', () => {
    begin('a')
    vi.advanceTimersByTime(19)
    expect(reported).toEqual([])
    vi.advanceTimersByTime(1_000)
    expect(reported).toEqual([['a']])
    expect(scans).toBeGreaterThan(1)
  })

  it('reports nothing of a run that ends soon, and stops when none executes', () => {
    const begun = begin('a')
    vi.advanceTimersByTime(10)
    executing.delete(begun)
    vi.advanceTimersByTime(1_000)
    expect([reported, scans]).toEqual([[], 0])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('waits for a run that began while others were executing, at the short interval', () => {
    begin('a')
    vi.advanceTimersByTime(15)
    begin('b')
    vi.advanceTimersByTime(5)
    expect(reported).toEqual([['a']])
    vi.advanceTimersByTime(20)
    expect(reported).toEqual([['a'], ['b']])
  })

  it('returns to the short interval when a run begins during the long one', () => {
    begin('a')
    vi.advanceTimersByTime(50)
    begin('b')
    vi.advanceTimersByTime(20)
    expect(reported).toEqual([['a'], ['b']])
  })

  it('scans no more once stopped', () => {
    begin('a')
    scan.stop()
    vi.advanceTimersByTime(1_000)
    expect([reported, scans]).toEqual([[], 0])
  })
})
