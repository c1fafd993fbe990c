/** The fair key of an instance: its runs, and those of what is nested in it, share their queues under it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import { Drive, net, node, PLACES, run } from './drive.ts'

describe.each(PLACES)('the fair key of an instance on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const keyOf = async (runId: string) => (await d.store.read.run(runId))?.fairKey
  const claimed = async (limit: number) => {
    const runs = await d.claim(limit)
    return Promise.all(runs.map(({ runId }) => keyOf(runId)))
  }
  const one = net([node('x')], { name: 'one' })

  it('is that of its runs, unless they have their own', async () => {
    await d.start({
      net: net([node('a', ['b']), node('b', [], { work: run('b', { fairKey: 'own' }) })]),
      fairKey: 'ann',
    })
    const first = await d.claimOne()
    expect(await keyOf(first.runId)).toBe('ann')
    await d.succeed(first)
    expect(await keyOf((await d.claimOne()).runId)).toBe('own')
  })

  it('instances of two customers take turns', async () => {
    for (let n = 0; n < 5; n++) await d.start({ net: one, fairKey: 'ann' })
    for (let n = 0; n < 2; n++) await d.start({ net: one, fairKey: 'bob' })
    expect(await claimed(5)).toEqual(['ann', 'bob', 'ann', 'bob', 'ann'])
  })

  it('is that of nested instances, and of a tenant alone', async () => {
    const work = { kind: 'child', net: netHash(one), mode: 'attached', input: null } as const
    const outer = net([node('c', [], { work })], { name: 'outer' })
    await d.start({ net: outer, nets: [one], fairKey: 'ann', tenant: 'acme' })
    expect(await claimed(5)).toEqual(['@acme/ann'])
  })

  it('is that of a retry', async () => {
    const id = await d.start({ net: one, fairKey: 'ann' })
    await d.engine.cancelInstance({ id, actor: null })
    await d.engine.retryInstance({ id, actor: null })
    expect(await claimed(5)).toEqual(['ann'])
  })

  it.each(['', 'x'.repeat(256)])('refuses %j', async (fairKey) => {
    await expect(d.start({ net: one, fairKey })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { path: 'start.fairKey' },
    })
  })

  it('a run that is redriven takes its place among the runs of its key, and brings it no other turn', async () => {
    const enqueue = (key: string, count: number) =>
      d.engine.enqueue(Array.from({ length: count }, () => ({ type: 'x', payload: key, fairKey: key })))
    await enqueue('a', 4)
    await enqueue('b', 3)
    const first = await d.claimOne()
    await d.fail(first, { retryable: false })
    await d.engine.redrive({ runId: first.runId, actor: null })
    expect(await claimed(6)).toEqual(['b', 'a', 'b', 'a', 'b', 'a'])
    const [last] = await d.claim(5)
    expect(last?.runId).toBe(first.runId)
  })

  it('turns of a queue in which no run with a key waits are removed; those of others stay', async () => {
    for (const queue of ['over', 'open']) {
      const runs = ['a', 'b'].map((fairKey) => ({ type: 'x', payload: null, fairKey, queue }))
      await d.engine.enqueue(runs)
    }
    const prune = () => d.store.sweep.prune({ endedBefore: 0, eventsBefore: 0, limit: 1_000 })
    const over = await d.newSession({ queues: ['over'] })
    expect(await over.claim(2)).toHaveLength(2)
    const open = await d.newSession({ queues: ['open'] })
    expect((await open.claim(1)).length).toBe(1)
    await prune()
    await d.engine.enqueue(['a', 'b'].map((fairKey) => ({ type: 'x', payload: fairKey, fairKey, queue: 'over' })))
    await d.engine.enqueue([{ type: 'x', payload: 'a', fairKey: 'a', queue: 'open' }])
    const next = async (session: typeof over) => JSON.parse((await session.claim(1))[0]?.payload ?? 'null')
    // In `over` the turns begin with the first key again; in `open` it is the turn of b, whose payload is null.
    expect([await next(over), await next(open)]).toEqual(['a', null])
    await Promise.all([over.close(), open.close()])
  })
})
