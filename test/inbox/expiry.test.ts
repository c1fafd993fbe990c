/** Leases that foreign clients let expire. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { petrelOn } from '../../src/client/petrel.ts'
import type { Drive } from '../engine/drive.ts'
import { chain, events, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('a foreign lease that expires on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })

  it('costs an attempt and is claimable at once, by any worker', async () => {
    const id = (await go.insert('a.v1')) as string
    await go.claimed('go-1', '%', 30)
    await d.pass(29_000)
    expect(await go.status(id)).toBe('leased')
    await d.pass(1_001)
    expect(await s.run(id)).toMatchObject({ status: 'pending', attempt: 1, leasedBy: null, leaseUntil: null, epoch: 1 })
    const recorded = await s.lastRecorded(id)
    expect(recorded).toMatchObject({
      type: 'retried',
      data: { attempt: 1, reason: 'lease_expired', error: { code: 'lease_expired' } },
    })
    expect((await d.claimOne()).runId).toBe(id)
    expect(await s.history(id)).toEqual(['created', 'leased', 'started', 'retried', 'leased'])
  })

  it('ends the run at the last attempt: it never loops', async () => {
    const id = (await go.insert('a.v1')) as string
    for (const attempt of [0, 1, 2]) {
      expect((await go.claimed(`go-${attempt}`)).attempt).toBe(attempt)
      await d.pass(31_000)
    }
    expect(await go.claim()).toBeNull()
    expect(await s.run(id)).toMatchObject({ status: 'failed', attempt: 3, unknown: true })
    expect(await s.lastRecorded(id)).toMatchObject({ type: 'failed', data: { attempt: 3, reason: 'lease_expired' } })
    expect((await s.history(id)).filter((type) => type === 'failed' || type === 'retried')).toEqual([
      'retried',
      'retried',
      'failed',
    ])
  })

  it('is taken over by a Petrel worker as soon as it has expired', async () => {
    const id = await workflow(d, chain(job('a.v1', null, 2), job('b.v1')))
    const first = await go.claimed('go-1', '%', 0.2)
    const other = await s.second({ pollMs: 50 })
    const petrel = petrelOn(other)
    petrel.handle('%', (_, ctx) => `${ctx.type} at attempt ${ctx.attempt}`)
    await petrel.work()
    expect(await other.ended({ id, kind: 'instance' })).toBe('completed')
    expect(await d.results(id)).toEqual({ 0: 'a.v1 at attempt 2', 1: 'b.v1 at attempt 1' })
    expect((await go.succeed(first.id, 'a zombie')).count).toBe(0)
    expect((await go.fail(first)).count).toBe(0)
    await petrel.close()
  })

  it('fails the step of a workflow that has no attempt left, with the reason', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    await go.claimed()
    await d.pass(31_000)
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.error).toMatchObject({ code: 'lease_expired', node: '0' })
    expect(await events(d, id)).toContain('failed 0')
  })

  it('continues if its worker extends it before it is taken back', async () => {
    const id = (await go.insert('a.v1')) as string
    const claimed = await go.claimed()
    await d.store.moveClock(31_000)
    expect((await go.heartbeat(id, 30)).count).toBe(1)
    await d.engine.sweep()
    expect(await s.run(id)).toMatchObject({ status: 'leased', attempt: 0, leasedBy: 'go-1' })
    await d.store.moveClock(62_000)
    await d.engine.sweep()
    expect((await go.heartbeat(id, 30)).count).toBe(0)
    expect((await go.fail(claimed)).count).toBe(0)
    expect(await s.run(id)).toMatchObject({ status: 'pending', attempt: 1 })
  })

  it('is counted once when extension, expiry and the end of the work coincide', async () => {
    const others = await Promise.all([s.foreign(), s.foreign()])
    let clock = 0
    for (let round = 0; round < 20; round++) {
      const id = (await go.insert('a.v1')) as string
      await go.claimed('go-1', '%', 30)
      clock += 31_000
      await d.store.moveClock(clock)
      const [beat, ended] = await Promise.all([others[0]?.heartbeat(id), others[1]?.succeed(id, 1), d.engine.sweep()])
      await d.engine.sweep()
      const { status, attempt } = await s.run(id)
      // In order of arrival: an expiry costs an attempt, a success counts whenever it comes.
      expect([ended?.count, status]).toEqual([1, 'succeeded'])
      expect(attempt).toBeLessThanOrEqual(1)
      const words = (await s.history(id)).filter((type) => type === 'heartbeat' || type === 'retried')
      expect(words).toHaveLength((beat?.count ?? 0) + attempt)
    }
  })

  it('is counted once when a foreign client reclaims it while the engine takes it back', async () => {
    const second = await s.second({ sweep: false })
    const go2 = await s.foreign()
    const later = d.store.kind === 'sqlite' ? 'NOW + 30000' : "NOW + interval '30 seconds'"
    let clock = 0
    for (let round = 0; round < 20; round++) {
      const id = (await go.insert('a.v1')) as string
      await go.claimed('go-1', '%', 30)
      clock += 31_000
      await d.store.moveClock(clock)
      const reclaim = `UPDATE workflow_run SET status = 'leased', leased_by = 'go-2', lease_until = ${later}
        WHERE id = '${id}' AND (status = 'pending' OR (status = 'leased' AND lease_until < NOW)) RETURNING attempt`
      const [got] = await Promise.all([go2.sql(reclaim), d.engine.sweep(), second.sweep()])
      for (const row of got.rows) expect(row['attempt']).toBe(1)
      expect((await s.run(id)).attempt).toBe(1)
      expect((await s.history(id)).filter((type) => type === 'retried')).toHaveLength(1)
      await go2.sql(`UPDATE workflow_run SET status = 'cancelled' WHERE id = '${id}'`)
      await d.engine.sweep()
    }
  })

  it('releases no place under a limit, since it took none', async () => {
    await d.engine.setLimit({ key: 'queue:default', maxConcurrent: 2 })
    for (let i = 0; i < 4; i++) await go.insert('a.v1')
    await go.claimed('go-1', '%', 30)
    expect(await d.claim(1)).toHaveLength(1)
    await d.pass(31_000)
    expect((await d.store.read.limits()).map((limit) => limit.inUse)).toEqual([1])
    expect(await d.claim()).toHaveLength(1)
    expect(await d.claim()).toEqual([])
  })
})
