import { describe, expect, it } from 'vitest'
import { executionsOf } from './executions.ts'

const ENDED = { status: 'succeeded', leased_by: null, started_at: null }
const at = (second: number): string => `2026-11-20T00:00:0${second}.000Z`

describe('the executions of a run', () => {
  it('are those that its events record, each with its worker, times and error', () => {
    const found = executionsOf(
      [
        { type: 'created', at: at(0), data: { run_at: at(0) } },
        {
          type: 'retried',
          at: at(2),
          data: { leased_at: at(1), leased_by: 'w1', started_at: at(1), error: { code: 'busy', message: 'later' } },
        },
        { type: 'started', at: at(4), data: { worker_id: 'w2', leased_at: at(3) } },
        { type: 'heartbeat', at: at(5), data: { extended_by_seconds: 30 } },
        { type: 'succeeded', at: at(6), data: null },
      ],
      ENDED,
    )
    expect(found).toEqual([
      { worker: 'w1', leasedAt: at(1), startedAt: at(1), endedAt: at(2), end: 'retried', error: 'busy: later' },
      { worker: 'w2', leasedAt: at(3), startedAt: at(4), endedAt: at(6), end: 'succeeded', error: null },
    ])
  })

  it('include the one that a worker holds', () => {
    const run = { status: 'leased', leased_by: 'w1', started_at: at(2) }
    const events = [{ type: 'created', at: at(0), data: { leased_at: at(1), leased_by: 'w1' } }]
    expect(executionsOf(events, run)).toEqual([
      { worker: 'w1', leasedAt: at(1), startedAt: at(2), endedAt: null, end: null, error: null },
    ])
  })

  it('do not include a cancel before anything began', () => {
    const events = [
      { type: 'created', at: at(0), data: null },
      { type: 'cancelled', at: at(1), data: null },
    ]
    expect(executionsOf(events, { ...ENDED, status: 'cancelled' })).toEqual([])
  })
})
