import { describe, expect, it } from 'vitest'
import { net, node } from '../../../../test/engine/drive.ts'
import { FoldStage } from '../../../../test/fold/stage.ts'
import { aWorker } from '../../../../test/store/rows.ts'
import type { RunRow, WorkerRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import { leaseExpired, lost, strayed, unclaimed } from './ended-leases.ts'
import { MAX_DELIVERIES } from './runs.ts'

const CHANCE = { random: () => 0.5 }

function leased(change: Partial<RunRow> = {}): { readonly stage: FoldStage; readonly run: RunRow } {
  const stage = new FoldStage()
  stage.start(net([node('a')]))
  return { stage, run: stage.add({ ...stage.lease('a'), ...change }) }
}

function failureOf(run: RunRow): Failure {
  return JSON.parse(run.error ?? 'null') as Failure
}

describe('the lease of a session that died', () => {
  const lose = (stage: FoldStage, run: RunRow, state: WorkerRow['state']): RunRow => {
    stage.sessions.set('s', aWorker({ id: 's', state }))
    stage.act((change) => lost(change, run.id, CHANCE))
    return stage.run(run.id)
  }

  it('costs an attempt if the work had started', () => {
    const { stage, run } = leased({ startedAt: 1 })
    const after = lose(stage, run, 'dead')
    expect(after).toMatchObject({ status: 'pending', attempt: 1, epoch: run.epoch + 1 })
    expect(failureOf(after)).toMatchObject({ code: 'worker_lost', message: 'worker worker was lost' })
  })

  it('costs no attempt if it had not, until it has been delivered too often', () => {
    const first = leased()
    expect(lose(first.stage, first.run, 'dead')).toMatchObject({ status: 'pending', attempt: 0, deliveries: 1 })
    const last = leased({ deliveries: MAX_DELIVERIES - 1 })
    expect(lose(last.stage, last.run, 'dead')).toMatchObject({ attempt: 1 })
  })

  it('does not end while the session lives', () => {
    const { stage, run } = leased({ startedAt: 1 })
    expect(lose(stage, run, 'running')).toEqual(run)
  })
})

describe('a run that its worker does not hold', () => {
  const stray = (stage: FoldStage, run: RunRow, epoch: number): RunRow => {
    stage.act((change) => strayed(change, run.id, { sessionId: 's', epoch, chance: CHANCE }))
    return stage.run(run.id)
  }

  it('is given back as if it had not been leased if it had not started', () => {
    const { stage, run } = leased()
    expect(stray(stage, run, run.epoch)).toMatchObject({ status: 'pending', attempt: 0, deliveries: 0 })
  })

  it('has lost its outcome if it had', () => {
    const { stage, run } = leased({ startedAt: 1 })
    const after = stray(stage, run, run.epoch)
    expect(after).toMatchObject({ status: 'pending', attempt: 1 })
    expect(failureOf(after).code).toBe('worker_lost')
  })

  it('does not change under another lease', () => {
    const { stage, run } = leased({ startedAt: 1 })
    expect(stray(stage, run, run.epoch + 1)).toEqual(run)
  })
})

describe('a lease of its own that ran out', () => {
  const own = { sessionId: null, leaseMs: 50, leasedBy: 'http-1', startedAt: 1 }
  const expire = (change: Partial<RunRow>, worker: WorkerRow | null = null): RunRow => {
    const { stage, run } = leased({ ...own, ...change })
    stage.add({ ...run, leaseUntil: stage.now })
    if (worker !== null) stage.sessions.set('http-1', worker)
    stage.act((working) => leaseExpired(working, run.id, CHANCE))
    return stage.run(run.id)
  }

  it.each([
    ['of a worker over HTTP', {}, null, 'visibility_timeout'],
    ['of an inbox run', { inbox: true }, null, 'lease_expired'],
    ['of a client of the table', { leaseMs: null }, null, 'lease_expired'],
    ['of a worker that stopped sending heartbeats', {}, aWorker({ holds: 'lease', state: 'dead' }), 'worker_death'],
  ] as const)('%s has a code of its own', (_, change, worker, code) => {
    const after = expire(change, worker)
    expect(after).toMatchObject({ status: 'pending', attempt: 1 })
    expect(failureOf(after).code).toBe(code)
  })

  it('counts as a timeout if that came first', () => {
    const { now } = new FoldStage()
    expect(failureOf(expire({ timeoutMs: 10, timeoutAt: now - 1 })).code).toBe('timeout')
  })
})

describe('a lease whose requester had gone', () => {
  it('ends as if the run had not been leased', () => {
    const { stage, run } = leased({ sessionId: null, leaseMs: 50, startedAt: 1, firstStartedAt: 1 })
    stage.act((change) => unclaimed(change, run.id, run.epoch))
    expect(stage.run(run.id)).toMatchObject({ status: 'pending', attempt: 0, deliveries: 0, firstStartedAt: null })
  })

  it('does not end a later lease', () => {
    const { stage, run } = leased({ sessionId: null, leaseMs: 50 })
    stage.act((change) => unclaimed(change, run.id, run.epoch - 1))
    expect(stage.run(run.id)).toEqual(run)
  })
})
