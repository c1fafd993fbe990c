/** Runs that Petrel holds or created, and writes to them by plain SQL. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Drive, net, node } from '../../engine/drive.ts'
import { postgresUrl } from '../../services.ts'
import type { InboxClient } from './clients.ts'
import { type InboxStage, inboxStage } from './stage.ts'

describe.skipIf(postgresUrl() === null)('plain SQL on runs of the engine', () => {
  let stage: InboxStage
  let d: Drive
  let go: InboxClient
  beforeEach(async () => {
    stage = await inboxStage()
    d = await Drive.open({ name: 'postgres', open: async () => ({ url: stage.ownerUrl, drop: async () => {} }) })
    go = await stage.client('Go')
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
    await stage.close()
  })

  const enqueue = async (type = 'email.send'): Promise<string> => {
    const [made] = await d.engine.enqueue([{ type, payload: null }])
    return (made as { id: string }).id
  }
  const types = async (id: string) => (await stage.history(id)).map((event) => event.type)

  it('a run held by a Petrel worker can be ended only by it: success, failure, heartbeat, return and claim change nothing', async () => {
    const id = await enqueue()
    const delivery = await d.claimOne()
    const before = await stage.run(id)
    await go.complete(id, 1)
    await go.fail({ id, type: 'email.send', payload: null, attempt: 0, max_attempts: 3 }, 'no')
    expect(await go.heartbeat(id, 60)).toBe(false)
    for (const change of [
      `status = 'pending'`,
      `status = 'failed'`,
      `status = 'leased', leased_by = 'thief', lease_until = now()`,
    ]) {
      expect((await stage.sql(`UPDATE workflow_run SET ${change} WHERE id = $1`, [id])).rowCount).toBe(0)
    }
    expect(await stage.run(id)).toEqual(before)
    expect((await d.succeed(delivery, 'ours')).status).toBe('recorded')
    expect(await stage.run(id)).toMatchObject({ status: 'succeeded', result: 'ours' })
    expect(await types(id)).toEqual(['created', 'leased', 'started', 'succeeded'])
  })

  it('a cancel by plain SQL always ends it; its lease is recorded once, and its report is stale', async () => {
    const id = await enqueue()
    const delivery = await d.claimOne()
    expect(await go.cancel(id)).toBe(true)
    expect(await stage.run(id)).toMatchObject({ status: 'cancelled', leased_by: null, unknown_outcome: true })
    expect((await d.succeed(delivery, 'late')).status).toBe('stale')
    await d.engine.sweep()
    expect(await stage.run(id)).toMatchObject({ status: 'cancelled', session_id: null, result: null })
    expect(await types(id)).toEqual(['created', 'leased', 'cancelled'])
    const recorded = (await stage.history(id)).at(-1)
    expect(JSON.parse(recorded?.data as string)).toMatchObject({ error: { message: `cancelled by ${stage.role}` } })
    expect(recorded?.actor).toBe(stage.role)
  })

  it('deferred work can be ended by any client with its id, and cannot be claimed', async () => {
    const [won, lost] = [await enqueue(), await enqueue()]
    for (const delivery of await d.claim(2)) {
      await d.session.settle({
        delivery,
        reportId: delivery.runId,
        startedAt: Date.now(),
        outcome: { kind: 'deferred' },
        wantNext: false,
      })
    }
    expect(
      (await stage.sql(`UPDATE workflow_run SET status = 'leased', leased_by = 'w', lease_until = now()`)).rowCount,
    ).toBe(0)
    await go.complete(won, { from: 'outside' })
    await stage.sql(`UPDATE workflow_run SET status = 'failed', last_error = 'no' WHERE id = $1`, [lost])
    await d.engine.sweep()
    expect(await stage.run(won)).toMatchObject({ status: 'succeeded', result: { from: 'outside' }, deferred: false })
    expect(await stage.run(lost)).toMatchObject({ status: 'failed', attempt: 1, last_error: 'no', deferred: false })
    expect(await types(won)).toEqual(['created', 'leased', 'started', 'deferred', 'succeeded'])
  })

  it('a step of a workflow is executed by a foreign worker; the engine records its end, once, with its number', async () => {
    const instance = await d.start({ net: net([node('a.v1', ['b']), node('b')]) })
    const claimed = (await go.claim('go-1', ['a.%']))!
    await go.started(claimed.id, 'go-1')
    expect(await go.heartbeat(claimed.id, 60)).toBe(true)
    await go.complete(claimed.id, { from: 'go' })
    expect(await stage.recorded(claimed.id)).toEqual(['created', 'leased', 'started', 'heartbeat'])
    await d.engine.sweep()
    expect(await stage.recorded(claimed.id)).toEqual(['created', 'leased', 'started', 'heartbeat', 'succeeded'])
    expect(await types(claimed.id)).toEqual(await stage.recorded(claimed.id))
    expect((await stage.history(claimed.id)).at(-1)?.seq).not.toBeNull()
    expect((await d.results(instance))['a.v1']).toEqual({ from: 'go' })
    await d.work()
    expect(await d.state(instance)).toBe('completed')
  })

  it('a step that is deleted counts as cancelled', async () => {
    const instance = await d.start({ net: net([node('a', ['b']), node('b')]) })
    const deleted = await stage.sql(`UPDATE workflow_run SET deleted_at = now() RETURNING id, status`)
    expect(deleted.rows).toMatchObject([{ status: 'cancelled' }])
    await d.engine.sweep()
    expect(await stage.run(deleted.rows[0]!['id'])).toMatchObject({ status: 'cancelled', node: 'a' })
    expect(['failed', 'cancelled']).toContain(await d.state(instance))
  })

  it('plain SQL cannot change type and payload of runs created by a workflow or another interface', async () => {
    const id = await enqueue()
    await d.start({ net: net([node('a')]) })
    for (const change of [`payload = '[1]'`, `type = 'other.v1'`]) {
      await expect(stage.sql(`UPDATE workflow_run SET ${change}`)).rejects.toMatchObject({
        message: expect.stringMatching(/changes only of runs that were put in by plain SQL or as inbox runs$/),
      })
    }
    await stage.sql(`UPDATE workflow_run SET priority = 1, queue = 'fast'`)
    expect(await stage.run(id)).toMatchObject({ priority: 1, queue: 'fast', type: 'email.send', inbox: false })
  })

  it('in a workflow that is ending nothing can be claimed, a failure is final, and returned work is cancelled', async () => {
    const instance = await d.start({ net: net([node('a'), node('b'), node('c')], { entry: ['a', 'b', 'c'] }) })
    const ids = (await stage.sql('SELECT id FROM workflow_run ORDER BY node')).rows.map((row) => row['id'] as string)
    await stage.sql(`UPDATE workflow_run SET status = 'leased', leased_by = 'w', lease_until = now() + interval '1 hour'
      WHERE node <> 'c'`)
    // the state between the first and the last chunk of a drain
    await stage.admin(`UPDATE workflow_instance SET phase = 'drain' WHERE id = $1`, [instance])
    const claim = `UPDATE workflow_run SET status = 'leased', leased_by = 'w', lease_until = now() WHERE id = $1`
    expect((await stage.sql(claim, [ids[2]])).rowCount).toBe(0)
    await stage.sql(`UPDATE workflow_run SET status = 'pending', attempt = 1, last_error = 'no' WHERE id = $1`, [
      ids[0],
    ])
    await stage.sql(`UPDATE workflow_run SET status = 'pending' WHERE id = $1`, [ids[1]])
    expect(await stage.run(ids[0]!)).toMatchObject({ status: 'failed', attempt: 1 })
    expect(await stage.run(ids[1]!)).toMatchObject({ status: 'cancelled', unknown_outcome: false })
    await stage.admin(`UPDATE workflow_instance SET phase = 'forward' WHERE id = $1`, [instance])
    await d.engine.cancelInstance({ id: instance, actor: null })
    await d.engine.sweep()
  })
})
