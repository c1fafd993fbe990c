/** Inbox runs created through the engine: they follow the rules and the retry policy of the inbox. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Drive, PLACES } from '../engine/drive.ts'

describe.each(PLACES)('an inbox run on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 3_600_000 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })
  const enqueue = async (rest: object = {}): Promise<string> => {
    const params = { type: 'mail.send.v1', payload: { to: 'ada' }, inbox: true, ...rest }
    return ((await d.engine.enqueue([params]))[0] as { id: string }).id
  }

  it('is marked as such, and is otherwise a run like any other', async () => {
    const id = await enqueue({ priority: 5, maxAttempts: 7, idempotencyKey: 'k', queue: 'mail' })
    expect(await d.store.read.run(id)).toMatchObject({ inbox: true, priority: 5, maxAttempts: 7, queue: 'mail' })
    expect(await enqueue({ idempotencyKey: 'k' })).toBe(id)
    const [job] = await d.engine.enqueue([{ type: 'mail.send', payload: null }])
    expect((await d.store.read.run((job as { id: string }).id))?.inbox).toBe(false)
  })

  it.each([
    ['type', { type: 'email.send' }],
    ['type', { type: '.v1' }],
    ['type', { type: 'a b.v1' }],
    ['type', { type: 'a..b.v1' }],
    ['type', { type: 'a.v1x' }],
    ['type', { type: `${'a'.repeat(253)}.v1` }],
    ['queue', { queue: '' }],
    ['queue', { queue: 'q'.repeat(256) }],
    ['idempotencyKey', { idempotencyKey: '' }],
    ['idempotencyKey', { idempotencyKey: 'k'.repeat(513) }],
    ['maxAttempts', { maxAttempts: 1001 }],
    ['maxAttempts', { maxAttempts: 0 }],
  ])('is refused with the name of the mistake: %s %j', async (name, given) => {
    await expect(enqueue(given)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(`enqueue[0].${name}:`),
    })
  })

  it('is retried after n² minutes plus up to a tenth, as often as its row allows, by any worker', async () => {
    const id = await enqueue({ maxAttempts: 4 })
    for (const n of [1, 2, 3]) {
      const before = await d.store.now()
      if (n % 2 === 1) await d.fail(await d.claimOne())
      else await failUnderLease(d)
      const run = await d.store.read.run(id)
      expect(run).toMatchObject({ status: 'pending', attempt: n })
      const minutes = ((run?.runAt ?? 0) - before) / 60_000
      expect(minutes).toBeGreaterThanOrEqual(n * n)
      expect(minutes).toBeLessThan(n * n * 1.1 + 0.05)
      await d.pass(n * n * 66_000)
    }
    await d.fail(await d.claimOne())
    expect(await d.store.read.run(id)).toMatchObject({ status: 'failed', attempt: 4, deadLetter: false })
  })
})

async function failUnderLease(d: Drive): Promise<void> {
  const fetch = { queues: null, types: null, limit: 1, holder: 'http-1', runtime: null, tenant: null }
  const [run] = await d.engine.leases.fetch({ ...fetch, leaseMs: () => 30_000, waitMs: 0 })
  const { id: runId, epoch } = run as NonNullable<typeof run>
  const outcome = { kind: 'failed', error: { code: 'boom', message: 'no' }, how: 'policy' } as const
  await d.engine.leases.settle([{ runId, holder: 'http-1', attempt: null, epoch, outcome }])
}
