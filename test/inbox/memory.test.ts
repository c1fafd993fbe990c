/** Rows that the stores cache must not outlive a foreign client's write to them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/worker/port.ts'
import type { Drive } from '../engine/drive.ts'
import { begin, chain, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('cached rows on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
    go = await s.foreign()
    await go.insert('warm.v1')
    // The clock is known from here on, so that later settles are decided from memory where possible.
    await d.succeed(await d.claimOne())
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })

  it('a run cancelled by another client is not ended from the cache', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const first = await d.claimOne()
    const second = (await d.succeed(first, 1, true)).next as Delivery
    await go.cancel(second.runId)
    expect((await d.succeed(second, 2)).status).toBe('stale')
    expect(await s.run(second.runId)).toMatchObject({
      status: 'cancelled',
      result: null,
      settledAt: expect.any(Number),
    })
    expect(await d.state(id)).toBe('failed')
    expect(await s.history(second.runId)).toEqual(['created', 'leased', 'late_success', 'cancelled'])
  })

  it('a deferred run that a foreign client ended cannot be completed a second time', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const held = await d.claimOne()
    await begin(d, held)
    const report = { delivery: held, reportId: 'defer', startedAt: Date.now(), wantNext: false }
    await d.session.settle({ ...report, outcome: { kind: 'deferred' } })
    expect((await go.succeed(held.runId, 'from outside')).count).toBe(1)
    const outcome = { kind: 'succeeded', result: 'from inside' } as const
    await expect(d.engine.complete({ runId: held.runId, outcome })).rejects.toMatchObject({ code: 'conflict' })
    await d.engine.sweep()
    expect(await d.results(id)).toMatchObject({ 0: 'from outside' })
    expect(await s.history(held.runId)).toEqual([
      'created',
      'leased',
      'started',
      'deferred',
      'succeeded',
      'completion.refused',
    ])
    expect((await d.claimOne()).node).toBe('1')
  })

  it('a batch of reports is recorded even if a foreign client took one of its runs', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => workflow(d, chain(job('a.v1'), job('b.v1')))))
    const first = await d.claim()
    const replies = await Promise.all(first.map((delivery) => d.succeed(delivery, 1, true)))
    const second = replies.map((reply) => reply.next as Delivery)
    const taken = second[7] as Delivery
    await go.cancel(taken.runId)
    const statuses = await Promise.all(second.map(async (delivery) => (await d.succeed(delivery, 2)).status))
    expect(statuses.filter((status) => status === 'stale')).toHaveLength(1)
    const states = await Promise.all(ids.map((id) => d.state(id)))
    expect(states.filter((state) => state === 'completed')).toHaveLength(19)
    expect(states.filter((state) => state === 'failed')).toHaveLength(1)
  })

  it('a refused write does not change the cache', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const second = (await d.succeed(await d.claimOne(), 1, true)).next as Delivery
    expect((await go.succeed(second.runId, 'not mine')).count).toBe(0)
    expect((await go.heartbeat(second.runId)).count).toBe(0)
    expect((await d.succeed(second, 2)).status).toBe('recorded')
    expect(await d.results(id)).toEqual({ 0: 1, 1: 2 })
    expect(await d.state(id)).toBe('completed')
  })

  it('priority and time written by plain SQL to a pending run apply to the next claim', async () => {
    const [first, second] = [await go.insert('a.v1'), await go.insert('a.v1')]
    await go.sql(`UPDATE workflow_run SET priority = 1 WHERE id = '${second}'`)
    expect((await d.claimOne()).runId).toBe(second)
    expect((await d.claimOne()).runId).toBe(first)
  })
})
