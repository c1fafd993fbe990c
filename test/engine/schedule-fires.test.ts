/** What schedules did: history, runs on request, and that both are exact whatever happens at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engine/engine.ts'
import { type FireRow, MAX_FIRES, scheduleKey } from '../../src/model/schedules/fires.ts'
import type { ScheduleParams } from '../../src/model/schedules/schedules.ts'
import { Drive, net, node, PLACES } from './drive.ts'
import { TwoEngines } from './two-engines.ts'

const MINUTE = 60_000
const NOW = { requestKey: null, overlap: null, actor: null } as const
const cron = (name: string) => ({ table: 'cron', name }) as const

const firesOf = (engine: Engine, ref: Parameters<typeof scheduleKey>[0], limit = 100): Promise<readonly FireRow[]> =>
  engine.store.read.timetable.fires({ schedule: scheduleKey(ref), before: null, limit })

describe.each(PLACES)('fires of schedules on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 1e6 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })
  const put = (rest: Partial<ScheduleParams> = {}) =>
    d.engine.putSchedule({ name: 'tick', expression: '@every 60s', run: { type: 'tick', payload: null }, ...rest })
  const fires = (limit?: number) => firesOf(d.engine, cron('tick'), limit)
  const row = async () => {
    const found = await d.store.read.schedule('tick')
    if (found === null) throw new Error('there is no such schedule')
    return found
  }

  it('records when it was due, when it fired, and the run it made', async () => {
    const due = (await put()).nextAt
    await d.pass(61_000)
    const { runId } = await d.claimOne()
    const [fire, ...more] = await fires()
    expect(more).toEqual([])
    expect(fire).toMatchObject({
      plannedAt: due,
      made: 'run',
      madeId: runId,
      madeCount: 1,
      skipped: null,
      actor: null,
    })
    expect(fire?.firedAt).toBeGreaterThanOrEqual(due as number)
  })

  it('records an instance, and that a fire was skipped because the last one had not ended', async () => {
    await d.engine.putSchedule({ name: 'tick', expression: '@every 60s', start: { net: net([node('a')]) } })
    await d.pass(61_000)
    await d.pass(61_000)
    const [skipped, fired] = await fires()
    expect(fired).toMatchObject({ made: 'instance', madeId: (await row()).lastId, skipped: null })
    expect(skipped).toMatchObject({ made: null, madeId: null, madeCount: 0, skipped: 'overlap' })
    expect(skipped?.plannedAt).toBeGreaterThan(fired?.plannedAt as number)
  })

  it('one that waits for the last one is recorded when it fires', async () => {
    await put({ overlap: 'enqueue' })
    await d.pass(61_000)
    const first = await d.claimOne()
    await d.pass(MINUTE)
    expect(await fires()).toHaveLength(1)
    await d.succeed(first)
    await d.pass(30_000)
    const [late] = await fires()
    expect((late?.firedAt ?? 0) - (late?.plannedAt ?? 0)).toBeGreaterThan(20_000)
  })

  it('run now makes a run at once and leaves the next time as it is', async () => {
    const before = await put()
    const fired = await d.engine.runSchedule(cron('tick'), { ...NOW, actor: 'ann' })
    expect(fired).toMatchObject({
      created: true,
      made: 'run',
      fire: { plannedAt: null, actor: 'ann', madeId: fired.id },
    })
    expect(await d.claimOne()).toMatchObject({ runId: fired.id, type: 'tick' })
    expect(await row()).toMatchObject({ nextAt: before.nextAt, lastId: fired.id, fireCount: 1 })
    expect(await fires()).toEqual([fired.fire])
    const [created] = await d.store.read.runHistory(fired.id)
    expect(created).toMatchObject({ type: 'created', actor: 'ann' })
  })

  it('run now also runs one that is paused', async () => {
    await put({ enabled: false })
    expect(await d.engine.runSchedule(cron('tick'), NOW)).toMatchObject({ created: true })
    expect(await row()).toMatchObject({ enabled: false, nextAt: null })
  })

  it('a second request under the same key makes nothing, also while its work is live and when its run is gone', async () => {
    await put()
    const request = { ...NOW, requestKey: 'k' }
    const first = await d.engine.runSchedule(cron('tick'), request)
    const again = await d.engine.runSchedule(cron('tick'), request)
    expect(again).toEqual({ ...first, created: false })
    await d.succeed(await d.claimOne())
    await d.store.sweep.prune({ endedBefore: Date.now() + 1e9, eventsBefore: 0, limit: 1000 })
    expect(await d.engine.runSchedule(cron('tick'), request)).toMatchObject({ created: false, id: first.id })
    expect(await fires()).toHaveLength(1)
    expect(await d.engine.runSchedule(cron('tick'), { ...NOW, requestKey: 'other' })).toMatchObject({ created: true })
  })

  it('run now is refused while the last work is live, unless the request states otherwise', async () => {
    await put()
    const first = await d.engine.runSchedule(cron('tick'), NOW)
    await expect(d.engine.runSchedule(cron('tick'), NOW)).rejects.toMatchObject({
      code: 'conflict',
      details: { live: first.id },
    })
    expect(await fires()).toHaveLength(1)
    const second = await d.engine.runSchedule(cron('tick'), { ...NOW, overlap: 'allow' })
    expect((await d.store.read.run(first.id))?.status).toBe('pending')
    await d.engine.runSchedule(cron('tick'), { ...NOW, overlap: 'cancel_previous' })
    expect((await d.store.read.run(second.id))?.status).toBe('cancelled')
    expect(await fires()).toHaveLength(3)
  })

  it('the overlap policy covers work that was run on request', async () => {
    await put()
    const { id } = await d.engine.runSchedule(cron('tick'), NOW)
    await d.pass(61_000)
    expect((await fires()).map(({ skipped, madeId }) => [skipped, madeId])).toEqual([
      ['overlap', null],
      [null, id],
    ])
  })

  it('keeps the latest thousand fires, and none of a removed schedule', async () => {
    await put({ overlap: 'allow' })
    const key = scheduleKey(cron('tick'))
    const old: readonly FireRow[] = Array.from({ length: MAX_FIRES }, (_, i) => ({
      schedule: key,
      id: `00000000-0000-7000-8000-${String(i).padStart(12, '0')}`,
      plannedAt: i,
      firedAt: i,
      made: null,
      madeId: null,
      madeCount: 0,
      skipped: 'overlap',
      reason: null,
      actor: null,
      requestKey: null,
    }))
    const write = (fires: readonly FireRow[]) =>
      d.store.transact({ roots: [], wait: true, need: {}, decide: () => ({ delta: { fires }, result: null }) })
    await write(old)
    await d.engine.runSchedule(cron('tick'), NOW)
    await d.engine.runSchedule(cron('tick'), NOW)
    const kept = await fires(2 * MAX_FIRES)
    expect(kept).toHaveLength(MAX_FIRES)
    expect(kept.at(-1)?.firedAt).toBe(2)
    await d.engine.removeSchedule('tick')
    expect(await fires()).toEqual([])
  })

  it('a schedule of the inbox has the same history, and runs on request', async () => {
    const { id, nextRunAt } = await d.engine.inboxSchedules.add({
      type: 'report.v1',
      schedule: '* * * * *',
      payload: 7,
    })
    const ref = { table: 'inbox', id } as const
    await d.pass(61_000)
    const [planned] = await firesOf(d.engine, ref)
    expect(planned).toMatchObject({ plannedAt: nextRunAt, made: 'run', madeCount: 1 })
    const after = await d.engine.inboxSchedules.get(id)
    const request = { ...NOW, requestKey: 'k', actor: 'ann' }
    const fired = await d.engine.runSchedule(ref, request)
    expect(await d.engine.runSchedule(ref, request)).toEqual({ ...fired, created: false })
    expect(await d.store.read.run(fired.id)).toMatchObject({ type: 'report.v1', payload: '7', inbox: true })
    expect(await firesOf(d.engine, ref)).toEqual([fired.fire, planned])
    expect(await d.engine.inboxSchedules.get(id)).toEqual(after)
    await expect(d.engine.runSchedule(ref, { ...NOW, overlap: 'skip' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    await d.engine.inboxSchedules.remove(id)
    expect(await firesOf(d.engine, ref)).toEqual([])
    await expect(d.engine.runSchedule(ref, NOW)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('a schedule that does not exist cannot be run', async () => {
    await expect(d.engine.runSchedule(cron('none'), NOW)).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe.each(PLACES)('two processes and one schedule on $name', (place) => {
  let two: TwoEngines
  beforeEach(async () => {
    two = await TwoEngines.open(place)
  })
  afterEach(async () => {
    await two.stop()
    await two.drop()
  })
  const runs = async () => [...(await two.store.read.countRuns({ queue: null })).values()].reduce((a, b) => a + b, 0)

  it('requests under one key at the same time make one run and one entry', async () => {
    const [a, b] = two.engines
    for (const overlap of ['allow', 'skip'] as const) {
      const name = `tick-${overlap}`
      await a.putSchedule({ name, expression: '@every 1h', overlap, run: { type: 'tick', payload: null } })
      const before = await runs()
      const request = { ...NOW, requestKey: 'k' }
      const fired = await Promise.all([a, b, a, b].map((engine) => engine.runSchedule(cron(name), request)))
      expect(new Set(fired.map(({ id }) => id)).size).toBe(1)
      expect(fired.filter(({ created }) => created)).toHaveLength(1)
      expect(await runs()).toBe(before + 1)
      expect(await firesOf(a, cron(name))).toHaveLength(1)
    }
  })

  it('requests without a key at the same time never overlap where the policy is to skip', async () => {
    const [a, b] = two.engines
    await a.putSchedule({ name: 'tick', expression: '@every 1h', run: { type: 'tick', payload: null } })
    const fired = await Promise.allSettled([a, b, a, b].map((engine) => engine.runSchedule(cron('tick'), NOW)))
    expect(fired.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await runs()).toBe(1)
  })

  it('a due time makes one run and one entry, whichever process fires it', async () => {
    const [a, b] = two.engines
    await a.putSchedule({ name: 'tick', expression: '@every 60s', run: { type: 'tick', payload: null } })
    const { id } = await a.inboxSchedules.add({ type: 'tick.v1', schedule: '* * * * *' })
    await two.store.moveClock(61_000)
    await Promise.all([a, b, a, b].map((engine) => engine.sweep()))
    await Promise.all([a, b].map((engine) => engine.sweep()))
    expect(await firesOf(a, cron('tick'))).toHaveLength(1)
    expect(await firesOf(a, { table: 'inbox', id })).toHaveLength(1)
    expect(await runs()).toBe(2)
  })
})
