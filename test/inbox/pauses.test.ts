/** Clients of plain SQL and paused workflows: they claim nothing of one, and what they give back waits. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PARKED_AT } from '../../src/model/rows.ts'
import { chain, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

const HOUR = 3_600_000

describe.each(SHARED)('plain SQL and a paused workflow on $name', (place) => {
  let s: Stage
  let go: Foreign
  let id: string
  beforeEach(async () => {
    s = await Stage.open(place)
    go = await s.foreign()
    id = await workflow(s.d, chain(job('a.v1', null, 3), job('b.v1')))
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  const pause = () => s.d.engine.pauseInstance({ id, actor: 'ada', reason: null, timeouts: 'stop' })
  const resume = () => s.d.engine.unpauseInstance({ id, actor: 'ada' })

  /** The engine settles what the client ends when it sweeps. */
  const all = async (): Promise<readonly string[]> => {
    const done = await go.work()
    await s.d.engine.sweep()
    return [...done, ...(await go.work())]
  }

  it('nothing of it is claimed; what a client holds may end, and the next step waits', async () => {
    const held = await go.claimed()
    await pause()
    await go.succeed(held.id, 7)
    await s.d.engine.sweep()
    expect(await go.claim()).toBeNull()
    await resume()
    expect(await go.work()).toEqual(['b.v1'])
  })

  it('a failure that is retried, or a run given back, is parked with its time', async () => {
    const held = await go.claimed()
    await pause()
    await go.fail(held)
    expect(await s.run(held.id)).toMatchObject({ status: 'pending', attempt: 1, runAt: PARKED_AT })
    expect(JSON.parse(JSON.stringify((await s.lastRecorded(held.id)).data)).run_at).not.toMatch(/^9999/)
    await s.d.pass(5 * HOUR)
    expect(await go.claim()).toBeNull()
    const now = await s.d.store.now()
    await resume()
    // One minute after the resume, as it was to be one minute after the failure.
    expect(Math.abs((await s.run(held.id)).runAt - (now + 60_000))).toBeLessThan(2_000)
    await s.d.pass(61_000)
    expect(await all()).toEqual(['a.v1', 'b.v1'])
  })

  it('a lease that has run out is not claimed again during the pause', async () => {
    const held = await go.claimed('go-1', '%', 1)
    await pause()
    await s.d.pass(2_000)
    expect(await s.run(held.id)).toMatchObject({ status: 'pending', runAt: PARKED_AT })
    expect(await go.claim('go-2')).toBeNull()
    await go.sql(
      `UPDATE workflow_run SET status = 'leased', leased_by = 'go-2', lease_until = ${go.later(30)} WHERE id = '${held.id}'`,
    )
    expect((await s.run(held.id)).status).toBe('pending')
    await resume()
    expect(await all()).toEqual(['a.v1', 'b.v1'])
  })

  it('a client that writes run_at of a parked run does not release it', async () => {
    await pause()
    await go.sql(`UPDATE workflow_run SET run_at = NOW WHERE status = 'pending'`)
    expect(await go.claim()).toBeNull()
    await resume()
    expect(await all()).toEqual(['a.v1', 'b.v1'])
  })

  const missesNothing = async (): Promise<void> => {
    const held = await go.claimed()
    await go.sql('BEGIN')
    await go.fail(held)
    const pausing = pause()
    await new Promise((resolve) => setImmediate(resolve))
    await go.sql('COMMIT')
    await pausing
    expect(await s.run(held.id)).toMatchObject({ status: 'pending', runAt: PARKED_AT })
    await go.sql('BEGIN')
    await go.sql(`UPDATE workflow_run SET run_at = NOW WHERE id = '${held.id}'`)
    const resuming = resume()
    await new Promise((resolve) => setImmediate(resolve))
    await go.sql('COMMIT')
    await resuming
    expect((await s.run(held.id)).runAt).toBeLessThan(PARKED_AT)
  }
  // An open transaction of SQLite holds the lock of the writer.
  if (place.name === 'postgres') it('a pause misses nothing that an open transaction gives back', missesNothing)
})

describe.each(SHARED)('plain SQL and a paused type on $name', (place) => {
  let s: Stage
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    go = await s.foreign()
  })
  afterEach(() => s.close())

  const type = 'pay.v1'
  const pauseType = () => s.d.engine.pauseType({ type, actor: 'ada', reason: null })
  const resumeType = () => s.d.engine.resumeType({ type, actor: 'ada' })

  it('a claim gets nothing of it, and does not find it first again: other types are claimed', async () => {
    const first = (await go.insert(type)) as string
    await go.insert('mail.v1')
    await pauseType()
    expect(await go.claim()).toBeNull()
    expect(await s.run(first)).toMatchObject({ status: 'pending', runAt: PARKED_AT })
    expect(await go.work()).toEqual(['mail.v1'])
    await resumeType()
    expect(await go.work()).toEqual([type])
  })

  it('what a claim has parked as the pause ended is released by the sweeper', async () => {
    const id = (await go.insert(type)) as string
    await pauseType()
    expect(await go.claim()).toBeNull()
    // As if the transaction of the claim had committed after the release.
    await go.sql(`DELETE FROM workflow_pause WHERE kind = 'type'`)
    await s.d.engine.sweep()
    expect((await s.run(id)).runAt).toBeLessThan(PARKED_AT)
  })

  it('a run of a workflow that is paused as well stays parked after the resume of its type', async () => {
    const id = await workflow(s.d, chain(job(type)))
    await pauseType()
    expect(await go.claim()).toBeNull()
    await s.d.engine.pauseInstance({ id, actor: 'ada', reason: null, timeouts: 'stop' })
    await resumeType()
    expect(await go.claim()).toBeNull()
    await s.d.engine.unpauseInstance({ id, actor: 'ada' })
    expect(await go.work()).toEqual([type])
  })
})
