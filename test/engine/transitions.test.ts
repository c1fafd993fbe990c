/** Every forbidden transition of an instance is tried, and refused. The table itself: test/net/transitions.test.ts. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InstanceState } from '../../src/net/marking.ts'
import { followersOf } from '../../src/net/transitions.ts'
import { type Drive, net, node, ONCE, PLACES, undoBy } from './drive.ts'
import { open, row } from './specifications/stage.ts'

const gate = { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' } as const

describe.each(PLACES)('forbidden transitions are refused on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const ended: Record<string, () => Promise<string>> = {
    completed: async () => {
      const id = await d.start({ net: net([node('a')]) })
      await d.work()
      return id
    },
    failed: async () => {
      const id = await d.start({ net: net([node('a', [], { retry: ONCE })]) })
      await d.work(() => new Error('bad'))
      return id
    },
    cancelled: async () => {
      const id = await d.start({ net: net([node('a')]) })
      await d.engine.cancelInstance({ id, actor: null })
      return id
    },
    compensated: async () => {
      const nodes = [node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE })]
      const id = await d.start({ net: net(nodes, { onFailure: 'compensate' }) })
      await d.work((w) => (w.node === 'b' ? new Error('bad') : null))
      return id
    },
  }

  it.each(Object.keys(ended))('%s: cannot be started, cancelled, resumed or patched', async (state) => {
    const id = await (ended[state] as () => Promise<string>)()
    expect(await d.state(id)).toBe(state)
    const before = await row(d, id)
    const refused = { code: 'conflict' }
    await expect(d.engine.startInstance({ id, actor: null })).rejects.toMatchObject(refused)
    await expect(d.engine.cancelInstance({ id, actor: null })).rejects.toMatchObject(refused)
    await expect(d.engine.resumeInstance({ id, actor: null })).rejects.toMatchObject(refused)
    await expect(d.engine.patchContext({ instanceId: id, set: { x: 1 }, actor: null })).rejects.toMatchObject(refused)
    await d.pass(86_400_000)
    expect(await row(d, id)).toEqual(before)
  })

  it('compensating: cannot be started, cancelled or resumed; it continues undoing', async () => {
    const nodes = [node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE })]
    const id = await d.start({ net: net(nodes, { onFailure: 'compensate' }) })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne())
    expect(await d.state(id)).toBe('compensating')
    const refused = { code: 'conflict' }
    await expect(d.engine.startInstance({ id, actor: null })).rejects.toMatchObject(refused)
    await expect(d.engine.cancelInstance({ id, actor: null })).rejects.toMatchObject(refused)
    await expect(d.engine.resumeInstance({ id, actor: null })).rejects.toMatchObject(refused)
    expect(await d.work()).toEqual(['undo a'])
    expect(await d.state(id)).toBe('compensated')
  })

  it('running, waiting and cancelling cannot be started', async () => {
    const states: Record<string, string> = {}
    states.running = await d.start({ net: net([node('a')]) })
    states.waiting = await d.start({ net: net([node('g', [], { work: gate })]) })
    states.cancelling = await d.start({ net: net([node('c')]) })
    await d.claim()
    await d.engine.cancelInstance({ id: states.cancelling, actor: null })
    for (const [state, id] of Object.entries(states)) {
      expect(await d.state(id)).toBe(state)
      await expect(d.engine.startInstance({ id, actor: null })).rejects.toMatchObject({
        code: 'conflict',
        details: { state, allowed: followersOf(state as InstanceState) },
      })
    }
    await expect(d.engine.resumeInstance({ id: states.running, actor: null })).rejects.toMatchObject({
      code: 'conflict',
    })
  })

  it('a failed one continues in place only if its net stops at a doubt; any other is retried as a new one', async () => {
    const nodes = [node('a', [], { retry: ONCE })]
    for (const unknown of ['ignore', 'undo'] as const) {
      const id = await d.start({ net: net(nodes, { unknown }) })
      await d.work(() => new Error('bad'))
      await expect(d.engine.resumeInstance({ id, actor: null })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('retry it instead'),
      })
      expect(await d.state(id)).toBe('failed')
    }
  })
})
