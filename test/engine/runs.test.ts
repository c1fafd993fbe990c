import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const CONSTANT = { backoff: 'constant', initialMs: 1000, maxMs: 60_000, jitter: 0 } as const

describe.each(PLACES)('runs on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 10_000, heartbeatMs: 3_600_000 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })
  const enqueue = async (type: string, rest: object = {}): Promise<string> => {
    const [made] = await d.engine.enqueue([{ type, payload: null, ...rest }])
    return (made as { id: string }).id
  }
  const get = async (id: string) =>
    (await d.store.read.run(id)) as NonNullable<Awaited<ReturnType<typeof d.store.read.run>>>
  const types = (deliveries: readonly Delivery[]): string[] => deliveries.map((x) => x.type)
  const words = async (id: string): Promise<string[]> => (await d.store.read.runHistory(id)).map((e) => e.type)

  it('hands out by priority, then in order of creation', async () => {
    await enqueue('low', { priority: 200 })
    await enqueue('first')
    await enqueue('second')
    await enqueue('urgent', { priority: 1 })
    expect(types(await d.claim())).toEqual(['urgent', 'first', 'second', 'low'])
    await d.pass(0)
  })

  it('keeps a delayed run back until its time', async () => {
    await enqueue('later', { delayMs: 5000 })
    expect(await d.claim()).toEqual([])
    await d.pass(5001)
    expect(types(await d.claim())).toEqual(['later'])
  })

  it('records the whole history of a run in the eight event types', async () => {
    const id = await enqueue('x', { maxAttempts: 2, retry: CONSTANT })
    await d.fail(await d.claimOne())
    await d.pass(1001)
    await d.succeed(await d.claimOne(), 1)
    expect(await words(id)).toEqual(['created', 'leased', 'started', 'retried', 'leased', 'started', 'succeeded'])
  })

  it('retries with backoff, then fails for good', async () => {
    const id = await enqueue('x', { maxAttempts: 2, retry: CONSTANT })
    await d.fail(await d.claimOne())
    expect(await get(id)).toMatchObject({ status: 'pending', attempt: 1, lastError: 'it broke' })
    expect(await d.claim()).toEqual([])
    await d.pass(1001)
    const second = await d.claimOne()
    expect(second.attempt).toBe(2)
    await d.fail(second)
    expect(await get(id)).toMatchObject({ status: 'failed', attempt: 2 })
  })

  it('does not retry errors that the policy or the worker declares final', async () => {
    const byPolicy = await enqueue('x', { maxAttempts: 5, retry: { ...CONSTANT, nonRetryable: ['auth.*'] } })
    await d.fail(await d.claimOne(), { code: 'auth.denied' })
    expect((await get(byPolicy)).status).toBe('failed')
    const byWorker = await enqueue('x', { maxAttempts: 5, retry: CONSTANT })
    await d.fail(await d.claimOne(), { retryable: false })
    expect((await get(byWorker)).status).toBe('failed')
  })

  it('keeps exhausted runs as dead letters and redrives them', async () => {
    const id = await enqueue('x', { maxAttempts: 1, retry: { ...CONSTANT, deadLetter: true } })
    await d.fail(await d.claimOne())
    const dead = await d.store.read.listRuns({
      status: null,
      queue: null,
      type: null,
      deadLetter: true,
      tenant: null,
      limit: 10,
      before: null,
    })
    expect(dead.map((r) => r.id)).toEqual([id])
    await d.engine.redrive({ runId: id, actor: 'me' })
    expect(await get(id)).toMatchObject({ status: 'pending', attempt: 0, deadLetter: false })
    await d.succeed(await d.claimOne(), 'ok')
    expect(await get(id)).toMatchObject({ status: 'succeeded' })
    expect(await words(id)).toContain('redriven')
    await expect(d.engine.redrive({ runId: id, actor: 'me' })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('redrives a run of an ended workflow without changing the workflow', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: ONCE })]) })
    const a = await d.claimOne()
    await d.fail(a)
    const recorded = await get(a.runId)
    const again = await d.engine.redrive({ runId: a.runId, actor: null })
    expect(await d.doctor()).toEqual([])
    const held = await d.claimOne()
    expect([held.runId, held.key]).toEqual([again.id, a.runId])
    await d.succeed(held, 'late')
    expect(await get(again.id)).toMatchObject({ status: 'succeeded', instanceId: null })
    expect(await get(a.runId)).toEqual(recorded)
    expect(await d.state(id)).toBe('failed')
    await expect(d.engine.redrive({ runId: a.runId, actor: null })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('returns the first run for a second enqueue with the same key, permanently', async () => {
    const first = await enqueue('x', { idempotencyKey: 'k' })
    const [again] = await d.engine.enqueue([{ type: 'x', payload: null, idempotencyKey: 'k' }])
    expect(again).toMatchObject({ id: first, created: false, run: { id: first } })
    await d.succeed(await d.claimOne())
    expect(await enqueue('x', { idempotencyKey: 'k' })).toBe(first)
    const both = await d.engine.enqueue([1, 2].map(() => ({ type: 'x', payload: null, idempotencyKey: 'twice' })))
    expect(new Set(both.map((b) => b.id)).size).toBe(1)
    await d.claim()
    await d.pass(0)
  })

  it('applies unique keys to active runs: reject, ignore, replace, period', async () => {
    const first = await enqueue('x', { unique: { key: 'u', onConflict: 'reject' } })
    await expect(enqueue('x', { unique: { key: 'u', onConflict: 'reject' } })).rejects.toMatchObject({
      code: 'duplicate',
      details: { existing: first },
    })
    expect(await enqueue('x', { unique: { key: 'u', onConflict: 'ignore' } })).toBe(first)
    const second = await enqueue('x', { unique: { key: 'u', onConflict: 'replace' } })
    expect(second).not.toBe(first)
    expect((await get(first)).status).toBe('cancelled')
    await d.succeed(await d.claimOne())
    const third = await enqueue('x', { unique: { key: 'u', onConflict: 'reject', periodMs: 1000 } })
    await d.pass(1001)
    expect(await enqueue('x', { unique: { key: 'u', onConflict: 'reject' } })).not.toBe(third)
  })

  it('a unique key belongs to a tenant: no other tenant can get or replace its run', async () => {
    const tenants = ['a', 'b', undefined]
    const held = (tenant: string | undefined, onConflict: 'ignore' | 'reject' | 'replace') =>
      enqueue('x', { unique: { key: 'u', onConflict }, ...(tenant === undefined ? {} : { tenant }) })
    const firsts = [await held('a', 'reject'), await held('b', 'ignore'), await held(undefined, 'replace')]
    expect(new Set(firsts).size).toBe(3)
    for (const [i, tenant] of tenants.entries()) expect(await held(tenant, 'ignore')).toBe(firsts[i])
    await held('a', 'replace')
    expect(await Promise.all(firsts.map(async (id) => (await get(id)).status))).toEqual([
      'cancelled',
      'pending',
      'pending',
    ])
    await expect(held('b', 'reject')).rejects.toThrow("already holds the unique key 'u'")
  })

  it('hands out nothing of a paused queue', async () => {
    await d.engine.pauseQueue({ queue: 'default', paused: true, actor: null })
    await enqueue('x')
    expect(await d.claim()).toEqual([])
    await d.engine.pauseQueue({ queue: 'default', paused: false, actor: null })
    expect(await d.claim()).toHaveLength(1)
  })

  it('respects concurrency limits of a queue and of a key, and releases places', async () => {
    await d.engine.setLimit({ key: 'queue:default', maxConcurrent: 2, ratePer: null, periodMs: null })
    await d.engine.setLimit({ key: 'key:tenant-1', maxConcurrent: 1, ratePer: null, periodMs: null })
    for (let i = 0; i < 3; i++) await enqueue('x', { limitKey: 'tenant-1' })
    await enqueue('y')
    const open = await d.claim()
    expect(types(open)).toEqual(['x', 'y'])
    expect(await d.claim()).toEqual([])
    await d.succeed(open[0] as Delivery)
    expect(types(await d.claim())).toEqual(['x'])
  })

  it('passes the place of a finished step to the step that is handed over', async () => {
    await d.engine.setLimit({ key: 'queue:default', maxConcurrent: 1, ratePer: null, periodMs: null })
    await d.start({ net: net([node('a', ['b']), node('b')]) })
    const reply = await d.succeed(await d.claimOne(), null, true)
    expect(reply.next?.node).toBe('b')
    expect((await d.store.read.limits())[0]).toMatchObject({ inUse: 1 })
    await d.succeed(reply.next as Delivery)
  })

  it('respects a rate per period', async () => {
    await d.engine.setLimit({ key: 'queue:default', maxConcurrent: null, ratePer: 2, periodMs: 1000 })
    for (let i = 0; i < 5; i++) await enqueue('x')
    expect(await d.claim()).toHaveLength(2)
    expect(await d.claim()).toHaveLength(0)
    await d.pass(1001)
    expect(await d.claim()).toHaveLength(2)
  })

  it('takes a lost run back: unstarted it costs nothing, started it costs an attempt', async () => {
    const unstarted = await enqueue('a', { retry: CONSTANT })
    const started = await enqueue('b', { retry: CONSTANT })
    const claimed = await d.claim()
    const b = claimed.find((c) => c.type === 'b') as Delivery
    await d.session.started([{ runId: b.runId, epoch: b.epoch, at: Date.now() }])
    await d.pass(60_000)
    expect(await get(unstarted)).toMatchObject({ status: 'pending', attempt: 0, deliveries: 1 })
    expect(await get(started)).toMatchObject({ status: 'pending', attempt: 1 })
    expect((await d.succeed(b)).status).toBe('stale')
  })

  it('ends a run that is delivered repeatedly and never started', async () => {
    const id = await enqueue('poison', { maxAttempts: 1, retry: CONSTANT })
    for (let i = 0; i < 12 && (await get(id)).status !== 'failed'; i++) {
      d.session = await d.newSession({ name: `victim ${i}` })
      await d.claim()
      await d.pass(60_000)
    }
    expect(await get(id)).toMatchObject({ status: 'failed' })
  })

  it('times a run out from its reported start and fences its worker off', async () => {
    const id = await enqueue('slow', { timeoutMs: 1000, maxAttempts: 2, retry: CONSTANT })
    const first = await d.claimOne()
    await d.session.started([{ runId: first.runId, epoch: first.epoch, at: Date.now() }])
    await d.pass(1001)
    expect(await get(id)).toMatchObject({
      status: 'pending',
      attempt: 1,
      lastError: expect.stringContaining('1000 ms'),
    })
    expect((await d.succeed(first)).status).toBe('stale')
  })

  it('discards a run that was not started before it expired', async () => {
    const id = await enqueue('x', { expiresAt: (await d.store.now()) + 1000 })
    await d.pass(1001)
    expect(await get(id)).toMatchObject({ status: 'failed', lastError: expect.stringContaining('expired') })
    expect(await d.claim()).toEqual([])
  })

  it('returns the recorded success, with its hand-off, for a repeated report', async () => {
    await d.start({ net: net([node('a', ['b']), node('b')]) })
    const delivery = await d.claimOne()
    const report = {
      delivery,
      reportId: 'the-same',
      startedAt: Date.now(),
      outcome: { kind: 'succeeded' as const, result: '1' },
      wantNext: true,
    }
    const first = await d.session.settle(report)
    const second = await d.session.settle(report)
    expect(second.status).toBe('recorded')
    expect(second.next).toMatchObject({ runId: first.next?.runId as string })
    expect((await d.session.settle({ ...report, reportId: 'another' })).status).toBe('stale')
    await d.succeed(first.next as Delivery)
  })

  it('cancels a run at once, pending or active, and notifies its worker', async () => {
    const pending = await enqueue('x')
    await d.engine.cancelRun({ id: pending, actor: 'me' })
    expect((await get(pending)).status).toBe('cancelled')
    const active = await enqueue('x')
    const delivery = await d.claimOne()
    await d.engine.cancelRun({ id: active, actor: 'me' })
    expect((await get(active)).status).toBe('cancelled')
    await expect.poll(() => d.stopped).toContain(active)
    expect((await d.succeed(delivery)).status).toBe('stale')
    await expect(d.engine.cancelRun({ id: active, actor: 'me' })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('completes deferred work by its id, once', async () => {
    const id = await enqueue('x')
    const delivery = await d.claimOne()
    await expect(d.engine.complete({ runId: id, outcome: { kind: 'succeeded', result: 1 } })).rejects.toMatchObject({
      code: 'conflict',
    })
    await d.session.settle({
      delivery,
      reportId: 'defer',
      startedAt: Date.now(),
      outcome: { kind: 'deferred' },
      wantNext: false,
    })
    await d.pass(3_600_000)
    expect((await get(id)).status).toBe('leased')
    await d.engine.complete({ runId: id, outcome: { kind: 'succeeded', result: { done: true } } })
    expect(JSON.parse((await get(id)).result as string)).toEqual({ done: true })
    await expect(d.engine.complete({ runId: id, outcome: { kind: 'succeeded', result: 1 } })).rejects.toMatchObject({
      code: 'conflict',
    })
  })

  it('records a success that arrived after the work had been given up', async () => {
    const saga = net([
      node('a', ['b'], {
        timeout: { ms: 1000, per: 'node' },
        retry: ONCE,
        onFailure: 'skip',
        undo: { work: run('undo.a'), retry: null, timeout: null },
      }),
      node('b', [], { retry: ONCE, onFailure: 'compensate' }),
    ])
    const id = await d.start({ net: saga })
    const a = await d.claimOne()
    await d.session.started([{ runId: a.runId, epoch: a.epoch, at: Date.now() }])
    await d.pass(1001)
    expect((await d.succeed(a)).status).toBe('stale')
    await d.fail(await d.claimOne())
    expect(types(await d.claim())).toEqual(['undo.a'])
    expect(await d.state(id)).toBe('compensating')
  })

  it('limits what it stores and reports the limit', async () => {
    await expect(enqueue('x', { payload: 'x'.repeat(1024 * 1024) })).rejects.toMatchObject({
      code: 'payload_too_large',
    })
    await expect(enqueue('')).rejects.toMatchObject({ code: 'invalid_request' })
    const id = await enqueue('x', { payload: 'y'.repeat(64 * 1024) })
    await d.succeed(await d.claimOne(), 'z'.repeat(64 * 1024))
    expect((await get(id)).result).toHaveLength(64 * 1024 + 2)
  })

  it('gives work to a waiting worker within the transaction that creates it', async () => {
    d.room = 1
    await enqueue('x')
    expect(types(d.delivered)).toEqual(['x'])
    expect(await d.claim()).toEqual([])
    expect(await words(d.delivered[0]?.runId as string)).toEqual(['created', 'leased'])
  })

  it('never hands over a run less urgent than a pending one', async () => {
    await d.start({ net: net([node('a', ['b']), node('b')]) })
    const a = await d.claimOne()
    await enqueue('urgent', { priority: 1 })
    expect((await d.succeed(a, null, true)).next).toBeNull()
    expect(types(await d.claim())).toEqual(['urgent', 'b'])
  })

  it('skips less urgent runs, and is notified at once of more urgent ones', async () => {
    await d.start({ net: net([node('a', ['b']), node('b', ['c']), node('c')]) })
    const a = await d.claimOne()
    await enqueue('low', { priority: 200 })
    const { next: b } = await d.succeed(a, null, true)
    expect(b?.type).toBe('b')
    await enqueue('lower', { priority: 300 })
    await enqueue('urgent', { priority: 1 })
    expect((await d.succeed(b as Delivery, null, true)).next).toBeNull()
    expect(types(await d.claim())).toEqual(['urgent', 'c', 'low', 'lower'])
  })

  it('routes by queue and by type prefix; wildcard characters are literal', async () => {
    await enqueue('billing.pay', { queue: 'q1' })
    await enqueue('billing_x.pay', { queue: 'q1' })
    await enqueue('media.cut', { queue: 'q2' })
    const billing = await d.newSession({ types: ['billing.%'] })
    expect(types(await billing.claim(10))).toEqual(['billing.pay'])
    const q2 = await d.newSession({ queues: ['q2'] })
    expect(types(await q2.claim(10))).toEqual(['media.cut'])
    const literal = await d.newSession({ types: ['billing_x.pay'] })
    expect(types(await literal.claim(10))).toEqual(['billing_x.pay'])
  })

  it('a clock over all attempts can expire between two of them', async () => {
    const slow = { ...ONCE, maxAttempts: 5, initialMs: 20_000, maxMs: 20_000 }
    const id = await d.start({ net: net([node('a', [], { timeout: { ms: 5000, per: 'node' }, retry: slow })]) })
    const a = await d.claimOne()
    await d.session.started([{ runId: a.runId, epoch: a.epoch, at: Date.now() }])
    await d.pass(1000)
    await d.fail(a)
    expect(await d.state(id)).toBe('running')
    await d.pass(4001)
    expect(await d.state(id)).toBe('failed')
    expect(await d.error(id)).toBe('timeout')
  })

  it('gives up deferred work when its workflow is cancelled or past its deadline', async () => {
    for (const end of ['cancel', 'deadline'] as const) {
      const id = await d.start({ net: net([node('a')], end === 'deadline' ? { timeoutMs: 1000 } : {}) })
      const delivery = await d.claimOne()
      const outcome = { kind: 'deferred' as const }
      await d.session.settle({ delivery, reportId: `defer ${end}`, startedAt: Date.now(), outcome, wantNext: false })
      if (end === 'cancel') await d.engine.cancelInstance({ id, actor: null })
      else await d.pass(1001)
      expect(await d.state(id)).toBe(end === 'cancel' ? 'cancelled' : 'failed')
      const late = d.engine.complete({ runId: delivery.runId, outcome: { kind: 'succeeded', result: 1 } })
      await expect(late).rejects.toMatchObject({ code: 'conflict' })
    }
  })

  it('shows that an instance has begun while its first run executes', async () => {
    const id = await d.start({ net: net([node('a')]) })
    const a = await d.claimOne()
    await d.session.started([{ runId: a.runId, epoch: a.epoch, at: Date.now() }])
    expect((await d.store.read.instance(id))?.startedAt).not.toBeNull()
    await d.succeed(a)
  })

  it('continues under a new session after one that was declared dead', async () => {
    await enqueue('x', { retry: CONSTANT })
    const before = d.session.id
    const lost = await d.claimOne()
    await d.pass(60_000)
    await enqueue('y')
    const beat = d.session as unknown as { beat(): Promise<void> }
    await beat.beat()
    expect(d.session.id).not.toBe(before)
    expect(types(await d.claim()).sort()).toEqual(['x', 'y'])
    expect((await d.succeed(lost)).status).toBe('stale')
    await d.pass(0)
  })
})
