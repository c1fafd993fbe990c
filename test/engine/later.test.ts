/** Work that continues at a later time: it has not failed, is not held in the meantime, and keeps its clock. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import type { Delivery, Report } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'

let reports = 0

describe.each(PLACES)('later on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 10_000, heartbeatMs: 3_600_000 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const later = (delivery: Delivery, delayMs: number, more: Partial<Report> = {}) =>
    d.session.settle({
      delivery,
      reportId: `later ${++reports}`,
      startedAt: Date.now(),
      outcome: { kind: 'later', delayMs },
      wantNext: false,
      ...more,
    })
  const get = async (id: string) =>
    (await d.store.read.run(id)) as NonNullable<Awaited<ReturnType<typeof d.store.read.run>>>
  const words = async (id: string): Promise<string[]> => (await d.store.read.runHistory(id)).map((e) => e.type)
  const recorded = async (id: string, type: string): Promise<Json[]> =>
    (await d.store.read.runHistory(id)).filter((e) => e.type === type).map((e) => JSON.parse(e.data ?? 'null') as Json)

  it('is pending again when it is due, on the same attempt', async () => {
    const [made] = await d.engine.enqueue([{ type: 'x', payload: null, maxAttempts: 1 }])
    const first = await d.claimOne()
    const before = await d.store.now()
    expect(await later(first, 5000, { notes: '[{"waits":"for the bank"}]' })).toMatchObject({ status: 'recorded' })
    const row = await get(first.runId)
    expect(row).toMatchObject({ status: 'pending', attempt: 0, deliveries: 0, epoch: 1, leasedBy: null, error: null })
    // Another process knows the clock to within a millisecond or two.
    expect(Math.abs(row.runAt - before - 5000)).toBeLessThan(1000)
    expect(await d.claim()).toEqual([])
    await d.pass(5100)
    const second = await d.claimOne()
    expect([second.attempt, second.epoch, second.key]).toEqual([1, 1, first.key])
    await d.succeed(second, 'done')
    expect(await words(made?.id as string)).toEqual([
      'created',
      'leased',
      'started',
      'returned',
      'leased',
      'started',
      'succeeded',
    ])
    expect(await recorded(first.runId, 'returned')).toMatchObject([
      { run_at: new Date(row.runAt).toISOString(), notes: [{ waits: 'for the bank' }] },
    ])
  })

  it('continues from its checkpoint', async () => {
    await d.engine.enqueue([{ type: 'x', payload: null }])
    const first = await d.claimOne()
    await d.session.checkpoint(first, '{"page":3}')
    await later(first, 0)
    const second = await d.claimOne()
    expect(await d.session.loadCheckpoint(second)).toMatch(/"page": ?3/)
  })

  it('killed between checkpoint and report, it is retried and finds the checkpoint', async () => {
    await d.engine.enqueue([{ type: 'x', payload: null, retry: { ...ONCE, maxAttempts: 3 } }])
    const first = await d.claimOne()
    await d.session.started([{ runId: first.runId, epoch: first.epoch, at: Date.now() }])
    await d.session.checkpoint(first, '{"page":3}')
    // No heartbeats for it any more.
    const dead = d.session
    d.session = await d.newSession({ name: 'another' })
    await d.pass(11_000)
    await d.pass(1)
    expect(await get(first.runId)).toMatchObject({ status: 'pending', attempt: 1 })
    const second = await d.claimOne()
    expect(await d.session.loadCheckpoint(second)).toMatch(/"page": ?3/)
    await later(second, 0)
    // Reports by the killed worker come too late.
    const late = { delivery: first, reportId: 'late', startedAt: null, wantNext: false }
    expect(await dead.settle({ ...late, outcome: { kind: 'later', delayMs: 60_000 } })).toMatchObject({
      status: 'stale',
    })
    expect((await d.claimOne()).attempt).toBe(2)
  })

  it('may be repeated without limit: neither attempts nor deliveries run out', async () => {
    const [made] = await d.engine.enqueue([{ type: 'x', payload: null, maxAttempts: 1 }])
    for (let i = 0; i < 25; i++) await later(await d.claimOne(), 0)
    expect(await get(made?.id as string)).toMatchObject({ status: 'pending', attempt: 0, deliveries: 0, epoch: 25 })
    await d.succeed(await d.claimOne())
    expect(await get(made?.id as string)).toMatchObject({ status: 'succeeded', attempt: 0 })
  })

  it('starts counting deliveries again', async () => {
    const [made] = await d.engine.enqueue([{ type: 'x', payload: null, maxAttempts: 2 }])
    const lose = async () => {
      await d.claimOne()
      d.session = await d.newSession({ name: 'another' })
      await d.pass(11_000)
      await d.pass(1)
    }
    for (let i = 0; i < 3; i++) await lose()
    expect((await get(made?.id as string)).deliveries).toBe(3)
    await later(await d.claimOne(), 0)
    expect((await get(made?.id as string)).deliveries).toBe(0)
  })

  it('the same report again changes nothing, and neither does one of an old lease', async () => {
    await d.engine.enqueue([{ type: 'x', payload: null }])
    const first = await d.claimOne()
    await later(first, 1000, { reportId: 'the one' })
    expect(await later(first, 9000, { reportId: 'the one' })).toMatchObject({ status: 'recorded' })
    expect(await later(first, 9000, { reportId: 'another' })).toMatchObject({ status: 'stale' })
    await d.pass(1100)
    expect((await d.claimOne()).epoch).toBe(1)
    expect(await recorded(first.runId, 'returned')).toHaveLength(1)
  })

  it('releases its place under a limit while it waits', async () => {
    await d.engine.setLimit({ key: 'key:one', maxConcurrent: 1 })
    await d.engine.enqueue([1, 2].map((n) => ({ type: 'x', payload: n, limitKey: 'one' })))
    const first = await d.claimOne()
    expect(await d.claim()).toEqual([])
    await later(first, 60_000)
    const second = await d.claimOne()
    expect(second.runId).not.toBe(first.runId)
    await d.succeed(second)
    await d.pass(61_000)
    expect((await d.claimOne()).runId).toBe(first.runId)
  })

  it('a clock over all attempts continues across it', async () => {
    const timeout = { ms: 10_000, per: 'node' } as const
    const id = await d.start({ net: net([node('a', [], { timeout, retry: ONCE })]) })
    const first = await d.claimOne()
    await d.session.started([{ runId: first.runId, epoch: first.epoch, at: Date.now() }])
    const at = (await get(first.runId)).timeoutAt
    await later(first, 6000)
    expect((await get(first.runId)).timeoutAt).toBe(at)
    await d.pass(6100)
    const second = await d.claimOne()
    await later(second, 60_000)
    await d.pass(4000)
    expect(await get(first.runId)).toMatchObject({ status: 'failed', lastError: 'did not end within 10000 ms' })
    expect(await d.state(id)).toBe('failed')
  })

  it('that clock runs from a start that was reported only with it', async () => {
    const timeout = { ms: 10_000, per: 'node' } as const
    await d.start({ net: net([node('a', [], { timeout, retry: ONCE })]) })
    const first = await d.claimOne()
    await later(first, 60_000)
    expect((await get(first.runId)).timeoutAt).not.toBeNull()
    await d.pass(10_100)
    expect(await get(first.runId)).toMatchObject({ status: 'failed', lastError: 'did not end within 10000 ms' })
  })

  it('an undo and a final may continue later too', async () => {
    const work = [
      node('a', ['b'], { undo: undoBy('a.undo') }),
      node('b', [], { retry: ONCE }),
      node('after', [], { retry: ONCE }),
    ]
    const finals = [{ node: 'after', when: 'always', onFailure: 'fail' }] as const
    const id = await d.start({ net: net(work, { onFailure: 'compensate', finals }) })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne())
    for (const role of ['undo', 'final']) {
      const first = await d.claimOne()
      expect(first.role).toBe(role)
      await later(first, 1000)
      expect(await d.claim()).toEqual([])
      await d.pass(1100)
      await d.succeed(await d.claimOne())
    }
    expect(await d.state(id)).toBe('compensated')
  })

  it('a cancelled workflow cancels it', async () => {
    const id = await d.start({ net: net([node('a')]) })
    const a = await d.claimOne()
    await d.engine.cancelInstance({ id, actor: null })
    expect(await d.state(id)).toBe('cancelling')
    await later(a, 1000, { set: '{"late":true}' })
    expect(await get(a.runId)).toMatchObject({ status: 'cancelled' })
    expect(await d.state(id)).toBe('cancelled')
    expect(await d.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })).toEqual([])
  })

  it('a clock per attempt starts again', async () => {
    await d.engine.enqueue([{ type: 'x', payload: null, timeoutMs: 10_000, maxAttempts: 1 }])
    const first = await d.claimOne()
    await d.session.started([{ runId: first.runId, epoch: first.epoch, at: Date.now() }])
    await later(first, 15_000)
    await d.pass(15_100)
    expect((await d.claimOne()).runId).toBe(first.runId)
  })

  it('keeps its workflow running, which ends with it', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
    await later(await d.claimOne(), 1000)
    expect(await d.state(id)).toBe('running')
    await d.pass(1100)
    expect(await d.work()).toEqual(['a', 'b'])
    expect(await d.state(id)).toBe('completed')
  })

  it('in a workflow that is ending it is not resumed', async () => {
    const work = [node('a'), node('b', [], { retry: ONCE })]
    const id = await d.start({ net: net(work, { entry: ['a', 'b'] }) })
    const both = await d.claim()
    const [a, b] = ['a', 'b'].map((key) => both.find((x) => x.node === key) as Delivery) as [Delivery, Delivery]
    await d.fail(b)
    expect(await later(a, 1000, { notes: '["half done"]' })).toMatchObject({ status: 'recorded' })
    expect(await get(a.runId)).toMatchObject({ status: 'cancelled', attempt: 0 })
    expect(await recorded(a.runId, 'cancelled')).toMatchObject([{ notes: ['half done'] }])
    expect(await d.state(id)).toBe('failed')
  })

  it('is not counted as a retry', async () => {
    await d.engine.enqueue([{ type: 'x', payload: null }])
    await later(await d.claimOne(), 0)
    expect(d.engine.counters()).toMatchObject({ retried: 0, failed: 0 })
  })

  it('workers over HTTP may request it too', async () => {
    const [made] = await d.engine.enqueue([{ type: 'x', payload: null, maxAttempts: 1 }])
    const asked = { queues: null, types: null, limit: 1, holder: 'http', runtime: null, tenant: null, waitMs: 0 }
    const fetch = () => d.engine.leases.fetch({ ...asked, leaseMs: () => 60_000 })
    const [first] = await fetch()
    const held = { runId: first?.id as string, holder: 'http', attempt: 1, epoch: first?.epoch as number }
    const [settled] = await d.engine.leases.settle([
      { ...held, outcome: { kind: 'later', delayMs: 5000 }, notes: ['waits'] },
    ])
    expect(settled).toMatchObject({ run: { status: 'pending', attempt: 0 }, retryDelayMs: 5000 })
    expect(await fetch()).toEqual([])
    await d.pass(5100)
    expect(await fetch()).toMatchObject([{ id: made?.id, attempt: 0 }])
    expect(await recorded(made?.id as string, 'returned')).toMatchObject([{ notes: ['waits'] }])
  })

  it('an item of a list continues later like any run', async () => {
    const each = { kind: 'each', items: '[1, 2]', body: run('x'), maxInFlight: 1, failFast: false } as const
    const id = await d.start({ net: net([node('loop', [], { work: each })]) })
    const first = await d.claimOne()
    await later(first, 1000)
    // It is still the one that is open.
    expect(await d.claim()).toEqual([])
    await d.pass(1100)
    expect((await d.work()).length).toBe(2)
    expect(await d.state(id)).toBe('completed')
  })
})
