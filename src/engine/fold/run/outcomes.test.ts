import { describe, expect, it } from 'vitest'
import { net, node } from '../../../../test/engine/drive.ts'
import { FoldStage } from '../../../../test/fold/stage.ts'
import { aRun } from '../../../../test/store/rows.ts'
import type { RunRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { leaseExpired } from './ended-leases.ts'
import { cancelled, failExecution, giveBack, overdue, postpone, reported, succeed, unrecordable } from './outcomes.ts'
import { NO_REPORT } from './remarks.ts'

const CHANCE = { random: () => 0.5 }
const RETRY: Retry = {
  maxAttempts: 3,
  backoff: 'exponential',
  initialMs: 1_000,
  coefficient: 2,
  maxMs: 60_000,
  jitter: 0,
  nonRetryable: ['bad.*'],
  retryOn: null,
  deadLetter: true,
}
const FAILED: Failure = { code: 'handler_error', message: 'no luck' }
const ONE = net([node('a', ['b'], { retry: RETRY }), node('b')])

function begun(): { readonly stage: FoldStage; readonly id: string; readonly run: RunRow } {
  const stage = new FoldStage()
  const id = stage.start(ONE)
  return { stage, id, run: stage.lease('a') }
}

function fail(stage: FoldStage, run: RunRow, error: Failure = FAILED, unknown = false): RunRow {
  stage.act((change) => failExecution(change, run, error, unknown, NO_REPORT, CHANCE))
  return stage.run(run.id)
}

describe('a failed execution', () => {
  it('is retried after the delay of its policy, which grows', () => {
    const { stage, run } = begun()
    const first = fail(stage, run)
    expect(first).toMatchObject({ status: 'pending', attempt: 1, runAt: stage.now + 1_000, epoch: run.epoch + 1 })
    const second = fail(stage, stage.lease('a'))
    expect(second).toMatchObject({ status: 'pending', attempt: 2, runAt: stage.now + 2_000 })
    expect(stage.eventTypes('a')).toEqual(['created', 'retried', 'retried'])
  })

  it('that was the last fails the run, which becomes a dead letter, and its instance', () => {
    const { stage, id, run } = begun()
    stage.add({ ...run, attempt: 2 })
    expect(fail(stage, stage.run(run.id))).toMatchObject({ status: 'failed', attempt: 3, deadLetter: true })
    expect(stage.instance(id).state).toBe('failed')
    expect(stage.runAt('b')).toBeUndefined()
  })

  it('is not retried if its policy excludes the error, or the error excludes a retry', () => {
    for (const error of [
      { code: 'bad.input', message: 'no' },
      { code: 'x', message: 'no', retryable: false },
    ]) {
      const { stage, run } = begun()
      expect(fail(stage, run, error)).toMatchObject({ status: 'failed', attempt: 1 })
    }
  })

  it('whose worker was lost is retried at once; a timeout waits for the delay', () => {
    const lost = begun()
    expect(fail(lost.stage, lost.run, { code: 'worker_lost', message: 'gone' }, true).runAt).toBe(lost.stage.now)
    const late = begun()
    expect(fail(late.stage, late.run, { code: 'timeout', message: 'late' }, true).runAt).toBe(late.stage.now + 1_000)
  })

  it('is retried if it requests it: the delay is its own', () => {
    const { stage, run } = begun()
    expect(fail(stage, run, { ...FAILED, details: { retry_delay_ms: 42 } }).runAt).toBe(stage.now + 42)
  })

  it('is not retried in a drain', () => {
    const { stage, run } = begun()
    stage.add({ ...run, cancelRequestedAt: stage.now })
    expect(fail(stage, stage.run(run.id)).status).toBe('failed')
  })
})

describe('a report', () => {
  const report = (run: RunRow, reportId = 'r1') => ({
    delivery: { runId: run.id, epoch: run.epoch },
    reportId,
    startedAt: null,
    outcome: { kind: 'succeeded', result: '7' } as const,
  })
  const session = { id: 's', held: (id: string) => id === 's' }

  it('under the lease records the outcome, and the next node begins', () => {
    const { stage, run } = begun()
    const { value } = stage.act((change) => reported(change, session, report(run), {}, CHANCE))
    expect(value).toBe('recorded')
    expect(stage.run(run.id)).toMatchObject({ status: 'succeeded', result: '7', reportId: 'r1', leasedBy: null })
    expect(stage.runAt('b')?.status).toBe('pending')
  })

  it('under an older lease is stale and changes nothing', () => {
    const { stage, run } = begun()
    stage.add({ ...run, epoch: run.epoch + 1 })
    expect(stage.act((change) => reported(change, session, report(run), {}, CHANCE)).value).toBe('stale')
    expect(stage.run(run.id)).toEqual({ ...run, epoch: run.epoch + 1 })
  })

  it('of a run that does not exist is not found', () => {
    const { stage } = begun()
    expect(stage.act((change) => reported(change, session, report(aRun()), {}, CHANCE)).value).toBe('not_found')
  })

  it('after the deadline of its instance is stale, even if no sweep has found the deadline', () => {
    const { stage, id, run } = begun()
    stage.instances.set(id, { ...stage.instance(id), deadlineAt: stage.now })
    expect(stage.act((change) => reported(change, session, report(run), {}, CHANCE)).value).toBe('stale')
    expect(stage.run(run.id).status).toBe('cancelled')
    expect(stage.instance(id)).toMatchObject({ state: 'failed', reason: 'deadline' })
  })
})

describe('time', () => {
  it('ends an expired lease, which costs an attempt, and no other', () => {
    const { stage, run } = begun()
    stage.add({ ...run, sessionId: null, leaseMs: 50, leaseUntil: stage.now + 50, startedAt: stage.now, inbox: true })
    stage.act((change) => leaseExpired(change, run.id, CHANCE))
    expect(stage.run(run.id).status).toBe('leased')
    stage.now += 50
    stage.act((change) => leaseExpired(change, run.id, CHANCE))
    expect(stage.run(run.id)).toMatchObject({ status: 'pending', attempt: 1, leaseUntil: null })
  })

  it('ends an execution past its timeout', () => {
    const { stage, run } = begun()
    stage.add({ ...run, timeoutMs: 10, timeoutAt: stage.now + 10 })
    stage.now += 10
    stage.act((change) => overdue(change, run.id, CHANCE))
    expect(stage.run(run.id)).toMatchObject({ status: 'pending', attempt: 1, lastError: 'did not end within 10 ms' })
  })

  it('fails a run that expired before it started, without an attempt', () => {
    const stage = new FoldStage()
    const run = stage.add(aRun({ expiresAt: stage.now + 5 }))
    stage.act((change) => overdue(change, run.id, CHANCE))
    expect(stage.run(run.id).status).toBe('pending')
    stage.now += 5
    stage.act((change) => overdue(change, run.id, CHANCE))
    expect(stage.run(run.id)).toMatchObject({
      status: 'failed',
      attempt: 0,
      lastError: 'not started before it expired',
    })
  })
})

describe('a run', () => {
  it('that is returned has lost no attempt, and its lease is over', () => {
    const { stage, run } = begun()
    stage.act((change) => giveBack(change, run, true, NO_REPORT))
    expect(stage.run(run.id)).toMatchObject({ status: 'pending', attempt: 0, deliveries: 1, epoch: run.epoch + 1 })
  })

  it('that is postponed is due later, as the same attempt', () => {
    const { stage, run } = begun()
    stage.act((change) => postpone(change, run, 300, NO_REPORT))
    expect(stage.run(run.id)).toMatchObject({ status: 'pending', attempt: 0, runAt: stage.now + 300 })
  })

  it('that is cancelled while active is unknown to its instance', () => {
    const { stage, run } = begun()
    stage.act((change) => cancelled(change, run.id, 'ada'))
    expect(stage.run(run.id)).toMatchObject({ status: 'cancelled', unknown: true, lastError: 'cancelled by ada' })
    expect(() => stage.act((change) => cancelled(change, run.id, null))).toThrow(/already cancelled/)
  })

  it('whose outcome cannot be stored has failed', () => {
    const { stage, id, run } = begun()
    stage.act((change) => unrecordable(change, run.id))
    expect(JSON.parse(stage.run(run.id).error ?? '')).toMatchObject({ code: 'unstorable' })
    expect(stage.instance(id).state).toBe('failed')
  })

  it('whose result does not fit the schema of its node has failed', () => {
    const stage = new FoldStage()
    const schema = { input: null, output: { type: 'number' } }
    stage.start(net([node('a', [], { schema, retry: RETRY })]))
    const run = stage.lease('a')
    stage.act((change) => succeed(change, run, '"text"', NO_REPORT))
    expect(JSON.parse(stage.run(run.id).error ?? '')).toMatchObject({ code: 'invalid_output' })
  })
})
