import { describe, expect, it } from 'vitest'
import { pathText } from '../../../kernel/reading/mistakes.ts'
import { BodyNotes, type Part } from '../../../kernel/reading/part.ts'
import type { RunRow } from '../../../model/rows.ts'
import { DEFAULT_VISIBILITY_MS, readAck, readBeat, readFetch, readNack, testDirective } from './worker.ts'

function read<T>(body: unknown, how: (part: Part) => T): { asked: T; mistakes: string[] } {
  const notes = new BodyNotes()
  const asked = how(notes.root(body))
  return { asked, mistakes: notes.mistakes.map((m) => pathText(m.path)) }
}

const ID = '019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0f'
const run = (meta: object | null, status: RunRow['status'] = 'leased'): RunRow =>
  ({ meta: meta === null ? null : JSON.stringify(meta), status }) as RunRow

describe('fetch', () => {
  it('asks for one job, without waiting, by default', () => {
    const { asked, mistakes } = read({ queues: ['a', 'b'] }, readFetch)
    expect(mistakes).toEqual([])
    expect(asked).toMatchObject({
      queues: ['a', 'b'],
      types: null,
      limit: 1,
      holder: 'a worker',
      runtime: null,
      waitMs: 0,
    })
  })

  it('holds a job as long as the worker requests, else as its producer requested, else half an hour', () => {
    const patient = run({ petrel: { ojs: { visibilityTimeoutMs: 3000 } } })
    const own = read({ queues: ['a'], visibility_timeout_ms: 500 }, readFetch).asked
    const none = read({ queues: ['a'] }, readFetch).asked
    expect([own.leaseMs(patient), none.leaseMs(patient), none.leaseMs(run(null))]).toEqual([
      500,
      3000,
      DEFAULT_VISIBILITY_MS,
    ])
  })

  it.each([
    [{}, ['queues']],
    [{ queues: [] }, ['queues']],
    [{ queues: 'a' }, ['queues']],
    [{ queues: ['a', 'B'] }, ['queues[1]']],
    [{ queues: ['a'], count: 0 }, ['count']],
    [{ queues: ['a'], count: 1001 }, ['count']],
    [{ queues: ['a'], wait_ms: 60_001 }, ['wait_ms']],
    [{ queues: ['a'], visibility_timeout_ms: 0 }, ['visibility_timeout_ms']],
    [{ queues: ['a'], worker_id: 'has space' }, ['worker_id']],
  ])('refuses %j', (body, paths) => {
    expect(read(body, readFetch).mistakes).toEqual(paths)
  })
})

describe('ack', () => {
  it('ends a job with a result, or none', () => {
    expect(read({ job_id: ID, result: { x: 1 }, worker_id: 'w', attempt: 2 }, readAck).asked).toEqual({
      runId: ID,
      holder: 'w',
      attempt: 2,
      outcome: { kind: 'succeeded', result: { x: 1 } },
    })
    expect(read({ job_id: ID }, readAck).asked).toMatchObject({
      holder: null,
      attempt: null,
      outcome: { result: null },
    })
  })

  it.each([[{}], [{ job_id: 5 }], [{ job_id: '' }]])('refuses %j', (body) => {
    expect(read(body, readAck).mistakes).toEqual(['job_id'])
  })
})

describe('nack', () => {
  const outcome = (body: object) => read({ job_id: ID, ...body }, readNack).asked.outcome

  it('accepts the type of an error under any of its common names', () => {
    const types = [
      { code: 'handler_error', type: 'Auth.Expired' },
      { code: 'handler_error', details: { error_class: 'Auth.Expired' } },
    ].map((error) => outcome({ error: { message: 'no', ...error } }))
    expect(types).toMatchObject([{ error: { type: 'Auth.Expired' } }, { error: { type: 'Auth.Expired' } }])
    expect(outcome({ error: { message: 'no' } })).toEqual({
      kind: 'failed',
      how: 'policy',
      error: { code: 'handler_error', message: 'no' },
    })
  })

  it.each([
    ['RETRY', 'policy'],
    ['DISCARD', 'discard'],
    ['FAIL', 'discard'],
    ['DEAD_LETTER', 'dead_letter'],
    ['handler_error', 'policy'],
  ])('lets the code %s decide: %s', (code, how) => {
    expect(outcome({ error: { code, message: 'm' } })).toMatchObject({ how })
  })

  it('returns a job, with a reason or without', () => {
    expect(outcome({ requeue: true })).toEqual({ kind: 'requeue' })
    expect(outcome({ requeue: true, error: { code: 'cancelled', message: 'm', retryable: false } })).toEqual({
      kind: 'requeue',
      error: { code: 'cancelled', message: 'm', retryable: false },
    })
  })

  it.each([
    [{ job_id: ID }, ['error']],
    [{ job_id: ID, error: 'broken' }, ['error']],
    [{ error: { message: 'm' } }, ['job_id']],
    [{ job_id: ID, error: { message: 5 } }, ['error.message']],
    [{ job_id: ID, error: { message: 'm', retryable: 'no' } }, ['error.retryable']],
    [{ job_id: ID, error: { message: 'm' }, requeue: 1 }, ['requeue']],
    [{ job_id: ID, error: { message: 'm', details: { retry_delay_ms: 1e300 } } }, ['error.details.retry_delay_ms']],
    [{ job_id: ID, error: { message: 'm', details: { retry_delay_ms: -1 } } }, ['error.details.retry_delay_ms']],
  ])('refuses %j', (body, paths) => {
    expect(read(body, readNack).mistakes).toEqual(paths)
  })
})

describe('heartbeat', () => {
  it('accepts lists of jobs in either form', () => {
    expect(read({ worker_id: 'w', active_jobs: [ID] }, readBeat).asked.runIds).toEqual([ID])
    expect(read({ worker_id: 'w', active_jobs: 1, active_job_ids: [ID] }, readBeat).asked.runIds).toEqual([ID])
    expect(read({ worker_id: 'w', active_jobs: 3 }, readBeat).asked.runIds).toEqual([])
  })

  it.each([
    [undefined, 'running'],
    ['active', 'running'],
    ['quiet', 'quiet'],
    ['drain', 'quiet'],
    ['terminate', 'terminate'],
  ])('accepts the state %s for %s', (state, word) => {
    expect(read({ worker_id: 'w', state }, readBeat).asked.state).toBe(word)
  })

  it('may come as rarely as the requested leases are long', () => {
    expect(read({ worker_id: 'w' }, readBeat).asked).toMatchObject({ leaseMs: null, ttlMs: 30_000 })
    expect(read({ worker_id: 'w', visibility_timeout_ms: 90_000 }, readBeat).asked).toMatchObject({
      leaseMs: 90_000,
      ttlMs: 90_000,
    })
  })

  it('requires a name', () => {
    expect(read({ active_jobs: [] }, readBeat).mistakes).toEqual(['worker_id'])
  })
})

describe('a test directive', () => {
  const directed = (directive: string, status?: RunRow['status']) =>
    run({ petrel: { ojs: { metadata: { test_directive: directive } } } }, status)

  it('is the strongest of the active jobs', () => {
    expect(testDirective([directed('quiet'), directed('terminate')])).toBe('terminate')
    expect(testDirective([directed('quiet'), run(null)])).toBe('quiet')
    expect(testDirective([directed('quiet', 'succeeded'), directed('dance')])).toBeNull()
  })
})
