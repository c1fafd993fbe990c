import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { idOfName, isId } from '../../src/kernel/ids.ts'
import { HELD_AT } from '../../src/model/rows.ts'
import { net, node, PLACES } from './drive.ts'
import { accepted, EXACT, HttpWorker } from './leases/http-worker.ts'

describe.each(PLACES)('operations by operators on $name', (place) => {
  let http: HttpWorker
  beforeEach(async () => {
    http = await HttpWorker.open(place)
  })
  afterEach(() => http.d.close())

  const deadLetter = async (given: object = {}): Promise<string> => {
    const id = await http.enqueue({ retry: { ...EXACT, maxAttempts: 1, deadLetter: true }, ...given })
    await http.fetch()
    accepted(await http.nack(id, { code: 'old' }))
    return id
  }

  it('redrive: pending again, without its errors', async () => {
    const id = await deadLetter()
    expect(await http.engine.redrive({ runId: id, actor: 'ada' })).toMatchObject({
      status: 'pending',
      attempt: 0,
      error: null,
      lastError: null,
      deadLetter: false,
    })
    expect((await http.d.store.read.errorsOf({ runIds: [id], limit: 10 })).get(id)).toBeUndefined()
    expect((await http.fetchOne()).attempt).toBe(0)
    accepted(await http.nack(id, { code: 'new' }))
    const errors = (await http.d.store.read.errorsOf({ runIds: [id], limit: 10 })).get(id)
    expect(errors?.map((e) => JSON.parse(e.error).code)).toEqual(['new'])
    // The whole history stays.
    expect(await http.history(id)).toContain('redriven')
    await http.enqueue()
    const active = await http.fetchOne()
    await expect(http.engine.redrive({ runId: active.id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { status: 'leased' },
    })
  })

  it('dismiss: the dead letter is removed, its key and its events stay', async () => {
    const id = await deadLetter({ idempotencyKey: 'once', unique: { key: 'u', onConflict: 'reject' } })
    await http.engine.dismiss({ id, actor: 'ada' })
    expect(await http.d.store.read.run(id)).toBeNull()
    const [again] = await http.engine.enqueue([{ type: 'x', payload: [], idempotencyKey: 'once' }])
    expect(again).toMatchObject({ id, created: false })
    await http.enqueue({ unique: { key: 'u', onConflict: 'reject' } })
    expect((await http.d.store.read.feed({ afterId: 0, limit: 100 })).map((e) => e.type)).toContain('run.dismissed')
    await expect(http.engine.dismiss({ id, actor: null })).rejects.toMatchObject({ code: 'not_found' })
    const alive = await http.enqueue()
    await expect(http.engine.dismiss({ id: alive, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { kind: 'run', id: alive },
    })
    expect(await http.d.doctor()).toEqual([])
  })

  it('dismiss: of a run of a workflow only the mark is removed', async () => {
    const retry = { ...EXACT, maxAttempts: 1, deadLetter: true }
    const id = await http.d.start({ net: net([node('a', [], { retry })]) })
    const run = await http.fetchOne()
    await http.nack(run.id)
    expect((await http.get(run.id)).deadLetter).toBe(true)
    await http.engine.dismiss({ id: run.id, actor: null })
    expect(await http.get(run.id)).toMatchObject({ status: 'failed', deadLetter: false })
    expect(await http.d.state(id)).toBe('failed')
    expect(await http.d.doctor()).toEqual([])
  })

  it('counts what a queue holds and has done', async () => {
    await http.enqueue({ queue: 'q' })
    await http.enqueue({ queue: 'q', delayMs: 60_000 })
    await http.enqueue({ queue: 'q', runAt: HELD_AT })
    const ids = await Promise.all([1, 2, 3, 4].map(() => http.enqueue({ queue: 'q', priority: 1, retry: EXACT })))
    const [ok, bad, again] = ids as [string, string, string, string]
    await http.fetch({ queues: ['q'], limit: 4, leaseMs: () => 3_600_000 })
    await http.ack(ok)
    await http.nack(bad, {}, 'discard')
    await http.nack(again)
    await http.engine.pauseQueue({ queue: 'empty', paused: true, actor: null })
    const [empty, q, ...more] = await http.engine.queueStats({ queue: null, minutes: 5 })
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
    await http.d.pass(10 * 60_000)
    const [later] = await http.engine.queueStats({ queue: 'q', minutes: 5 })
    expect(later).toMatchObject({ succeeded: 1, failed: 1, minutes: [] })
    expect(await http.engine.queueStats({ queue: 'unknown', minutes: 1 })).toMatchObject([
      { name: 'unknown', active: 0 },
    ])
    expect(http.engine.counters()).toMatchObject({ runs: 7, claimed_runs: 4, succeeded: 1, failed: 1, retried: 1 })
  })

  it('reset: nothing is left, and everything works as before', async () => {
    const id = await http.d.start({ net: net([node('a', ['b']), node('b')]) })
    await http.enqueue({ queue: 'other', idempotencyKey: 'k' })
    await http.fetchOne()
    await http.engine.pauseQueue({ queue: 'default', paused: true, actor: null })
    await http.engine.putSchedule({ name: 's', expression: '* * * * *', run: { type: 'x', payload: [] } })
    const before = await http.d.store.read.feedEnd()
    await http.engine.reset()
    expect([
      await http.d.state(id),
      await http.d.store.read.schedules(),
      [...(await http.d.store.read.queuesPaused())],
    ]).toEqual(['gone', [], []])
    expect(await http.engine.queueStats({ queue: null, minutes: 5 })).toEqual([])
    const again = await http.d.start({ net: net([node('a', ['b']), node('b')]) })
    expect(await http.work()).toEqual(['a', 'b'])
    expect(await http.d.state(again)).toBe('completed')
    const events = await http.d.store.read.feed({ afterId: before, limit: 10 })
    expect(events[0]?.type).toBe('instance.created')
    expect(await http.d.doctor()).toEqual([])
  })

  it("enable and disable a schedule, which keeps its author's settings", async () => {
    const about = { description: 'every minute' }
    await http.engine.putSchedule({ name: 's', expression: '* * * * *', run: { type: 'x', payload: [] }, about })
    expect(await http.engine.setSchedule({ name: 's', enabled: false })).toMatchObject({ enabled: false, nextAt: null })
    await http.d.pass(120_000)
    expect(await http.fetch()).toEqual([])
    const on = await http.engine.setSchedule({ name: 's', enabled: true })
    expect(on.nextAt).toBeGreaterThan(await http.d.store.now())
    await http.d.pass(60_000)
    expect(await http.fetch()).toHaveLength(1)
    const row = await http.d.store.read.schedule('s')
    expect(row).toMatchObject({ enabled: true, fireCount: 1 })
    expect(JSON.parse(row?.template as string)).toMatchObject({ about, run: { type: 'x' } })
    expect(await http.d.store.read.schedule('t')).toBeNull()
    await expect(http.engine.setSchedule({ name: 't', enabled: true })).rejects.toMatchObject({ code: 'not_found' })
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
