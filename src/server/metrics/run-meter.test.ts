import { describe, expect, it } from 'vitest'
import { newRun } from '../../engine/fold/run/runs.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { StoreUnavailableError } from '../../kernel/store-errors.ts'
import type { RunRow } from '../../model/rows.ts'
import { Durations, NO_WORKER, OTHER, RunMeter } from './run-meter.ts'

function run(rest: Partial<RunRow> = {}): RunRow {
  return newRun({ id: 'r', type: 'a.v1', payload: '{}', now: 0 }, rest)
}

const pairs = (meter: RunMeter): string[] => meter.pairs.map(({ type, worker }) => `${type} ${worker}`)

describe('counting runs by type and worker', () => {
  it('a run that failed twice and then succeeded is three executions and one end', () => {
    const meter = new RunMeter()
    for (const attempt of [1, 2]) {
      meter.claimed(run({ leasedBy: 'w' }))
      meter.ended({ run: run({ attempt }), worker: 'w', failed: true, ms: 200 })
    }
    meter.claimed(run({ leasedBy: 'w' }))
    meter.ended({ run: run({ attempt: 2, status: 'succeeded' }), worker: 'w', failed: false, ms: 20 })
    const [pair] = meter.pairs
    expect(pair).toMatchObject({ type: 'a.v1', worker: 'w', claimed: 3, failed: [1, 1, 0] })
    expect(Object.fromEntries(pair?.ended ?? [])).toEqual({ succeeded: 1 })
    expect(pair?.durations.get('pending')?.sum).toBeCloseTo(0.4)
    expect(pair?.durations.get('succeeded')?.sum).toBeCloseTo(0.02)
  })

  it('the third failure and every later one count together', () => {
    const meter = new RunMeter()
    for (const attempt of [1, 2, 3, 4, 900]) {
      meter.ended({ run: run({ attempt, status: 'failed' }), worker: 'w', failed: true, ms: null })
    }
    expect(meter.pairs[0]?.failed).toEqual([1, 1, 3])
    expect(meter.pairs[0]?.durations.size).toBe(0)
  })

  it('the end of a run without a holder counts under a reserved name', () => {
    const meter = new RunMeter()
    meter.ended({ run: run({ status: 'cancelled' }), worker: null, failed: false, ms: null })
    expect(pairs(meter)).toEqual([`a.v1 ${NO_WORKER}`])
  })

  it('beyond 500 pairs a type counts under (other), beyond 200 such types everything does', () => {
    const meter = new RunMeter()
    for (let i = 0; i < 500; i++) meter.claimed(run({ type: `t${i}`, leasedBy: 'w' }))
    for (let i = 0; i < 1000; i++) meter.claimed(run({ type: 't0', leasedBy: `w${i}` }))
    for (let i = 0; i < 1000; i++) meter.claimed(run({ type: `u${i}`, leasedBy: `w${i}` }))
    expect(meter.pairs).toHaveLength(500 + 200 + 1)
    const claimed = (type: string, worker: string): number | undefined =>
      meter.pairs.find((pair) => pair.type === type && pair.worker === worker)?.claimed
    expect(claimed('t0', 'w')).toBe(1)
    expect(claimed('t0', OTHER)).toBe(1000)
    expect(claimed('u0', OTHER)).toBe(1)
    expect(claimed(OTHER, OTHER)).toBe(1000 - 199)
    expect(meter.pairs.reduce((sum, pair) => sum + pair.claimed, 0)).toBe(2500)
  })

  it('a known pair keeps counting under its own name when the table is full', () => {
    const meter = new RunMeter()
    for (let i = 0; i < 2000; i++) meter.claimed(run({ type: `t${i}`, leasedBy: 'w' }))
    meter.claimed(run({ type: 't3', leasedBy: 'w' }))
    expect(meter.pairs.find((pair) => pair.type === 't3')).toMatchObject({ worker: 'w', claimed: 2 })
  })
})

describe('counting claims of workers', () => {
  it('distinguishes answers from errors, and errors by a few categories', () => {
    const meter = new RunMeter()
    meter.polled('w', null)
    meter.polled('w', null)
    meter.polled('w', new StoreUnavailableError('08006', 'gone'))
    meter.polled('w', new PetrelError('invalid_request', 'no'))
    meter.polled('w', new TypeError('x'))
    const [worker] = [...meter.workers]
    expect(worker).toMatchObject({ worker: 'w', polls: 2, lastPollAt: expect.any(Number) })
    expect(Object.fromEntries(worker?.errors ?? [])).toEqual({ unavailable: 1, invalid_request: 1, unknown: 1 })
  })

  it('keeps 500 workers apart, the rest count together', () => {
    const meter = new RunMeter()
    for (let i = 0; i < 700; i++) meter.polled(`w${i}`, null)
    const workers = [...meter.workers]
    expect(workers).toHaveLength(501)
    expect(workers.find(({ worker }) => worker === OTHER)?.polls).toBe(200)
  })
})

describe('durations', () => {
  it('fall into the first bucket that holds them; the last one holds all longer ones', () => {
    const durations = new Durations()
    for (const seconds of [0, 0.1, 0.11, 300, 301, 1e6]) durations.add(seconds)
    expect(durations.buckets).toEqual([2, 1, 0, 0, 0, 0, 0, 1, 2])
  })
})
