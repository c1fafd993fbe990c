/** Soft delete: by the engine and by plain SQL. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Drive } from '../engine/drive.ts'
import { chain, group, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('deleted on $name', (place) => {
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
  const enqueue = async (rest: object = {}): Promise<string> => {
    const [made] = await d.engine.enqueue([{ type: 'x.v1', payload: null, ...rest }])
    return (made as { id: string }).id
  }
  const prune = async (endedBefore: number): Promise<number> =>
    d.store.sweep.prune({ endedBefore, eventsBefore: 0, limit: 1000 })

  it('a deleted pending run is never handed out, to any worker', async () => {
    const [byEngine, bySql] = [await enqueue(), await enqueue()]
    expect(await d.engine.deleteRun({ id: byEngine, actor: 'ann' })).toMatchObject({ status: 'pending' })
    expect((await go.delete(bySql)).count).toBe(1)
    for (const id of [byEngine, bySql]) expect((await s.run(id)).deletedAt).not.toBeNull()
    expect(await d.claim()).toEqual([])
    expect(await go.claim()).toBeNull()
    const direct = `UPDATE workflow_run SET status = 'leased', leased_by = 'go-1', lease_until = NOW`
    await go.sql(`${direct} WHERE id = '${byEngine}'`).catch(() => undefined)
    expect((await s.run(byEngine)).status).toBe('pending')
    expect(await s.history(byEngine)).toEqual(['created', 'run.deleted'])
  })

  it('deleting twice changes nothing, and a held run must be cancelled first', async () => {
    const id = await enqueue()
    const held = await d.claimOne()
    await expect(d.engine.deleteRun({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('cancel it first'),
    })
    await d.succeed(held, 1)
    const first = await d.engine.deleteRun({ id, actor: null })
    expect(first).toMatchObject({ status: 'succeeded', result: '1' })
    expect(await d.engine.deleteRun({ id, actor: null })).toEqual(first)
    await expect(d.engine.deleteRun({ id: '00000000-0000-7000-8000-000000000000', actor: null })).rejects.toMatchObject(
      {
        code: 'not_found',
      },
    )
  })

  it('callers that wait for a deleted run get an error', async () => {
    const id = await enqueue()
    const ended = d.engine.ended({ id, kind: 'run' })
    const refusal = expect(ended).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('deleted'),
    })
    await d.engine.deleteRun({ id, actor: null })
    await refusal
  })

  it('its unique key is released; its idempotency key is used permanently, even after retention has removed the run', async () => {
    const unique = { key: 'u', onConflict: 'reject' }
    const id = await enqueue({ unique, idempotencyKey: 'k' })
    await d.engine.deleteRun({ id, actor: null })
    await enqueue({ unique })
    expect(await enqueue({ idempotencyKey: 'k' })).toBe(id)
    expect(await prune((await d.store.now()) + 1)).toBeGreaterThan(0)
    expect(await s.run(id)).toBeNull()
    expect(await enqueue({ idempotencyKey: 'k' })).toBe(id)
    expect(await go.insert('x.v1', {}, 'k')).toBeNull()
  })

  it('retention removes bare runs by their time of deletion, except held runs and steps of workflows', async () => {
    const waiting = await enqueue()
    const held = (await go.insert('held.v1')) as string
    await go.claimed('go-1', 'held.%', 3600)
    await go.delete(held)
    const letter = await enqueue({ type: 'letter.v1', maxAttempts: 1, retry: { deadLetter: true } })
    await go.fail(await go.claimed('go-1', 'letter.%'))
    await d.engine.sweep()
    const step = await s.runAt(await workflow(d, group(job('a.v1'), job('b.v1'))), 'jobs', 0)
    await d.store.moveClock(60_000)
    const before = await d.store.now()
    for (const id of [waiting, letter, step.id]) await d.engine.deleteRun({ id, actor: null })
    await prune(before)
    expect((await s.run(waiting)).status).toBe('pending')
    expect((await s.run(letter)).status).toBe('failed')
    await prune((await d.store.now()) + 1)
    expect(await Promise.all([waiting, letter].map((id) => s.run(id)))).toEqual([null, null])
    expect((await s.run(held)).status).toBe('leased')
    expect((await s.run(step.id)).status).toBe('cancelled')
  })

  it('a deleted step counts as cancelled in its workflow, whether the engine or plain SQL deleted it', async () => {
    for (const remove of [
      (id: string): Promise<unknown> => d.engine.deleteRun({ id, actor: 'ann' }),
      (id: string): Promise<unknown> => go.delete(id),
    ]) {
      const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
      const step = await s.runAt(id, '0')
      await remove(step.id)
      await d.engine.sweep()
      expect(await d.state(id)).toBe('failed')
      expect((await d.engine.view(id))?.error).toMatchObject({ code: 'cancelled', node: '0' })
      expect(await s.run(step.id)).toMatchObject({ status: 'cancelled', unknown: false })
      expect((await s.run(step.id)).deletedAt).not.toBeNull()
    }
  })

  it('a step held by a foreign worker is cancelled when it is deleted, with an unknown outcome', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const { id: runId } = await go.claimed()
    await go.delete(runId)
    expect(await go.status(runId)).toBe('cancelled')
    expect((await go.succeed(runId)).count).toBe(0)
    await d.engine.sweep()
    expect(await d.state(id)).toBe('failed')
    expect((await s.run(runId)).unknown).toBe(true)
  })

  it('an ended run can be hidden and shown again, but not redriven while it is hidden', async () => {
    const id = await enqueue({ maxAttempts: 1 })
    await d.fail(await d.claimOne())
    await go.delete(id)
    await expect(d.engine.redrive({ runId: id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    expect((await go.sql(`UPDATE workflow_run SET deleted_at = NULL WHERE id = '${id}'`)).count).toBe(1)
    await d.engine.redrive({ runId: id, actor: null })
    expect((await d.claimOne()).runId).toBe(id)
  })
})
