/** Execution slots: a limited number of instances of a workflow execute at once, first queued first. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { net, node, PLACES, run } from './drive.ts'
import { KEY, one, SlotStage } from './slot-stage.ts'
import { events, row } from './specifications/stage.ts'

/** A process that dies as soon as it is about to start a queued instance. */
const DIES = {
  probe: (point: string) => {
    if (point === 'before-dequeue') throw new Error('killed')
  },
}

describe.each(PLACES)('execution slots on $name', (place) => {
  let s: SlotStage
  beforeEach(async () => {
    s = await SlotStage.open(place)
  })
  afterEach(() => s.close())

  it('those beyond the limit wait in the queue: none of their runs can be claimed', async () => {
    const ids = [await s.start(2), await s.start(2), await s.start(2), await s.start(2)]
    expect(await s.states(ids)).toEqual(['running', 'running', 'queued', 'queued'])
    expect(await s.d.claim()).toHaveLength(2)
    const waiting = await row(s.d, ids[2] as string)
    expect(waiting).toMatchObject({ quotaKey: KEY, queuedAt: waiting.createdAt, open: 0, startedAt: null })
    expect(await events(s.d, ids[2] as string)).toEqual(['instance.created', 'instance.queued'])
    expect((await events(s.d, ids[0] as string)).filter((type) => type.includes('queued'))).toEqual([])
    expect(await s.inUse()).toBe(2)
  })

  it('many started in one call and in one batch respect the limit too', async () => {
    const started = await s.d.engine.start(Array.from({ length: 6 }, () => ({ net: one, slots: 2 })))
    expect(await s.states(started.map(({ id }) => id))).toEqual([
      ...['running', 'running'],
      ...['queued', 'queued', 'queued', 'queued'],
    ])
    await Promise.all(Array.from({ length: 20 }, () => s.start(2)))
    expect(await s.d.store.read.countInstances()).toEqual(
      new Map([
        ['running', 2],
        ['queued', 24],
      ]),
    )
  })

  it('when one ends, the first in the queue begins, without a sweep', async () => {
    const ids = [await s.start(1), await s.start(1), await s.start(1)]
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['completed', 'running', 'queued'])
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['completed', 'completed', 'running'])
    expect((await events(s.d, ids[1] as string)).slice(0, 4)).toEqual([
      'instance.created',
      'instance.queued',
      'instance.dequeued',
      'created a',
    ])
    expect(await s.inUse()).toBe(1)
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['completed', 'completed', 'completed'])
    expect(await s.inUse()).toBe(0)
  })

  it('the order is that of entering the queue, not of creation: an idle one that is started late comes last', async () => {
    const idle = await s.start(1, { start: false })
    const [first, second] = [await s.start(1), await s.start(1)]
    await s.d.pass(1_000)
    expect(await s.d.engine.startInstance({ id: idle, actor: null })).toMatchObject({ state: 'queued' })
    const all = [first, second, idle]
    expect(await s.states(all)).toEqual(['running', 'queued', 'queued'])
    await s.d.succeed(await s.d.claimOne())
    await s.become(all, ['completed', 'running', 'queued'])
    await s.d.succeed(await s.d.claimOne())
    await s.become(all, ['completed', 'completed', 'running'])
  })

  it('an idle one takes no slot until it is started; then it begins at once if there is one', async () => {
    const idle = await s.start(1, { start: false })
    expect(await s.inUse()).toBe(0)
    expect(await s.d.engine.startInstance({ id: idle, actor: null })).toMatchObject({ state: 'running' })
    expect(await s.inUse()).toBe(1)
    expect(await events(s.d, idle)).toEqual(['instance.created', 'instance.queued', 'instance.dequeued', 'created a'])
  })

  it('a new instance does not overtake waiting instances, even if a slot is free', async () => {
    await s.reopen(DIES)
    const [first, second] = [await s.start(1), await s.start(1)]
    await s.d.succeed(await s.d.claimOne())
    const third = await s.start(1)
    expect(await s.states([first, second, third])).toEqual(['completed', 'queued', 'queued'])
    await s.d.engine.sweep()
    expect(s.d.engine.faults.counts().get('sweep_queue_of_instances')).toBeGreaterThan(0)
  })

  it('a raised limit starts as many as now fit; a lowered one stops none', async () => {
    const ids = [await s.start(1), await s.start(1), await s.start(1), await s.start(1)]
    await s.d.engine.setLimit({ key: KEY, maxConcurrent: 3 })
    await s.become(ids, ['running', 'running', 'running', 'queued'])
    await s.d.engine.setLimit({ key: KEY, maxConcurrent: 1 })
    expect(await s.states(ids)).toEqual(['running', 'running', 'running', 'queued'])
    const [a, b, c] = await s.d.claim()
    await s.d.succeed(a as never)
    await s.d.succeed(b as never)
    await s.d.engine.sweep()
    expect(await s.d.state(ids[3] as string)).toBe('queued')
    await s.d.succeed(c as never)
    await s.become(ids, ['completed', 'completed', 'completed', 'running'])
  })

  it('a removed limit lets all begin', async () => {
    const ids = [await s.start(1), await s.start(1), await s.start(1)]
    await s.d.engine.setLimit({ key: KEY, maxConcurrent: null })
    await s.become(ids, ['running', 'running', 'running'])
    expect(await s.inUse()).toBe(3)
  })

  it('a later start with another limit changes it, for waiting instances as well', async () => {
    const ids = [await s.start(1), await s.start(1), await s.start(3)]
    await s.become(ids, ['running', 'running', 'running'])
    const more = [await s.start(1), await s.start(1)]
    expect(await s.states(more)).toEqual(['queued', 'queued'])
    expect((await s.d.store.read.limits()).find(({ key }) => key === KEY)).toMatchObject({ maxConcurrent: 1, inUse: 3 })
  })

  it('a cancel of a queued one frees no slot, and those behind it move up', async () => {
    const ids = [await s.start(1), await s.start(1), await s.start(1)]
    const [, second] = ids as [string, string, string]
    await s.d.engine.cancelInstance({ id: second, actor: 'ada' })
    expect(await row(s.d, second)).toMatchObject({ state: 'cancelled', outcome: 'cancelled' })
    expect(await s.states(ids)).toEqual(['running', 'cancelled', 'queued'])
    expect(await s.inUse()).toBe(1)
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['completed', 'cancelled', 'running'])
  })

  it('the deadline runs in the queue: it times out there, and no step ever starts', async () => {
    const slow = net([node('a')], { timeoutMs: 5_000 })
    const first = await s.start(1)
    const second = await s.start(1, { net: slow })
    const third = await s.start(1)
    const { createdAt, deadlineAt } = await row(s.d, second)
    expect(deadlineAt).toBe(createdAt + 5_000)
    await s.d.pass(5_000)
    expect(await row(s.d, second)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
    expect(await s.d.error(second)).toBe('timeout')
    expect((await s.d.engine.view(second))?.runs).toEqual([])
    await s.d.succeed(await s.d.claimOne())
    await s.become([first, second, third], ['completed', 'failed', 'running'])
  })

  it('the time in the queue counts: the deadline is not reset at the start', async () => {
    const slow = net([node('a')], { timeoutMs: 60_000 })
    await s.start(1)
    const second = await s.start(1, { net: slow })
    const { deadlineAt } = await row(s.d, second)
    await s.d.pass(30_000)
    await s.d.succeed(await s.d.claimOne())
    await vi.waitFor(async () => expect(await s.d.state(second)).toBe('running'))
    expect(await row(s.d, second)).toMatchObject({ deadlineAt })
    await s.d.pass(30_000)
    expect(await row(s.d, second)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
  })

  it('one whose first run cannot be stored fails when its turn comes, and delays none', async () => {
    const unstorable = net([node('a', [], { work: run('a', { priority: 1.5 }) })])
    const ids = [await s.start(1), await s.start(1, { net: unstorable }), await s.start(1)]
    expect(await s.states(ids)).toEqual(['running', 'queued', 'queued'])
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['completed', 'failed', 'running'])
    expect(await s.d.error(ids[1] as string)).toBe('unstorable')
    expect(await s.inUse()).toBe(1)
  })

  it('a queued one can be patched, and cannot be started by hand', async () => {
    await s.start(1)
    const id = await s.start(1)
    await s.d.engine.patchContext({ instanceId: id, set: { x: 1 }, actor: null })
    await expect(s.d.engine.startInstance({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { state: 'queued' },
    })
    expect(await s.d.state(id)).toBe('queued')
  })

  it('with a queue limit and slots together, neither is exceeded', async () => {
    await s.d.engine.setLimit({ key: 'queue:default', maxConcurrent: 1 })
    const ids = [await s.start(2), await s.start(2), await s.start(2)]
    expect(await s.states(ids)).toEqual(['running', 'running', 'queued'])
    expect(await s.d.claim()).toHaveLength(1)
  })

  it.each([0, -1, 1.5, Number.NaN])('%s slots are refused', async (slots) => {
    await expect(s.start(slots)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('a whole number of at least 1'),
    })
  })

  it('a limit of instances has no rate', async () => {
    const rate = { key: KEY, ratePer: 3, periodMs: 1000 }
    await expect(s.d.engine.setLimit(rate)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('recounts executing instances', async () => {
    await Promise.all([s.start(3), s.start(3), s.start(3), s.start(3)])
    await s.d.store.transact({
      roots: [],
      wait: true,
      need: { limits: [KEY] },
      decide: ({ limits }) => {
        const limit = limits.get(KEY)
        return { delta: { limits: limit === undefined ? [] : [{ ...limit, inUse: 9 }] }, result: null }
      },
    })
    await s.d.store.sweep.recountLimits({ keys: [KEY] })
    expect(await s.inUse()).toBe(3)
  })
})
