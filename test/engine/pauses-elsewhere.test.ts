/** Pauses as other processes on the same database see them, and commands to services. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engine/engine.ts'
import { Drive, net, node, PLACES, run } from './drive.ts'
import { TwoEngines } from './two-engines.ts'

const HOUR = 3_600_000
const two = net([node('a', ['b']), node('b')], { name: 'order' })

describe.each(PLACES)('pauses and two processes on $name', (place) => {
  let t: TwoEngines
  let here: Engine
  let there: Engine
  beforeEach(async () => {
    t = await TwoEngines.open(place)
    ;[here, there] = t.engines
  })
  afterEach(async () => {
    await t.stop()
    await t.drop()
  })

  const start = async (engine: Engine): Promise<string> =>
    ((await engine.start([{ net: two }]))[0] as { id: string }).id
  const state = async (id: string): Promise<string | undefined> => (await there.store.read.instance(id))?.state
  const ada = { actor: 'ada', reason: null }

  it('what one pauses, the other hands out no more; what the other resumes, both do', async () => {
    const id = await start(there)
    const [a] = await t.fetch(there, 'w', 1, 0)
    await here.pauseInstance({ id, ...ada, timeouts: 'stop' })
    await t.succeed(there, [a as never])
    expect(await t.fetch(there, 'w', 1, 0)).toEqual([])
    await there.unpauseInstance({ id, actor: null })
    const next = await t.fetch(here, 'w', 1, 0)
    expect(next.map((one) => one.node)).toEqual(['b'])
    await t.succeed(here, next)
    expect(await state(id)).toBe('completed')
  })

  it('of two that pause or resume at the same time, one does, and the other gets the conflict', async () => {
    const id = await start(here)
    const paused = await Promise.allSettled(
      t.engines.map((engine) => engine.pauseInstance({ id, ...ada, timeouts: 'stop' })),
    )
    expect(paused.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const resumed = await Promise.allSettled(t.engines.map((engine) => engine.unpauseInstance({ id, actor: null })))
    expect(resumed.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await t.fetch(there, 'w', 5, 0)).toHaveLength(1)
  })

  it('a type and a definition that one pauses are paused in the other with its next transaction', async () => {
    // The other knows the rules as they were before.
    const before = await start(there)
    await here.pauseType({ type: 'a', ...ada })
    expect(await t.fetch(there, 'w', 5, 0)).toEqual([])
    await there.resumeType({ type: 'a', actor: null })
    expect(await t.fetch(here, 'w', 5, 0)).toHaveLength(1)
    await here.pauseDefinition({ name: 'order', tenant: null, ...ada })
    const waiting = await start(there)
    expect([await state(before), await state(waiting)]).toEqual(['running', 'queued'])
    await there.resumeDefinition({ name: 'order', tenant: null, actor: null })
    await expect.poll(() => state(waiting), { timeout: 10_000, interval: 5 }).toBe('running')
  })
})

describe.each(PLACES)('commands of a paused instance on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { pollMs: HOUR, sessionTtlMs: 1e12, heartbeatMs: HOUR })
  })
  afterEach(() => d.close())

  const take = async (): Promise<readonly string[]> =>
    (await d.store.commands.take({ limit: 10, holdMs: 1_000 })).map(({ subject }) => subject)
  const defer = async (subject: string): Promise<string> => {
    const id = await d.start({ net: net([node('a', [], { work: run('charge') })]) })
    const outcome = { kind: 'deferred', command: { subject, body: '{}', resendMs: HOUR } } as const
    const delivery = await d.claimOne()
    await d.session.settle({ delivery, reportId: subject, startedAt: Date.now(), outcome, wantNext: false })
    return id
  }

  it('are not published, for the first time or again, before the resume; others are', async () => {
    const held = await defer('held')
    await d.engine.pauseInstance({ id: held, actor: 'ada', reason: null, timeouts: 'stop' })
    await defer('other')
    expect(await take()).toEqual(['other'])
    await d.pass(2 * HOUR)
    expect(await take()).toEqual(['other'])
    await d.engine.unpauseInstance({ id: held, actor: null })
    expect(await take()).toEqual(['held'])
  })
})
