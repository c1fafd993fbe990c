import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HELD_AT, PARKED_AT, type RunStatus, type StoredEvent } from '../../model/rows.ts'
import { lastWorker, type Segment, segmentsOf, workersOf } from './segments.ts'

const iso = (at: number): string => new Date(at).toISOString()
type Given = readonly [at: number, type: string, data?: object]

function eventsOf(given: readonly Given[]): readonly StoredEvent[] {
  return given.map(([at, type, data], i) => ({
    id: i + 1,
    runId: 'r',
    instanceId: 'i',
    seq: i + 1,
    type,
    node: 'a',
    actor: null,
    tenant: null,
    data: data === undefined ? null : JSON.stringify(data),
    at,
  }))
}

function line(rest: Partial<Parameters<typeof segmentsOf>[0]> = {}): Parameters<typeof segmentsOf>[0] {
  return {
    status: 'pending',
    createdAt: 0,
    runAt: 0,
    finishedAt: null,
    leasedAt: null,
    leasedBy: null,
    startedAt: null,
    attempt: 0,
    deferred: false,
    ...rest,
  }
}

const brief = (segments: readonly Segment[]): readonly string[] =>
  segments.map(({ waits, from, to, attempt, worker, error }) =>
    [`${attempt} ${waits ?? 'runs'} ${from}-${to ?? ''}`, worker, error].filter((part) => part !== null).join(' '),
  )
const shown = (given: readonly Given[], rest: Parameters<typeof line>[0] = {}, now = 1_000) =>
  brief(segmentsOf(line(rest), eventsOf(given), now))

describe('segments of a run', () => {
  it('handed over as it was created: it runs from its start to its end', () => {
    const given: Given[] = [
      [0, 'created', { leased_at: iso(0), leased_by: 'w1' }],
      [90, 'succeeded', { started_at: iso(10) }],
    ]
    expect(shown(given, { status: 'succeeded', finishedAt: 90 })).toEqual(['1 start 0-10 w1', '1 runs 10-90 w1'])
  })

  it('between two attempts it waits until it is due, and then for a worker', () => {
    const given: Given[] = [
      [0, 'created', { run_at: iso(10) }],
      [50, 'retried', { ...lease(20, 'w1', 20), attempt: 1, error: { code: 'busy' }, run_at: iso(100) }],
      [200, 'succeeded', lease(130, 'w2', 130)],
    ]
    expect(shown(given, { status: 'succeeded', finishedAt: 200, attempt: 1 })).toEqual([
      '1 scheduled 0-10',
      '1 queue 10-20',
      '1 runs 20-50 w1 busy',
      '2 retry 50-100',
      '2 queue 100-130',
      '2 runs 130-200 w2',
    ])
  })

  it('what no event has recorded yet is in the row', () => {
    const created: Given[] = [[0, 'created']]
    expect(shown(created)).toEqual(['1 queue 0-'])
    expect(shown(created, { runAt: 2_000 })).toEqual(['1 scheduled 0-'])
    expect(shown(created, { runAt: 500 })).toEqual(['1 scheduled 0-500', '1 queue 500-'])
    expect(shown(created, { runAt: HELD_AT })).toEqual(['1 activation 0-'])
    expect(shown(created, { runAt: 2_000, attempt: 2 })).toEqual(['3 scheduled 0-'])
    const held = { status: 'leased' as const, leasedAt: 30, leasedBy: 'w1' }
    expect(shown(created, held)).toEqual(['1 queue 0-30', '1 start 30- w1'])
    expect(shown(created, { ...held, startedAt: 40 })).toEqual(['1 queue 0-30', '1 start 30-40 w1', '1 runs 40- w1'])
    expect(shown([], { status: 'succeeded', finishedAt: 70 })).toEqual(['1 queue 0-70'])
  })

  it('a lease of its own and a lease by plain SQL are recorded when they begin', () => {
    const own: Given[] = [
      [0, 'created'],
      [20, 'started', { worker_id: '@acme/w1', leased_at: iso(20), leased_by: '@acme/w1' }],
      [60, 'failed', { attempt: 1, error: { code: 'boom' } }],
    ]
    expect(shown(own, { status: 'failed', finishedAt: 60, attempt: 1 })).toEqual([
      '1 queue 0-20',
      '1 runs 20-60 w1 boom',
    ])
    const sql: Given[] = [
      [0, 'created'],
      [20, 'leased', { worker_id: 'psql', attempt: 1 }],
      [60, 'succeeded'],
    ]
    expect(shown(sql, { status: 'succeeded', finishedAt: 60 })).toEqual(['1 queue 0-20', '1 runs 20-60 psql'])
  })

  it('deferred: it waits for its completion', () => {
    const given: Given[] = [
      [0, 'created'],
      [40, 'deferred', lease(10, 'w1', 20)],
    ]
    const row = { status: 'leased' as const, deferred: true, startedAt: 20, leasedBy: 'w1' }
    expect(shown(given, row)).toEqual(['1 queue 0-10', '1 start 10-20 w1', '1 runs 20-40 w1', '1 completion 40-'])
    const ended: Given[] = [...given, [90, 'succeeded']]
    expect(shown(ended, { status: 'succeeded', finishedAt: 90 }).at(-1)).toBe('1 completion 40-90')
  })

  it('given back: it is continued on the same attempt, unless the start counts', () => {
    const given: Given[] = [
      [0, 'created'],
      [40, 'returned', { ...lease(10, 'w1', 10), run_at: iso(100) }],
    ]
    expect(shown(given, { runAt: 100 }, 50)).toEqual(['1 queue 0-10', '1 runs 10-40 w1', '1 scheduled 40-'])
    const unstarted: Given[] = [
      [0, 'created'],
      [40, 'returned', { leased_at: iso(10), leased_by: 'w1' }],
    ]
    expect(shown(unstarted)).toEqual(['1 queue 0-10', '1 start 10-40 w1', '1 queue 40-'])
  })

  it('redriven: it waited since its end, and attempts begin again', () => {
    const given: Given[] = [
      [0, 'created', { leased_at: iso(0), leased_by: 'w1' }],
      [30, 'failed', { attempt: 3, error: { code: 'denied' }, started_at: iso(0) }],
      [80, 'redriven', { because: 'approved' }],
      [95, 'succeeded', lease(90, 'w2', 90)],
    ]
    expect(shown(given, { status: 'succeeded', finishedAt: 95 })).toEqual([
      '1 runs 0-30 w1 denied',
      '1 gate 30-80',
      '1 queue 80-90',
      '1 runs 90-95 w2',
    ])
  })

  it('the parts of a wait inside of a pause are paused', () => {
    const given: Given[] = [
      [0, 'created'],
      [95, 'succeeded', lease(60, 'w1', 60)],
    ]
    const pauses = [
      { from: 10, to: 20 },
      { from: 50, to: 70 },
    ]
    const row = line({ status: 'succeeded', finishedAt: 95 })
    expect(brief(segmentsOf(row, eventsOf(given), 100, pauses))).toEqual([
      '1 queue 0-10',
      '1 paused 10-20',
      '1 queue 20-50',
      '1 paused 50-60',
      '1 runs 60-95 w1',
    ])
    const parked = line({ runAt: PARKED_AT })
    expect(brief(segmentsOf(parked, eventsOf([[0, 'created']]), 100, [{ from: 40, to: null }]))).toEqual([
      '1 queue 0-40',
      '1 paused 40-',
    ])
  })

  it('never overlap, and cover the run from its creation to its end without gaps, whatever the clocks said', () => {
    const time = fc.integer({ min: 0, max: 500 })
    const types = [
      'created',
      'leased',
      'started',
      'deferred',
      'retried',
      'returned',
      'succeeded',
      'failed',
      'cancelled',
    ]
    const data = fc.record(
      {
        run_at: time.map(iso),
        leased_at: time.map(iso),
        started_at: time.map(iso),
        leased_by: fc.constant('w'),
        attempt: fc.nat(3),
        because: fc.constantFrom('approved', 'policy'),
      },
      { requiredKeys: [] },
    )
    const event = fc.tuple(time, fc.constantFrom(...types, 'redriven', 'run.activated', 'progress', ''), data)
    const row = fc.record({
      status: fc.constantFrom<RunStatus>('pending', 'leased', 'succeeded', 'failed', 'cancelled'),
      runAt: time,
      finishedAt: time,
      leasedAt: fc.option(time),
      startedAt: fc.option(time),
      deferred: fc.boolean(),
    })
    const pause = fc.tuple(time, time).map(([from, ms]) => [
      { from, to: from + ms + 1 },
      { from: from + ms + 9, to: null },
    ])
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), row, time, pause, (given, fields, now, pauses) => {
        const over = fields.status !== 'pending' && fields.status !== 'leased'
        const run = line({ ...fields, finishedAt: over ? fields.finishedAt : null })
        const segments = segmentsOf(run, eventsOf(given), now, pauses)
        const none = over && run.finishedAt === 0
        expect(segments[0]?.from).toBe(none ? undefined : 0)
        expect(segments.at(-1)?.to).toBe(none ? undefined : over ? run.finishedAt : null)
        for (const [at, { from, to }] of segments.entries()) {
          if (at > 0) expect(from).toBe(segments[at - 1]?.to)
          if (to !== null) expect(to).toBeGreaterThan(from)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('who executed', () => {
  it('an event names the worker that held the run then', () => {
    const events = eventsOf([
      [0, 'created', { leased_at: iso(0), leased_by: 'w1' }],
      [10, 'retried', { started_at: iso(0), attempt: 1 }],
      [20, 'cancelled'],
      [30, 'redriven'],
      [40, 'succeeded', { leased_at: iso(35), leased_by: '@acme/w2' }],
    ])
    expect([...workersOf(events)]).toEqual([
      [1, 'w1'],
      [2, 'w1'],
      [5, 'w2'],
    ])
    expect(lastWorker({ leasedBy: null }, events)).toBe('w2')
    expect(lastWorker({ leasedBy: 'w3' }, events)).toBe('w3')
    expect(lastWorker({ leasedBy: null }, [])).toBeNull()
  })
})

function lease(leasedAt: number, by: string, startedAt: number): object {
  return { leased_at: iso(leasedAt), leased_by: by, started_at: iso(startedAt) }
}
