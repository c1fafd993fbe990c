/** Changes that producers may make after an INSERT, soft deletes, and keys that outlive their runs. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { postgresUrl } from '../../services.ts'
import type { InboxClient } from './clients.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const TYPES = ['mail.%']

describe.skipIf(postgresUrl() === null)('edits by plain SQL', () => {
  let stage: InboxStage
  let go: InboxClient
  let id: string
  beforeEach(async () => {
    stage = await inboxStage()
    go = await stage.client('Go')
    id = await go.submit('mail.send.v1', { key: 'k' })
  })
  afterEach(() => stage.close())

  const set = async (change: string): Promise<number | null> =>
    (await stage.sql(`UPDATE workflow_run SET ${change} WHERE id = $1`, [id])).rowCount
  const remove = 'deleted_at = now()'

  it('a pending run may get another priority, time, payload, type, queue and number of attempts', async () => {
    const wishes = `priority = 1, run_at = '2030-01-01T00:00:00Z', payload = '[1]', type = 'mail.sort.v2', queue = 'slow', max_attempts = 9`
    expect(await set(wishes)).toBe(1)
    expect(await stage.run(id)).toMatchObject({
      status: 'pending',
      priority: 1,
      run_at: new Date('2030-01-01'),
      payload: [1],
      type: 'mail.sort.v2',
      queue: 'slow',
      max_attempts: 9,
      attempt: 0,
      epoch: 0,
    })
    expect(await stage.recorded(id)).toEqual(['created'])
  })

  it('a deleted run cannot be claimed until it is restored', async () => {
    const engine = await Engine.open({ store: stage.store, sweep: false })
    const session = await engine.workers.open(
      { name: 'ours', runtime: 'node', queues: null, types: null, concurrency: 1, tenant: null },
      { room: () => 0, deliver: () => {}, wake: () => {}, holding: () => [], stop: () => {} },
    )
    expect(await set(remove)).toBe(1)
    expect(await go.claim('w', TYPES)).toBeNull()
    expect(await set(`status = 'leased', leased_by = 'w', lease_until = now()`)).toBe(0)
    expect(await session.claim(1)).toEqual([])
    expect(await go.depth('mail.%')).toBe(0)
    expect(await set('deleted_at = NULL')).toBe(1)
    expect((await session.claim(1)).map((run) => run.runId)).toEqual([id])
    await engine.close()
  })

  it('a deleted run that is being executed may still end, and stays deleted', async () => {
    await go.claim('w', TYPES)
    expect(await set(remove)).toBe(1)
    expect(await stage.run(id)).toMatchObject({ status: 'leased', leased_by: 'w' })
    await go.complete(id, 1)
    const run = await stage.run(id)
    expect(run).toMatchObject({ status: 'succeeded', result: 1 })
    expect(run['deleted_at']).not.toBeNull()
  })

  it('an ended run may be deleted and restored, and nothing else of it changes', async () => {
    await go.cancel(id)
    const { deleted_at: _, updated_at: __, engine_turn: ___, ...ended } = await stage.run(id)
    expect(await set(`${remove}, result = '1'`)).toBe(0)
    expect(await set(remove)).toBe(1)
    expect(await stage.run(id)).toMatchObject(ended)
    expect(await set(`deleted_at = NULL, status = 'pending'`)).toBe(0)
    expect(await set('deleted_at = NULL')).toBe(1)
    expect(await stage.run(id)).toMatchObject({ ...ended, deleted_at: null })
    for (const change of [
      `status = 'pending'`,
      'priority = 1',
      `status = 'cancelled'`,
      `payload = '1'`,
      'attempt = 0',
    ]) {
      expect(await set(change)).toBe(0)
    }
  })

  it('cancel and delete may be one statement', async () => {
    expect(await set(`status = 'cancelled', ${remove}`)).toBe(1)
    const run = await stage.run(id)
    expect(run['status']).toBe('cancelled')
    expect(run['deleted_at']).not.toBeNull()
  })

  it('a run that is not due cannot be leased, even by id', async () => {
    await set(`run_at = now() + interval '1 hour'`)
    expect(await set(`status = 'leased', leased_by = 'w', lease_until = now() + interval '1 minute'`)).toBe(0)
    expect(await stage.recorded(id)).toEqual(['created'])
  })

  it('a key is used permanently: an INSERT with the key of a pruned run inserts nothing', async () => {
    await go.cancel(id)
    const engine = await Engine.open({ store: stage.store, sweep: false })
    await engine.sweep()
    await stage.store.sweep.prune({ endedBefore: Date.now() + 60_000, eventsBefore: 0, limit: 100 })
    expect(await stage.run(id)).toBeUndefined()
    expect(await go.submit('mail.send.v1', { key: 'k' })).toBe('')
    expect(
      (await stage.sql(`INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('a.v1', '{}', 'k')`))
        .rowCount,
    ).toBe(0)
    await engine.close()
  })

  it('an INSERT that waits for the prune of its key is refused as a duplicate', async () => {
    await go.cancel(id)
    await stage.admin('BEGIN')
    await stage.admin('DELETE FROM workflow_run WHERE id = $1', [id])
    const session = await stage.connect()
    await session.query(`SET application_name = 'producer'`)
    // Listens from the start: the refusal may come before the COMMIT is answered.
    const refused = expect(
      session.query(`INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('a.v1', '{}', 'k')
        ON CONFLICT (idempotency_key) DO NOTHING`),
    ).rejects.toMatchObject({ code: '23505', message: 'idempotency key belongs to a pruned run' })
    await stage.untilWaiting('producer', 1)
    await stage.admin(`INSERT INTO workflow_kept_key (idempotency_key, run_id) VALUES ('k', '${id}')`)
    await stage.admin('COMMIT')
    await refused
    expect((await stage.sql('SELECT id FROM workflow_run')).rowCount).toBe(0)
  })
})
