/**
 * What simple-workflow's clients cannot foresee: a cancel, an expiry or another worker between two of their statements.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { until } from '../../server/serving.ts'
import { postgresUrl } from '../../services.ts'
import type { InboxClient } from './clients.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const TYPES = ['mail.%']

describe.skipIf(postgresUrl() === null).each(['Go', 'Python'] as const)('races of the client in %s', (language) => {
  let stage: InboxStage
  let client: InboxClient
  let go: InboxClient
  let id: string
  beforeEach(async () => {
    stage = await inboxStage()
    client = await stage.client(language)
    go = await stage.client('Go')
    id = await client.submit('mail.send.v1')
  })
  afterEach(() => stage.close())

  /** The lease expires at once: it represents a worker that has been silent for long. */
  const claimAndFallSilent = async () => {
    const claimed = (await client.claim('silent', TYPES, 0))!
    return claimed
  }

  it('a cancel during the run overrides the failure that follows', async () => {
    const claimed = (await client.claim('w', TYPES))!
    expect(await client.cancel(id)).toBe(true)
    await client.fail(claimed, 'stopped')
    expect(await stage.run(id)).toMatchObject({ status: 'cancelled', attempt: 0, leased_by: null, lease_until: null })
    expect(await client.claim('w', TYPES)).toBeNull()
    expect(await stage.recorded(id)).toEqual(['created', 'leased', 'started', 'cancelled'])
  })

  it('a cancel during the run overrides the success that follows', async () => {
    await client.claim('w', TYPES)
    await client.cancel(id)
    await client.complete(id, { sent: true })
    expect(await stage.run(id)).toMatchObject({ status: 'cancelled', result: null, unknown_outcome: true })
    expect(await stage.recorded(id)).toEqual(['created', 'leased', 'started', 'cancelled'])
  })

  it('of two workers that both finish after an expiry the first success wins, and is recorded once', async () => {
    const silent = await claimAndFallSilent()
    const again = (await go.claim('second', TYPES))!
    expect([silent.attempt, again.attempt, again.id]).toEqual([0, 1, id])
    await client.complete(id, { by: 'silent' })
    const before = await stage.run(id)
    await go.complete(id, { by: 'second' })
    expect(await stage.run(id)).toEqual(before)
    expect(before).toMatchObject({ status: 'succeeded', result: { by: 'silent' }, attempt: 1, leased_by: null })
    const recorded = await stage.recorded(id)
    expect(recorded).toEqual(['created', 'leased', 'started', 'retried', 'leased', 'started', 'succeeded'])
  })

  it('a success that comes after the expiry, before another worker took the run, counts', async () => {
    await claimAndFallSilent()
    const engine = await Engine.open({ store: stage.store, sweep: false })
    await engine.sweep()
    expect(await stage.run(id)).toMatchObject({ status: 'pending', attempt: 1, leased_by: null })
    await client.complete(id, { late: true })
    await engine.sweep()
    expect(await stage.run(id)).toMatchObject({ status: 'succeeded', result: { late: true } })
    await client.complete(id, { later: true })
    expect(await stage.run(id)).toMatchObject({ result: { late: true } })
    await engine.close()
  })

  it('the failure of a worker that lost its lease is dropped, whether the run is pending or leased again', async () => {
    const silent = await claimAndFallSilent()
    const again = (await go.claim('second', TYPES))!
    await client.fail(silent, 'too late')
    expect(await stage.run(id)).toMatchObject({ status: 'leased', leased_by: 'second', attempt: 1 })
    await go.fail(again, 'really')
    await client.fail(silent, 'still too late')
    expect(await stage.run(id)).toMatchObject({ status: 'pending', attempt: 2, last_error: 'really' })
    expect((await stage.recorded(id)).filter((word) => word === 'retried')).toHaveLength(2)
  })

  it('a heartbeat is accepted as long as the run has not been taken back', async () => {
    await claimAndFallSilent()
    expect(await client.heartbeat(id, 30)).toBe(true)
    expect(await go.claim('second', TYPES)).toBeNull()
    await client.complete(id, null)
    expect(await stage.run(id)).toMatchObject({ status: 'succeeded', attempt: 0 })
  })

  it('a heartbeat after the end changes nothing', async () => {
    await client.claim('w', TYPES)
    await client.complete(id, null)
    const before = await stage.run(id)
    expect(await client.heartbeat(id, 30)).toBe(false)
    expect(await stage.run(id)).toEqual(before)
    expect(await stage.recorded(id)).toEqual(['created', 'leased', 'started', 'succeeded'])
  })
})

describe.skipIf(postgresUrl() === null)('leases that expire', () => {
  let stage: InboxStage
  let go: InboxClient
  beforeEach(async () => {
    stage = await inboxStage()
    go = await stage.client('Go')
  })
  afterEach(() => stage.close())

  it("Go's own reclaim counts the attempt, shows it, and gives the reason", async () => {
    const id = await go.submit('mail.send.v1')
    await go.claim('first', TYPES, 0)
    expect(await go.claim('second', TYPES, 0)).toMatchObject({ id, attempt: 1 })
    expect(await go.claim('second', TYPES, 30)).toMatchObject({ id, attempt: 2 })
    expect(await stage.run(id)).toMatchObject({ status: 'leased', leased_by: 'second', epoch: 2 })
    const events = (await stage.history(id)).filter((event) => event.type === 'retried')
    expect(events.map((event) => JSON.parse(event.data as string))).toMatchObject([
      { attempt: 1, reason: 'lease_expired', error: { code: 'lease_expired' } },
      { attempt: 2, reason: 'lease_expired', error: { code: 'lease_expired' } },
    ])
  })

  it('a run that kills its workers ends as failed, and the runs after it are claimed, even without an engine', async () => {
    const poison = await go.submit('mail.poison.v1', { priority: 1, maxAttempts: 2 })
    const next = await go.submit('mail.send.v1')
    for (const attempt of [0, 1]) expect(await go.claim('w', TYPES, 0)).toMatchObject({ id: poison, attempt })
    expect(await go.claim('w', TYPES)).toBeNull()
    expect(await go.claim('w', TYPES)).toMatchObject({ id: next })
    expect(await stage.run(poison)).toMatchObject({
      status: 'failed',
      attempt: 2,
      last_error: 'the lease ran out',
      error: { code: 'lease_expired' },
      leased_by: null,
      lease_until: null,
      unknown_outcome: true,
    })
    const lease = ['leased', 'started']
    expect(await stage.recorded(poison)).toEqual(['created', ...lease, 'retried', ...lease, 'failed'])
  })

  it('the same with an engine that sweeps: every expiry counts once, whichever party finds it, and nothing loops', async () => {
    const engine = await Engine.open({ store: stage.store, pollMs: 5 })
    const poison = await go.submit('mail.poison.v1', { maxAttempts: 3 })
    let claims = 0
    await until(
      async () => {
        if ((await go.claim('w', TYPES, 0)) !== null) claims++
        return stage.run(poison)
      },
      (run) => run['status'] === 'failed',
    )
    await until(
      () => stage.run(poison),
      (run) => run['settled_at'] !== null,
    )
    for (let more = 0; more < 5; more++) expect(await go.claim('w', TYPES, 0)).toBeNull()
    expect(claims).toBe(3)
    expect(await stage.run(poison)).toMatchObject({ status: 'failed', attempt: 3, leased_by: null })
    const lease = ['leased', 'started']
    const recorded = (await stage.history(poison)).map((event) => event.type)
    expect(recorded).toEqual(['created', ...lease, 'retried', ...lease, 'retried', ...lease, 'failed'])
    expect(await stage.store.read.doctor()).toEqual([])
    await engine.close()
  })

  it('returning an expired lease by hand costs an attempt; returning a live one does not', async () => {
    const id = await go.submit('mail.send.v1', { maxAttempts: 2 })
    const back = () => stage.sql(`UPDATE workflow_run SET status = 'pending', leased_by = NULL WHERE id = $1`, [id])
    await go.claim('w', TYPES)
    expect((await back()).rowCount).toBe(1)
    expect(await stage.run(id)).toMatchObject({ status: 'pending', attempt: 0, epoch: 1, lease_until: null })
    await go.claim('w', TYPES, 0)
    await back()
    expect(await stage.run(id)).toMatchObject({ status: 'pending', attempt: 1, epoch: 2 })
    await go.claim('w', TYPES, 0)
    await back()
    expect(await stage.run(id)).toMatchObject({ status: 'failed', attempt: 2, epoch: 3 })
    const lease = ['leased', 'started']
    expect(await stage.recorded(id)).toEqual(['created', ...lease, 'returned', ...lease, 'retried', ...lease, 'failed'])
  })
})
