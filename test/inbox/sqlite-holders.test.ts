/**
 * Which client may end which work on an SQLite file: the sqlite3 tool beside Petrel's own workers, and beside other
 * tools.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Drive } from '../engine/drive.ts'
import { begin, chain, job, workflow } from '../engine/specifications/stage.ts'
import { ToolStage } from './sqlite-stage.ts'
import { hasSqlite3, type ToolWorker } from './sqlite-tool.ts'
import { eventually, NEVER_MS } from './stage.ts'

const NOW = '(SELECT now FROM workflow_clock)'

describe.skipIf(!hasSqlite3())('the sqlite3 tool among other holders', () => {
  let t: ToolStage
  let d: Drive
  let sh: ToolWorker
  beforeEach(async () => {
    t = await ToolStage.open()
    d = t.s.d
    sh = t.worker()
  })
  afterEach(async () => {
    await d.engine.sweep()
    expect(await d.doctor()).toEqual([])
    await t.close()
  })
  const claimNow = (id: string, worker = 'sh-9'): Promise<number> =>
    t.tool.change(
      `UPDATE workflow_run SET status = 'leased', leased_by = '${worker}', lease_until = ${NOW} + 30000 WHERE id = '${id}'`,
    )

  it('a run held by one worker cannot be claimed, not even by the same worker', async () => {
    const id = await t.insert()
    await sh.claimed()
    expect([await claimNow(id), await claimNow(id, 'sh-1')]).toEqual([0, 0])
    expect(await t.run(id)).toMatchObject({ leasedBy: 'sh-1', attempt: 0 })
    expect(await t.words(id)).toEqual(['created', 'leased', 'started'])
  })

  it('a worker that claims its expired run again has spent an attempt', async () => {
    const id = await t.insert()
    await sh.claimed()
    await d.store.moveClock(31_000)
    expect([await claimNow(id, 'sh-1'), await claimNow(id, 'sh-1')]).toEqual([0, 1])
    expect(await t.run(id)).toMatchObject({ leasedBy: 'sh-1', attempt: 1 })
  })

  it('a late heartbeat counts, unless the run has been taken back', async () => {
    const id = await t.insert()
    await sh.claimed()
    await d.store.moveClock(31_000)
    expect(await sh.heartbeat(id)).toBe(1)
    await d.store.moveClock(62_000)
    await d.engine.sweep()
    expect(await sh.heartbeat(id)).toBe(0)
    const unconditional = `UPDATE workflow_run SET lease_until = ${NOW} + 30000 WHERE id = '${id}'`
    expect(await t.tool.change(unconditional)).toBe(0)
    expect(await t.run(id)).toMatchObject({ status: 'pending', attempt: 1, leaseUntil: null })
    expect(await t.words(id)).toEqual(['created', 'leased', 'started', 'heartbeat', 'retried'])
  })

  it('a late failure is recognised by its attempt and dropped; the first success wins', async () => {
    const id = await t.insert()
    const lost = await sh.claimed()
    await d.store.moveClock(31_000)
    await d.engine.sweep()
    expect(await sh.fail(lost)).toBe(0)
    const other = t.worker('sh-2')
    const current = await other.claimed()
    expect(current.attempt).toBe(1)
    expect(await sh.fail(lost)).toBe(0)
    expect(await t.run(id)).toMatchObject({ status: 'leased', leasedBy: 'sh-2', attempt: 1 })
    expect(await sh.succeed(id, '"late"')).toBe(1)
    expect([await other.succeed(id, '"current"'), await other.fail(current)]).toEqual([0, 0])
    await d.engine.sweep()
    expect(await t.run(id)).toMatchObject({ status: 'succeeded', result: '"late"', attempt: 1 })
    expect(await t.words(id)).toEqual(['created', 'leased', 'started', 'retried', 'leased', 'started', 'succeeded'])
  })

  it('plain SQL neither takes nor ends a run that a Petrel worker holds', async () => {
    const id = await t.insert()
    const delivery = await d.claimOne()
    expect(await claimNow(id)).toBe(0)
    expect(await sh.heartbeat(id)).toBe(0)
    expect(await sh.fail({ id, attempt: 0 })).toBe(0)
    expect(await sh.succeed(id)).toBe(0)
    expect(await sh.giveBack(id)).toBe(0)
    expect((await d.succeed(delivery, 'ours')).status).toBe('recorded')
    expect(await t.run(id)).toMatchObject({ status: 'succeeded', result: '"ours"', attempt: 0 })
    expect(await t.words(id)).toEqual(['created', 'leased', 'started', 'succeeded'])
  })

  it('nor a run that a worker holds over HTTP', async () => {
    const id = await t.insert()
    const lease = { queues: null, types: null, limit: 1, holder: 'http-1', runtime: null, tenant: null, waitMs: 0 }
    const [run] = await d.engine.leases.fetch({ ...lease, leaseMs: () => 30_000 })
    expect(run?.id).toBe(id)
    expect([await claimNow(id), await sh.heartbeat(id), await sh.succeed(id)]).toEqual([0, 0, 0])
    expect(await sh.cancel(id)).toBe(1)
    await d.engine.sweep()
    expect(await t.run(id)).toMatchObject({ status: 'cancelled', unknown: true, leaseMs: null, leasedBy: null })
    expect(await t.words(id)).toEqual(['created', 'leased', 'started', 'cancelled'])
  })

  it('a cancel by SQL is final: a Petrel worker is asked to stop, and its report is late even if the run was cached', async () => {
    const id = await t.insert()
    const [made] = await d.engine.enqueue([{ type: 'other.v1', payload: null }])
    const deliveries = await d.claim()
    const delivery = deliveries.find((x) => x.runId === id) as (typeof deliveries)[number]
    const other = deliveries.find((x) => x.runId === made?.id) as (typeof deliveries)[number]
    await begin(d, delivery)
    expect(await sh.cancel(id)).toBe(1)
    expect(await t.run(id)).toMatchObject({ status: 'cancelled', leasedBy: null, unknown: true, settledAt: null })
    expect((await d.succeed(delivery, 'too late')).status).toBe('stale')
    expect((await d.succeed(other)).status).toBe('recorded')
    await d.engine.sweep()
    await eventually(() => d.stopped.includes(id), 'its worker is asked to stop')
    expect(await t.run(id)).toMatchObject({ status: 'cancelled', result: null, sessionId: null, leasedAt: null })
    const recorded = await t.recorded(id)
    expect(recorded.map((line) => line.split(' ')[0])).toEqual(['created', 'leased', 'started', 'cancelled'])
    expect(recorded.at(-1)).toContain('"message":"cancelled by plain SQL"')
  })

  it('a cancel of a running step ends its workflow, and the worker is notified at once', async () => {
    const engine = await t.s.second({ pollMs: NEVER_MS })
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const step = await sh.claimed('a.%')
    expect(await sh.cancel(step.id)).toBe(1)
    expect(await engine.ended({ id, kind: 'instance' })).not.toBe('completed')
    expect([await sh.succeed(step.id), await sh.fail(step)]).toEqual([0, 0])
    expect(await t.words(step.id)).toEqual(['created', 'leased', 'started', 'cancelled'])
  })

  it('a deferred run can be ended by SQL, succeeded or failed for good, but not claimed, renewed or returned', async () => {
    const ids = [await t.insert(), await t.insert()] as const
    for (const delivery of await d.claim()) {
      const report = { delivery, reportId: delivery.runId, startedAt: await d.store.now(), wantNext: false }
      await d.session.settle({ ...report, outcome: { kind: 'deferred' } })
    }
    for (const id of ids) {
      expect([await claimNow(id), await sh.heartbeat(id), await sh.fail({ id, attempt: 0 })]).toEqual([0, 0, 0])
      expect(await sh.giveBack(id)).toBe(0)
    }
    expect([await sh.succeed(ids[0], '1'), await sh.fail({ id: ids[1], attempt: 0 }, true)]).toEqual([1, 1])
    await d.engine.sweep()
    expect(await t.run(ids[0])).toMatchObject({ status: 'succeeded', result: '1', deferred: false })
    expect(await t.run(ids[1])).toMatchObject({ status: 'failed', attempt: 1, lastError: 'no route', deferred: false })
    expect(await t.words(ids[0])).toEqual(['created', 'leased', 'started', 'deferred', 'succeeded'])
    expect(await t.words(ids[1])).toEqual(['created', 'leased', 'started', 'deferred', 'failed'])
  })

  it('in a workflow that is ending no step is started or retried', async () => {
    const id = await workflow(d, chain(job('a.v1', null, 5), job('b.v1')))
    const step = await sh.claimed('a.%')
    await d.engine.cancelInstance({ id, actor: 'ann' })
    await d.engine.sweep()
    expect([await sh.fail(step), await sh.succeed(step.id)]).toEqual([0, 0])
    expect((await t.run(step.id)).status).toBe('cancelled')
    expect(await sh.claim()).toBeNull()
    expect(await d.state(id)).toBe('cancelled')
  })
})
