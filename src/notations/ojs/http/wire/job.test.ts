import { describe, expect, it } from 'vitest'
import { newRun } from '../../../../engine/fold/run/runs.ts'
import { BodyNotes } from '../../../../kernel/reading/part.ts'
import type { RunRow } from '../../../../model/rows.ts'
import { enqueueParams, readJob } from '../../compile/job.ts'
import { errorObject } from '../../project/failures.ts'
import { jobWire } from './job.ts'

const NOW = Date.UTC(2030, 0, 1)
const ID = '019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0f'

function run(row: Partial<RunRow> = {}): RunRow {
  return newRun({ id: ID, type: 'email.send', payload: '["a",1]', now: NOW }, row)
}

/** The row created for the job of this body. */
function rowOf(body: object): RunRow {
  const params = enqueueParams(readJob(new BodyNotes().root({ type: 'a', args: [], ...body }), NOW), {
    tenant: null,
    initiator: null,
  })
  return run({
    meta: params.meta === undefined ? null : JSON.stringify(params.meta),
    retry: JSON.stringify(params.retry),
    runAt: params.runAt ?? NOW,
    expiresAt: params.expiresAt ?? null,
    timeoutMs: params.timeoutMs ?? null,
  })
}

const ABSENT = ['started_at', 'completed_at', 'cancelled_at', 'discarded_at', 'result', 'error', 'errors', 'worker_id']

describe('a job on the wire', () => {
  it('shows known fields and omits those that have not happened', () => {
    const wire = jobWire(run(), { now: NOW })
    expect(wire).toMatchObject({
      specversion: '1.0',
      id: ID,
      type: 'email.send',
      state: 'available',
      queue: 'default',
      args: ['a', 1],
      meta: {},
      priority: 0,
      attempt: 0,
      created_at: '2030-01-01T00:00:00.000Z',
      enqueued_at: '2030-01-01T00:00:00.000Z',
    })
    for (const name of ABSENT) expect(wire).not.toHaveProperty(name)
  })

  it('returns the envelope as it was sent', () => {
    const wire = jobWire(
      rowOf({
        meta: { trace: 't' },
        x_custom: 1,
        version: '2',
        options: {
          tags: ['x'],
          timeout_ms: 60_000,
          expires_at: '2099-12-31T23:59:59Z',
          scheduled_at: '2020-01-01T00:00:00Z',
          unique: { keys: ['args'] },
          metadata: { m: 1 },
          visibility_timeout_ms: 3000,
          retry: { max_attempts: 5 },
        },
      }),
      { now: NOW },
    )
    expect(wire).toMatchObject({
      meta: { trace: 't' },
      x_custom: 1,
      version: '2',
      tags: ['x'],
      timeout_ms: 60_000,
      timeout: 60_000,
      expires_at: '2099-12-31T23:59:59Z',
      scheduled_at: '2020-01-01T00:00:00Z',
      unique: { keys: ['args'] },
      metadata: { m: 1 },
      visibility_timeout_ms: 3000,
      retry: { max_attempts: 5, initial_interval: 'PT1S' },
    })
  })

  it('an extension cannot replace a field of the server', () => {
    const meta = JSON.stringify({ petrel: { ojs: { rest: { state: 'completed', id: 'x', x: 1 } } } })
    expect(jobWire(run({ meta }), { now: NOW })).toMatchObject({ state: 'available', id: ID, x: 1 })
  })

  it('shows when a scheduled job runs, and no enqueue time yet', () => {
    const wire = jobWire(rowOf({ options: { scheduled_at: '+PT2S' } }), { now: NOW })
    expect(wire).toMatchObject({ state: 'scheduled', scheduled_at: '2030-01-01T00:00:02.000Z' })
    expect(wire).not.toHaveProperty('enqueued_at')
    const due = jobWire(rowOf({ options: { scheduled_at: '+PT2S' } }), { now: NOW + 2000 })
    expect(due).toMatchObject({ state: 'available', enqueued_at: '2030-01-01T00:00:02.000Z' })
  })

  it('shows an SDK payload that is not a list as the one argument', () => {
    expect(jobWire({ ...run(), payload: '{"x":1}' }, { now: NOW })['args']).toEqual([{ x: 1 }])
  })

  it('is active with its worker', () => {
    const active = run({ status: 'leased', leasedBy: 'w1', startedAt: NOW, firstStartedAt: NOW })
    expect(jobWire(active, { now: NOW })).toMatchObject({
      state: 'active',
      attempt: 1,
      worker_id: 'w1',
      started_at: '2030-01-01T00:00:00.000Z',
    })
  })

  it('is completed with its result, and without the errors of earlier attempts', () => {
    const error = JSON.stringify({ code: 'handler_error', message: 'first' })
    const done = run({
      status: 'succeeded',
      attempt: 1,
      result: '{"ok":true}',
      finishedAt: NOW,
      error,
      lastError: 'first',
    })
    const wire = jobWire(done, {
      now: NOW,
      failures: [{ attempt: 1, error: JSON.parse(error), at: NOW, retryDelayMs: 5 }],
    })
    expect(wire).toMatchObject({ state: 'completed', attempt: 2, result: { ok: true }, errors: [{ message: 'first' }] })
    expect(wire).toHaveProperty('completed_at')
    expect(wire).not.toHaveProperty('error')
  })

  it('is retryable with its last error, the history and the next attempt', () => {
    const error = { code: 'handler_error', message: 'second', details: { error_class: 'Boom' } }
    const waiting = run({ attempt: 2, runAt: NOW + 2000, error: JSON.stringify(error), lastError: 'second' })
    const failures = [
      { attempt: 1, error: { code: 'timeout', message: 'first' }, at: NOW - 9000, retryDelayMs: 1000 },
      { attempt: 2, error, at: NOW, retryDelayMs: 2000 },
    ]
    expect(jobWire(waiting, { now: NOW, failures })).toMatchObject({
      state: 'retryable',
      attempt: 2,
      next_attempt_at: '2030-01-01T00:00:02.000Z',
      retry_delay_ms: 2000,
      error: { code: 'handler_error', type: 'Boom', message: 'second', attempt: 2 },
      errors: [
        { attempt: 1, code: 'timeout', type: 'timeout', message: 'first', occurred_at: '2029-12-31T23:59:51.000Z' },
        { attempt: 2, type: 'Boom' },
      ],
    })
  })

  it('is discarded: completed_at if it was executed, not if it expired unstarted', () => {
    const failed = run({
      status: 'failed',
      attempt: 1,
      finishedAt: NOW,
      error: '{"code":"handler_error","message":"m"}',
    })
    const expired = run({ status: 'failed', finishedAt: NOW, error: '{"code":"expired","message":"late"}' })
    expect(jobWire(failed, { now: NOW })).toMatchObject({
      state: 'discarded',
      discarded_at: expect.any(String),
      completed_at: expect.any(String),
    })
    expect(jobWire(expired, { now: NOW })).toMatchObject({
      state: 'discarded',
      discarded_at: expect.any(String),
      error: { code: 'expired' },
    })
    expect(jobWire(expired, { now: NOW })).not.toHaveProperty('completed_at')
  })

  it('is cancelled with a separate time', () => {
    const wire = jobWire(run({ status: 'cancelled', finishedAt: NOW, error: '{"code":"cancelled","message":"m"}' }), {
      now: NOW,
    })
    expect(wire).toMatchObject({ state: 'cancelled', attempt: 0, cancelled_at: expect.any(String) })
    for (const name of ['completed_at', 'error', 'started_at']) expect(wire).not.toHaveProperty(name)
  })

  it('names its workflow', () => {
    const workflow = { workflowId: 'wf_1', workflowStep: 1, parentResults: [{ a: 1 }, null], workflow: { id: 'wf_1' } }
    expect(jobWire(run(), { now: NOW, workflow })).toMatchObject({
      workflow_id: 'wf_1',
      workflow_step: 1,
      parent_results: [{ a: 1 }, null],
      workflow: { id: 'wf_1' },
    })
  })

  it('names the cron job that created it', () => {
    const meta = JSON.stringify({ petrel: { ojs: { cron: 'daily', metadata: { m: 1 } } } })
    expect(jobWire(run({ meta }), { now: NOW })['metadata']).toEqual({
      m: 1,
      cron_name: 'daily',
      cron_triggered_at: '2030-01-01T00:00:00.000Z',
    })
  })
})

describe('an error on the wire', () => {
  it('always has a code and a type', () => {
    expect(errorObject({ code: 'handler_error', message: 'm' })).toEqual({
      code: 'handler_error',
      type: 'handler_error',
      message: 'm',
      retryable: true,
    })
    expect(errorObject({ code: 'lease_expired', message: 'm', retryable: false })).toMatchObject({
      code: 'visibility_timeout',
      retryable: false,
    })
  })
})
