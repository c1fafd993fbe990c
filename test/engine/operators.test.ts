import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { idOfName, isId } from '../../src/kernel/ids.ts'
import { HELD_AT } from '../../src/model/rows.ts'
import { net, node, PLACES } from './drive.ts'
import { accepted, Desk, EXACT } from './leases/desk.ts'

describe.each(PLACES)('operations by operators on $name', (place) => {
  let desk: Desk
  beforeEach(async () => {
    desk = await Desk.open(place)
  })
  afterEach(() => desk.d.close())

  const deadLetter = async (given: object = {}): Promise<string> => {
    const id = await desk.enqueue({ retry: { ...EXACT, maxAttempts: 1, deadLetter: true }, ...given })
    await desk.fetch()
    accepted(await desk.nack(id, { code: 'old' }))
    return id
  }

  it('redrive: pending again, without its errors', async () => {
    const id = await deadLetter()
    expect(await desk.engine.redrive({ runId: id, actor: 'ada' })).toMatchObject({
      status: 'pending',
      attempt: 0,
      error: null,
      lastError: null,
      deadLetter: false,
    })
    expect((await desk.d.store.read.errorsOf({ runIds: [id], limit: 10 })).get(id)).toBeUndefined()
    expect((await desk.fetchOne()).attempt).toBe(0)
    accepted(await desk.nack(id, { code: 'new' }))
    const errors = (await desk.d.store.read.errorsOf({ runIds: [id], limit: 10 })).get(id)
    expect(errors?.map((e) => JSON.parse(e.error).code)).toEqual(['new'])
    // The whole history stays.
    expect(await desk.history(id)).toContain('redriven')
    await desk.enqueue()
    const active = await desk.fetchOne()
    await expect(desk.engine.redrive({ runId: active.id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { status: 'leased' },
    })
  })

  it('dismiss: the dead letter is removed, its key and its events stay', async () => {
    const id = await deadLetter({ idempotencyKey: 'once', unique: { key: 'u', onConflict: 'reject' } })
    await desk.engine.dismiss({ id, actor: 'ada' })
    expect(await desk.d.store.read.run(id)).toBeNull()
    const [again] = await desk.engine.enqueue([{ type: 'x', payload: [], idempotencyKey: 'once' }])
    expect(again).toMatchObject({ id, created: false })
    await desk.enqueue({ unique: { key: 'u', onConflict: 'reject' } })
    expect((await desk.d.store.read.feed({ afterId: 0, limit: 100 })).map((e) => e.type)).toContain('run.dismissed')
    await expect(desk.engine.dismiss({ id, actor: null })).rejects.toMatchObject({ code: 'not_found' })
    const alive = await desk.enqueue()
    await expect(desk.engine.dismiss({ id: alive, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { kind: 'run', id: alive },
    })
    expect(await desk.d.doctor()).toEqual([])
  })

  it('dismiss: of a run of a workflow only the mark is removed', async () => {
    const retry = { ...EXACT, maxAttempts: 1, deadLetter: true }
    const id = await desk.d.start({ net: net([node('a', [], { retry })]) })
    const run = await desk.fetchOne()
    await desk.nack(run.id)
    expect((await desk.get(run.id)).deadLetter).toBe(true)
    await desk.engine.dismiss({ id: run.id, actor: null })
    expect(await desk.get(run.id)).toMatchObject({ status: 'failed', deadLetter: false })
    expect(await desk.d.state(id)).toBe('failed')
    expect(await desk.d.doctor()).toEqual([])
  })

  it('counts what a queue holds and has done', async () => {
    await desk.enqueue({ queue: 'q' })
    await desk.enqueue({ queue: 'q', delayMs: 60_000 })
    await desk.enqueue({ queue: 'q', runAt: HELD_AT })
    const ids = await Promise.all([1, 2, 3, 4].map(() => desk.enqueue({ queue: 'q', priority: 1, retry: EXACT })))
    const [ok, bad, again] = ids as [string, string, string, string]
    await desk.fetch({ queues: ['q'], limit: 4, leaseMs: () => 3_600_000 })
    await desk.ack(ok)
    await desk.nack(bad, {}, 'discard')
    await desk.nack(again)
    await desk.engine.pauseQueue({ queue: 'empty', paused: true, actor: null })
    const [empty, q, ...more] = await desk.engine.queueStats({ queue: null, minutes: 5 })
    expect(more).toEqual([])
    expect(empty).toMatchObject({ name: 'empty', paused: true, available: 0, active: 0, succeeded: 0, minutes: [] })
    expect(q).toMatchObject({
      name: 'q',
      paused: false,
      available: 1,
      scheduled: 1,
      retryable: 1,
      held: 1,
      active: 1,
      succeeded: 1,
      failed: 1,
      cancelled: 0,
      retried: 1,
    })
    expect(q?.minutes.reduce((sum, minute) => sum + minute.succeeded, 0)).toBe(1)
    await desk.d.pass(10 * 60_000)
    const [later] = await desk.engine.queueStats({ queue: 'q', minutes: 5 })
    expect(later).toMatchObject({ succeeded: 1, failed: 1, minutes: [] })
    expect(await desk.engine.queueStats({ queue: 'unknown', minutes: 1 })).toMatchObject([
      { name: 'unknown', active: 0 },
    ])
    expect(desk.engine.counters()).toMatchObject({ runs: 7, claimed_runs: 4, succeeded: 1, failed: 1, retried: 1 })
  })

  it('reset: nothing is left, and everything works as before', async () => {
    const id = await desk.d.start({ net: net([node('a', ['b']), node('b')]) })
    await desk.enqueue({ queue: 'other', idempotencyKey: 'k' })
    await desk.fetchOne()
    await desk.engine.pauseQueue({ queue: 'default', paused: true, actor: null })
    await desk.engine.putSchedule({ name: 's', expression: '* * * * *', run: { type: 'x', payload: [] } })
    const before = await desk.d.store.read.feedEnd()
    await desk.engine.reset()
    expect([await desk.d.state(id), await desk.d.store.read.schedules(), await desk.d.store.read.queues()]).toEqual([
      'gone',
      [],
      [],
    ])
    expect(await desk.engine.queueStats({ queue: null, minutes: 5 })).toEqual([])
    const again = await desk.d.start({ net: net([node('a', ['b']), node('b')]) })
    expect(await desk.work()).toEqual(['a', 'b'])
    expect(await desk.d.state(again)).toBe('completed')
    const events = await desk.d.store.read.feed({ afterId: before, limit: 10 })
    expect(events[0]?.type).toBe('instance.created')
    expect(await desk.d.doctor()).toEqual([])
  })

  it("enable and disable a schedule, which keeps its author's settings", async () => {
    const about = { description: 'every minute' }
    await desk.engine.putSchedule({ name: 's', expression: '* * * * *', run: { type: 'x', payload: [] }, about })
    expect(await desk.engine.setSchedule({ name: 's', enabled: false })).toMatchObject({ enabled: false, nextAt: null })
    await desk.d.pass(120_000)
    expect(await desk.fetch()).toEqual([])
    const on = await desk.engine.setSchedule({ name: 's', enabled: true })
    expect(on.nextAt).toBeGreaterThan(await desk.d.store.now())
    await desk.d.pass(60_000)
    expect(await desk.fetch()).toHaveLength(1)
    const row = await desk.d.store.read.schedule('s')
    expect(row).toMatchObject({ enabled: true, fireCount: 1 })
    expect(JSON.parse(row?.template as string)).toMatchObject({ about, run: { type: 'x' } })
    expect(await desk.d.store.read.schedule('t')).toBeNull()
    await expect(desk.engine.setSchedule({ name: 't', enabled: true })).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('an id derived from a name', () => {
  it('is a UUID, the same every time, different for every name', () => {
    expect(idOfName('wf_1')).toBe(idOfName('wf_1'))
    expect(idOfName('wf_1')).not.toBe(idOfName('wf_2'))
    expect(idOfName('wf_1')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect([isId(idOfName('x')), isId('X'), isId('')]).toEqual([true, false, false])
  })
})
