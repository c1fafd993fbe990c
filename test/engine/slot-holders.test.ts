/** Which instances hold an execution slot, and for how long. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { InstanceRow } from '../../src/model/rows.ts'
import type { Net } from '../../src/net/net.ts'
import { net, node, ONCE, PLACES, undoBy } from './drive.ts'
import { KEY, one, SlotStage } from './slot-stage.ts'

const gate = { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' } as const

describe.each(PLACES)('holders of slots on $name', (place) => {
  let s: SlotStage
  beforeEach(async () => {
    s = await SlotStage.open(place)
  })
  afterEach(() => s.close())

  it('a slot is held during a gate, a cancel and an undo, and released at the end', async () => {
    const waits = await s.start(1, { net: net([node('g', [], { work: gate })]) })
    expect(await s.states([waits, await s.start(1)])).toEqual(['waiting', 'queued'])
    const [asked] = await s.d.store.read.openGates({ instanceId: waits, limit: 1 })
    await s.d.engine.answerGate({ gateId: asked?.id as string, approved: true, actor: null })
    await vi.waitFor(async () => expect(await s.d.claim()).toHaveLength(1))
    const running = await s.d.store.read.listInstances({
      ...{ states: ['running'], name: null, dialect: null, tenant: null, rootsOnly: true, limit: 10, before: null },
    })
    const { id } = running[0] as InstanceRow
    await s.d.engine.cancelInstance({ id, actor: null })
    expect(await s.states([id, await s.start(1)])).toEqual(['cancelling', 'queued'])
    expect(await s.inUse()).toBe(1)
  })

  it('an instance that undoes its work holds its slot until the end of the undo', async () => {
    const undoing = net([node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE })], {
      onFailure: 'compensate',
    })
    const ids = [await s.start(1, { net: undoing }), await s.start(1)]
    await s.d.succeed(await s.d.claimOne())
    await s.d.fail(await s.d.claimOne())
    expect(await s.states(ids)).toEqual(['compensating', 'queued'])
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['compensated', 'running'])
  })

  it('an instance that begins and ends in one transaction takes no slot, and lets the next begin', async () => {
    const empty = net([node('p', [], { work: { kind: 'pass' } })])
    const ids = [await s.start(1), await s.start(1, { net: empty }), await s.start(1, { net: empty }), await s.start(1)]
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['completed', 'completed', 'completed', 'running'])
    expect(await s.inUse()).toBe(1)
  })

  it('nested workflows count with their root', async () => {
    const inner: Net = net([node('x')], { name: 'inner' })
    const child = { kind: 'child', net: netHash(inner), mode: 'attached', input: null } as const
    const outer = net([node('c', [], { work: child })])
    const ids = [await s.start(1, { net: outer, nets: [inner] }), await s.start(1, { net: outer, nets: [inner] })]
    expect(await s.states(ids)).toEqual(['running', 'queued'])
    expect((await s.d.store.read.children(ids[0] as string))[0]).toMatchObject({ state: 'running', quotaKey: null })
    expect(await s.inUse()).toBe(1)
    await s.d.succeed(await s.d.claimOne())
    await s.become(ids, ['completed', 'running'])
  })

  it('tenants, and names, have separate slots', async () => {
    const other = { ...one, name: 'other' }
    const ids = [
      await s.start(1),
      await s.start(1, { tenant: 'acme' }),
      await s.start(1, { tenant: 'umbrella' }),
      await s.start(1, { net: other }),
      await s.start(1, { tenant: 'acme' }),
    ]
    expect(await s.states(ids)).toEqual(['running', 'running', 'running', 'running', 'queued'])
    expect((await s.d.store.read.limits()).map(({ key }) => key).sort()).toEqual([
      'workflow::other',
      'workflow::test',
      'workflow:acme:test',
      'workflow:umbrella:test',
    ])
  })

  it('an instance started without a limit takes no slot and needs none', async () => {
    await s.start(1)
    const free = await s.d.start({ net: one })
    expect(await s.d.state(free)).toBe('running')
    expect(await s.inUse()).toBe(1)
  })

  it('a start key names a queued one: a second start with it returns the first', async () => {
    await s.start(1)
    const [first] = await s.d.engine.start([{ net: one, slots: 1, startKey: 'k' }])
    const [again] = await s.d.engine.start([{ net: one, slots: 1, startKey: 'k' }])
    expect(again).toEqual({ id: first?.id, created: false })
    expect((await s.d.store.read.countInstances()).get('queued')).toBe(1)
  })

  it('a retry queues like any other start', async () => {
    const failing = await s.start(1, { net: net([node('a', [], { retry: ONCE })]) })
    await s.d.fail(await s.d.claimOne())
    expect(await s.d.state(failing)).toBe('failed')
    const running = await s.start(1)
    const { id } = await s.d.engine.retryInstance({ id: failing, actor: null })
    expect(await s.states([running, id])).toEqual(['running', 'queued'])
    await s.d.succeed(await s.d.claimOne())
    await s.become([running, id], ['completed', 'running'])
  })

  it('a stopped one is resumed only if a slot is free', async () => {
    const stop = net([node('a', [], { retry: ONCE })], { unknown: 'stop' })
    const stopped = await s.start(1, { net: stop })
    await s.d.fail(await s.d.claimOne())
    await s.start(1)
    await expect(s.d.engine.resumeInstance({ id: stopped, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { limit: KEY },
    })
    await s.d.succeed(await s.d.claimOne())
    await s.d.engine.resumeInstance({ id: stopped, actor: null })
    expect([await s.d.state(stopped), await s.inUse()]).toEqual(['running', 1])
  })
})
