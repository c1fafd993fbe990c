import { describe, expect, it } from 'vitest'
import {
  bucketOf,
  NO_TRAFFIC,
  type QueueReport,
  RUN_TIME_BOUNDS_MS,
  type TrafficRow,
  WAIT_BOUNDS_MS,
} from '../../model/queries/queueing.ts'
import { queueReportWire } from './queue.ts'

const NOW = Date.parse('2030-01-01T00:05:00Z')
const DEPTH = {
  available: 3,
  scheduled: 2,
  retryable: 1,
  held: 4,
  active: 5,
  accuracy: 'exact',
  countedAt: NOW,
} as const
const REPORT: QueueReport = {
  name: 'q',
  paused: false,
  now: NOW,
  depth: DEPTH,
  oldestDueAt: NOW - 1_500,
  concurrency: 20,
  maxConcurrent: null,
  since: NOW - 300_000,
  traffic: [],
}

const row = (minutesAgo: number, rest: Partial<TrafficRow>): TrafficRow => ({
  queue: 'q',
  minute: NOW - minutesAgo * 60_000,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  retried: 0,
  ...NO_TRAFFIC,
  ...rest,
})

const waits = (...ms: readonly number[]): Pick<TrafficRow, 'started' | 'waitMs' | 'waits'> => {
  const counts = [...NO_TRAFFIC.waits]
  for (const wait of ms) (counts[bucketOf(wait, WAIT_BOUNDS_MS)] as number)++
  return { started: ms.length, waitMs: ms.reduce((a, b) => a + b, 0), waits: counts }
}

describe('the statistics of a queue', () => {
  it('of an idle queue have no waits and no utilisation beyond what is active', () => {
    expect(queueReportWire(REPORT)).toMatchObject({
      depth: { pending: 10, active: 5, accuracy: 'exact' },
      oldest_age_seconds: 1.5,
      per_minute: { arrived: 0, started: 0, ended: 0 },
      waits: { count: 0, mean_seconds: null, p50_seconds: null, p95_seconds: null },
      utilisation: { now: 0.25, recent: 0 },
      minutes: [],
    })
  })

  it('rates are per minute of the whole period', () => {
    const traffic = [row(4, { arrived: 20, succeeded: 4, failed: 1 }), row(1, { arrived: 5, cancelled: 5 })]
    expect(queueReportWire({ ...REPORT, traffic }).per_minute).toEqual({ arrived: 5, started: 0, ended: 2 })
  })

  it('waits are a mean, a histogram, and the bounds below which half and nearly all of them are', () => {
    const traffic = [row(2, waits(50, 90, 400)), row(1, waits(4_000, 8_000_000))]
    const found = queueReportWire({ ...REPORT, traffic }).waits
    expect(found).toMatchObject({ count: 5, mean_seconds: 1600.908, p50_seconds: 0.5, p95_seconds: null })
    expect(found.buckets.map(({ count }) => count)).toEqual([2, 1, 0, 1, 0, 0, 0, 0, 0, 1])
    expect(found.buckets.at(-1)).toEqual({ up_to_seconds: null, count: 1 })
  })

  it('executions have the same, in buckets of their own', () => {
    const runTimes = [...NO_TRAFFIC.runTimes]
    for (const took of [5, 10, 11, 4_000_000]) (runTimes[bucketOf(took, RUN_TIME_BOUNDS_MS)] as number)++
    const found = queueReportWire({ ...REPORT, traffic: [row(1, { busyMs: 4_000_026, runTimes })] }).run_time
    expect(found).toMatchObject({ count: 4, mean_seconds: 1000.007, p50_seconds: 0.01, p95_seconds: null })
    expect(found.buckets.map(({ count }) => count)).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 1])
    expect(queueReportWire(REPORT).run_time).toMatchObject({ count: 0, mean_seconds: null, p50_seconds: null })
  })

  it('utilisation is a share of the workers, or of the limit if that is lower', () => {
    const traffic = [row(1, { busyMs: 600_000 })]
    const share = (rest: Partial<QueueReport>) => {
      const { now, recent } = queueReportWire({ ...REPORT, traffic, ...rest }).utilisation
      return [now, recent]
    }
    expect(share({})).toEqual([0.25, 0.1])
    expect(share({ maxConcurrent: 10 })).toEqual([0.5, 0.2])
    expect(share({ concurrency: 0 })).toEqual([null, null])
  })
})
