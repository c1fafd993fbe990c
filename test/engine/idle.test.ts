/** Instances that are created without being started. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import { SLOT } from '../../src/net/slots.ts'
import { type Drive, net, node, PLACES } from './drive.ts'
import { events, open, row } from './specifications/stage.ts'

describe.each(PLACES)('idle instances on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const two = net([node('a', ['b']), node('b')], { timeoutMs: 60_000 })

  it('an instance created with start: false exists with its input, and none of its work is pending', async () => {
    const id = await d.start({ net: two, input: { order: 7 }, literals: { a: { args: 'x' } }, start: false })
    expect(await row(d, id)).toMatchObject({ state: 'idle', phase: 'forward', deadlineAt: null, open: 0, live: 0 })
    expect(await events(d, id)).toEqual(['instance.created'])
    expect(await d.store.read.slots({ instanceId: id, prefix: SLOT.input.prefix })).toMatchObject([
      { value: '{"order":7}' },
    ])
    expect(await d.store.sweep.nextDueAt()).toBeNull()
    expect(await d.claim()).toEqual([])
  })

  it('an instance can be idle indefinitely: its deadline does not run before it is started', async () => {
    const id = await d.start({ net: two, start: false })
    await d.pass(10 * 365 * 86_400_000)
    expect(await d.state(id)).toBe('idle')
    const started = await d.engine.startInstance({ id, actor: 'ada' })
    expect(started).toMatchObject({ id, state: 'running', deadlineAt: (started.queuedAt as number) + 60_000 })
    expect(await d.work()).toEqual(['a', 'b'])
    expect(await d.state(id)).toBe('completed')
  })

  it('a start passes through the queue: both steps are recorded, with the actor', async () => {
    const id = await d.start({ net: two, start: false })
    await d.engine.startInstance({ id, actor: 'ada' })
    const recorded = await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 10 })
    expect(recorded.map(({ type, actor }) => [type, actor])).toEqual([
      ['instance.created', null],
      ['instance.queued', 'ada'],
      ['instance.dequeued', null],
      ['created', null],
    ])
  })

  it('an immediate start records no queue', async () => {
    const id = await d.start({ net: two })
    expect((await events(d, id)).filter((type) => type.includes('queued'))).toEqual([])
    expect(await row(d, id)).toMatchObject({ queuedAt: null, quotaKey: null })
    await d.work()
  })

  it('the deadline of an instance that starts at once runs from its creation', async () => {
    const id = await d.start({ net: two })
    const { createdAt, deadlineAt } = await row(d, id)
    expect(deadlineAt).toBe(createdAt + 60_000)
    await d.pass(60_000)
    expect(await row(d, id)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
  })

  it('the deadline of a nested workflow runs from its own creation', async () => {
    const inner = net([node('x', ['y']), node('y')], { name: 'inner', timeoutMs: 5_000 })
    const child = { kind: 'child', net: netHash(inner), mode: 'attached', input: null } as const
    const id = await d.start({
      net: net([node('a', ['c']), node('c', [], { work: child })]),
      nets: [inner],
    })
    await d.pass(60_000)
    await d.succeed(await d.claimOne())
    const [nested] = await d.store.read.children(id)
    expect(nested?.deadlineAt).toBe((nested?.createdAt as number) + 5_000)
    await d.pass(5_000)
    expect(await d.state(id)).toBe('failed')
  })

  it('starting twice is a conflict that names the state and what is allowed; nothing begins twice', async () => {
    const id = await d.start({ net: two, start: false })
    const both = await Promise.allSettled([1, 2].map(() => d.engine.startInstance({ id, actor: null })))
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await expect(d.engine.startInstance({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      message: `instance ${id} is running; only an idle one can be started (it can become waiting, cancelling, compensating, completed, failed)`,
      details: { state: 'running' },
    })
    expect(await d.work()).toEqual(['a', 'b'])
    await expect(d.engine.startInstance({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('is completed; only an idle one can be started (it has ended)'),
    })
  })

  it('starting an unknown instance is not found', async () => {
    const id = '0190a000-0000-7000-8000-000000000000'
    await expect(d.engine.startInstance({ id, actor: null })).rejects.toMatchObject({ code: 'not_found' })
  })

  it('a cancel ends an idle one at once, and it cannot be started any more', async () => {
    const id = await d.start({ net: two, start: false })
    await d.engine.cancelInstance({ id, actor: 'ada' })
    expect(await row(d, id)).toMatchObject({ state: 'cancelled', outcome: 'cancelled' })
    await expect(d.engine.startInstance({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { state: 'cancelled' },
    })
  })

  it('a cancelled idle one can be retried: the new instance starts', async () => {
    const id = await d.start({ net: two, input: 'old', start: false })
    await d.engine.cancelInstance({ id, actor: null })
    const again = await d.engine.retryInstance({ id, actor: null })
    expect(await d.state(again.id)).toBe('running')
    await d.work()
  })

  it('the context of an idle one can be changed before it starts', async () => {
    const id = await d.start({ net: net([node('a')]), start: false })
    await d.engine.patchContext({ instanceId: id, set: { go: true }, actor: null })
    expect(await d.state(id)).toBe('idle')
    expect(await d.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })).toMatchObject([
      { key: 'c:go', value: 'true' },
    ])
    await d.engine.startInstance({ id, actor: null })
    expect(await d.work()).toEqual(['a'])
  })

  it('start keys and names apply to idle ones too: a second start with the key returns the first', async () => {
    const first = await d.engine.start([{ net: two, startKey: 'order-7', names: ['n-7'], start: false }])
    const second = await d.engine.start([{ net: two, startKey: 'order-7' }])
    expect(second).toEqual([{ id: first[0]?.id, created: false }])
    expect(await d.state(first[0]?.id as string)).toBe('idle')
    await expect(d.engine.start([{ net: two, names: ['n-7'] }])).rejects.toMatchObject({ code: 'duplicate' })
  })

  it('is listed and counted as idle', async () => {
    const id = await d.start({ net: two, start: false, tenant: 'acme' })
    const query = { states: ['idle'], name: 'test', dialect: null, tenant: 'acme', rootsOnly: true, limit: 10 }
    expect(await d.store.read.listInstances({ ...query, before: null })).toMatchObject([{ id }])
    expect((await d.store.read.countInstances()).get('idle')).toBe(1)
  })
})
