/** Replies that come later, silence, and continuing after a restart. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../../src/kernel/hash.ts'
import { put } from '../../store/subject.ts'
import { type Drive, net, node, ONCE, PLACES, undoBy } from '../drive.ts'
import { open } from './stage.ts'

describe.each(PLACES)('saga on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('a start with a used key returns the existing instance', async () => {
    const start = { net: net([node('a')]), startKey: 'order-1' }
    const id = await d.start(start)
    expect(await d.engine.start([start])).toEqual([{ id, created: false }])
    expect(await d.claim()).toHaveLength(1)
    const own = '01920000-0000-7000-8000-00000000abcd'
    expect(await d.start({ net: net([node('a')]), id: own })).toBe(own)
  })

  it('a step with a deferred reply continues with the completion, and a second completion changes nothing', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
    const a = await d.claimOne()
    await d.session.settle({
      delivery: a,
      reportId: 'deferred',
      startedAt: await d.store.now(),
      outcome: { kind: 'deferred' },
      wantNext: false,
    })
    await d.pass(48 * 3_600_000)
    expect(await d.state(id)).toBe('running')
    await d.engine.complete({ runId: a.runId, outcome: { kind: 'succeeded', result: { ok: 1 } } })
    await expect(
      d.engine.complete({ runId: a.runId, outcome: { kind: 'failed', error: { code: 'x', message: 'x' } } }),
    ).rejects.toMatchObject({ code: 'conflict' })
    expect(await d.work()).toEqual(['b'])
    expect(await d.state(id)).toBe('completed')
    expect(await d.results(id)).toMatchObject({ a: { ok: 1 } })
  })

  it('a failed completion of a deferred step undoes the completed steps', async () => {
    const id = await d.start({
      net: net([node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE })], {
        onFailure: 'compensate',
      }),
    })
    await d.succeed(await d.claimOne())
    const b = await d.claimOne()
    await d.session.settle({
      delivery: b,
      reportId: 'deferred b',
      startedAt: null,
      outcome: { kind: 'deferred' },
      wantNext: false,
    })
    await d.engine.complete({
      runId: b.runId,
      outcome: { kind: 'failed', error: { code: 'refused', message: 'no' } },
    })
    expect(await d.work()).toEqual(['undo a'])
    expect(await d.state(id)).toBe('compensated')
    expect(await d.error(id)).toBe('refused')
  })

  it('results of undos never count as results of steps', async () => {
    const id = await d.start({
      net: net([node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE, onFailure: 'compensate' })]),
    })
    await d.work((w) => (w.role === 'undo' ? 'undone' : w.node === 'b' ? new Error('bad') : 'done'))
    expect((await d.results(id)).a).toBe('done')
  })

  it.each([
    ['stop', 'failed', []],
    ['ignore', 'compensated', ['undo a']],
    ['undo', 'compensated', ['undo b', 'undo a']],
  ] as const)('a step that stays silent follows the policy %s', async (unknown, state, undone) => {
    const undo = { undo: undoBy('undo') }
    const id = await d.start({
      net: net([node('a', ['b'], undo), node('b', [], { ...undo, retry: ONCE, timeout: { ms: 1000, per: 'node' } })], {
        unknown,
        onFailure: 'compensate',
      }),
    })
    await d.succeed(await d.claimOne())
    const b = await d.claimOne()
    await d.session.settle({
      delivery: b,
      reportId: `silent ${unknown}`,
      startedAt: await d.store.now(),
      outcome: { kind: 'deferred' },
      wantNext: false,
    })
    await d.pass(1001)
    expect(await d.work()).toEqual(undone)
    expect(await d.state(id)).toBe(state)
  })

  it('the stored state of a dead process is all that another one needs', async () => {
    const id = await d.start({
      net: net([node('a', ['b']), node('b', ['c']), node('c')]),
      literals: { b: { args: ['from', 'the', 'start'] } },
    })
    await d.succeed(await d.claimOne(), 'A')
    await d.claimOne()
    const { Engine } = await import('../../../src/engine/engine.ts')
    const other = await Engine.open({ store: d.store, sweep: false, sessionTtlMs: 1000 })
    // The session of the first process sends no more heartbeats; its run was not returned.
    const gone = await d.store.read.workers()
    await put(d.store, { workers: { put: gone.map((w) => ({ ...w, expiresAt: 0 })) } })
    await other.sweep()
    const inbox = { room: () => 0, deliver: () => {}, wake: () => {}, holding: () => [], stop: () => {} }
    const session = await other.workers.open(
      { name: 'second', runtime: 'node', queues: null, types: null, concurrency: 1, tenant: null },
      inbox,
    )
    const order: (string | null)[] = []
    for (let [next] = await session.claim(1); next !== undefined; [next] = await session.claim(1)) {
      order.push(`${next.node} ${next.payload} after ${[...(await session.results(next)).byNode.keys()].sort()}`)
      await session.settle({
        delivery: next,
        reportId: `second ${next.node}`,
        startedAt: null,
        outcome: { kind: 'succeeded', result: null },
        wantNext: false,
      })
    }
    expect(order.map((o) => o?.replaceAll(', ', ','))).toEqual(['b ["from","the","start"] after a', 'c null after a,b'])
    expect(await d.state(id)).toBe('completed')
    await session.close()
    await other.close()
  })

  it('a definition of one instance does not change with a later one of the same name', async () => {
    const before = net([node('a', ['old']), node('old')])
    const after = net([node('a', ['new']), node('new')])
    expect(netHash(before)).not.toBe(netHash(after))
    await d.start({ net: before })
    const a = await d.claimOne()
    await d.start({ net: after })
    await d.succeed(a)
    expect((await d.work()).sort()).toEqual(['a', 'new', 'old'])
  })
})
