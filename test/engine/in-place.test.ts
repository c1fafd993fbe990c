/** A run that failed for good is done again in a workflow that continues, as long as nothing has followed from its failure. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Arc, EachWork, Net } from '../../src/net/net.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run } from './drive.ts'

const FINAL = { retryable: false }
const arc = (to: string, when: string | null = null): Arc => ({ to, when, args: null, set: null })
const list = (rest: Partial<EachWork> = {}): EachWork => ({
  kind: 'each',
  items: '[0, 1, 2]',
  body: run('item', { args: { n: '{{ item }}' } }),
  maxInFlight: null,
  failFast: false,
  collect: 'list',
  ...rest,
})

describe.each(PLACES)('doing a run again in place on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const redrive = (w: Delivery | undefined) => d.engine.redrive({ runId: w?.runId as string, actor: 'ann' })
  const row = async (id: string) => d.store.read.instance(id)
  const refused = async (w: Delivery | undefined, obstacle: string) => {
    const before = await d.store.read.run(w?.runId as string)
    await expect(redrive(w)).rejects.toMatchObject({
      code: 'conflict',
      details: { obstacle, hint: expect.any(String), status: before?.status },
    })
    expect(await d.store.read.run(w?.runId as string)).toEqual(before)
  }

  it('an item of an open list; the list then succeeds, as if it had never failed', async () => {
    const id = await d.start({ net: net([node('l', ['z'], { work: list(), retry: ONCE }), node('z')]) })
    const items = await d.claim()
    await d.succeed(items[0] as Delivery, 0)
    await d.fail(items[1] as Delivery, FINAL)
    expect(await redrive(items[1])).toMatchObject({ status: 'pending', attempt: 0, lastError: null })
    expect(await row(id)).toMatchObject({ open: 2, failed: 0, succeeded: 1 })
    await d.succeed(items[2] as Delivery, 2)
    expect(await d.work((w) => (w.node === 'l' ? 1 : null))).toEqual(['l', 'z'])
    expect(await row(id)).toMatchObject({ state: 'completed', outcome: 'success', failed: 0 })
    expect((await d.results(id)).l).toMatchObject({ results: [0, 1, 2], stats: { success: 3, failed: 0 } })
    const history = await d.store.read.runHistory(items[1]?.runId as string)
    const redriven = history.find((e) => e.type === 'redriven')
    expect([redriven?.actor, JSON.parse(redriven?.data as string)]).toEqual(['ann', { because: 'operator' }])
  })

  it('an item of a list that has ended is refused, and so is one whose failure stopped its list', async () => {
    const flow = (work: EachWork): Net =>
      net([node('s', ['l', 'other']), node('l', [], { work, retry: ONCE, onFailure: 'skip' }), node('other')])
    await d.start({ net: flow(list()) })
    await d.succeed(await d.claimOne())
    const items = (await d.claim()).filter((w) => w.node === 'l')
    for (const w of items) await d.fail(w, FINAL)
    await refused(items[0], 'list_ended')
    await d.start({ net: flow(list({ failFast: true, maxInFlight: 2 })) })
    await d.succeed(await d.claimOne())
    const fast = (await d.claim()).filter((w) => w.node === 'l')
    await d.fail(fast[0] as Delivery, FINAL)
    await refused(fast[0], 'list_stopped')
  })

  it('a list keeps its count of items in flight', async () => {
    const id = await d.start({ net: net([node('l', [], { work: list({ maxInFlight: 1 }), retry: ONCE })]) })
    const [first] = await d.claim()
    await d.fail(first as Delivery, FINAL)
    await redrive(first)
    // Beside the item whose turn it is now; afterwards one at a time again.
    expect((await d.claim()).map((w) => w.item).sort()).toEqual([0, 1])
    expect(await row(id)).toMatchObject({ open: 2, failed: 0 })
  })

  it('a dead end: a step without arcs, while another branch continues', async () => {
    const id = await d.start({
      net: net([node('s', ['a', 'b']), node('a', [], { retry: ONCE, onFailure: 'route' }), node('b')]),
    })
    await d.succeed(await d.claimOne())
    const [a, b] = await d.claim()
    await d.fail(a as Delivery, FINAL)
    expect(await row(id)).toMatchObject({ live: 1, open: 1, failed: 1, unhandled: 1 })
    await redrive(a)
    expect(await row(id)).toMatchObject({ live: 2, open: 2, failed: 0, unhandled: 0 })
    await d.succeed(b as Delivery)
    expect(await d.state(id)).toBe('running')
    expect(await d.work()).toEqual(['a'])
    expect(await row(id)).toMatchObject({ state: 'completed', outcome: 'success' })
    expect(await d.error(id)).toBeNull()
  })

  it('an open join: a skipped step, while the join waits for another branch', async () => {
    const flow = net([
      node('s', ['a', 'b']),
      node('a', ['j'], { retry: ONCE, onFailure: 'skip' }),
      node('b', ['j']),
      node('j', [], { join: 'count', work: run('j', { args: { a: '{{ a }}' } }) }),
    ])
    const id = await d.start({ net: flow })
    await d.succeed(await d.claimOne())
    const [a, b] = await d.claim()
    await d.fail(a as Delivery, FINAL)
    await redrive(a)
    await d.succeed(b as Delivery)
    const [w] = await d.claim()
    expect(w?.node).toBe('a')
    await d.succeed(w as Delivery, 'A')
    expect(JSON.parse((await d.claimOne()).payload)).toEqual({ a: 'A' })
    expect(await row(id)).toMatchObject({ live: 1, failed: 0 })
  })

  it('a join that has begun, and a failure that was routed on, are refused', async () => {
    const joined = net([
      node('s', ['a', 'b']),
      node('a', ['j'], { retry: ONCE, onFailure: 'skip' }),
      node('b', ['j']),
      node('j', [], { join: 'count' }),
    ])
    await d.start({ net: joined })
    await d.succeed(await d.claimOne())
    const [a, b] = await d.claim()
    await d.succeed(b as Delivery)
    await d.fail(a as Delivery, FINAL)
    await refused(a, 'joined')
    await d.work()
    const routed = net([
      node('a', [], {
        retry: ONCE,
        onFailure: 'route',
        next: { mode: 'first', scope: null, arcs: [arc('b', 'not event.ok')] },
      }),
      node('b'),
    ])
    await d.start({ net: routed })
    const w = await d.claimOne()
    await d.fail(w, FINAL)
    await refused(w, 'routed')
  })

  it('while the workflow ends, it is refused', async () => {
    await d.start({ net: net([node('s', ['a', 'b']), node('a', [], { retry: ONCE }), node('b')]) })
    await d.succeed(await d.claimOne())
    const [a] = await d.claim()
    await d.fail(a as Delivery, FINAL)
    await refused(a, 'ending')
  })

  it('where the history records that no arc was taken, a step with arcs is a dead end as well', async () => {
    const flow = net(
      [
        node('s', ['a', 'b']),
        node('a', [], {
          retry: ONCE,
          onFailure: 'route',
          next: { mode: 'first', scope: null, arcs: [arc('z', 'event.ok')] },
        }),
        node('b'),
        node('z'),
      ],
      { tells: true, summary: true },
    )
    const id = await d.start({ net: flow })
    await d.succeed(await d.claimOne())
    const [a, b] = await d.claim()
    await d.fail(a as Delivery, FINAL)
    await redrive(a)
    await d.succeed(b as Delivery)
    expect(await d.work()).toEqual(['a', 'z'])
    expect(await row(id)).toMatchObject({ state: 'completed', failed: 0, unhandled: 0 })
  })

  it('may fail again, and be done again again', async () => {
    const id = await d.start({ net: net([node('l', [], { work: list(), retry: ONCE })]) })
    const items = await d.claim()
    await d.fail(items[0] as Delivery, FINAL)
    for (let i = 0; i < 3; i++) {
      await redrive(items[0])
      await d.fail(await d.claimOne(), FINAL)
      expect(await row(id)).toMatchObject({ failed: 1, open: 2 })
    }
    await d.succeed(items[1] as Delivery)
    await d.succeed(items[2] as Delivery)
    expect(await d.state(id)).toBe('failed')
  })
})
