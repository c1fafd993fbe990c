/** Pauses of definitions and of types. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import { Drive, net, node, PLACES, run } from './drive.ts'

const HOUR = 3_600_000
const two = net([node('a', ['b']), node('b')], { name: 'order' })

describe.each(PLACES)('pauses of definitions and types on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    // Sweeps only when a test requests it.
    d = await Drive.open(place, { pollMs: HOUR })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const order = { name: 'order', tenant: null, actor: 'ada' }
  const pauses = () => d.store.pauses.list({ tenant: null, limit: 10, before: null })
  const states = (ids: readonly string[]) => Promise.all(ids.map((id) => d.state(id)))
  const became = async (ids: readonly string[], wanted: readonly string[]): Promise<void> => {
    await expect.poll(() => states(ids), { timeout: 10_000, interval: 5 }).toEqual(wanted)
  }

  describe('of a definition', () => {
    it('those that have begun continue; new ones wait, and begin in their order', async () => {
      const before = await d.start({ net: two })
      await d.engine.pauseDefinition({ ...order, reason: 'prices' })
      const [first, second] = [await d.start({ net: two }), await d.start({ net: two })]
      expect(await states([first, second])).toEqual(['queued', 'queued'])
      await d.pass(0)
      expect(await d.work()).toEqual(['a', 'b'])
      expect(await states([before, first, second])).toEqual(['completed', 'queued', 'queued'])
      const why = await d.engine.why({ instanceId: first })
      expect(why?.about[0]).toMatchObject({
        kind: 'paused',
        what: 'definition',
        definition: 'order',
        by: 'ada',
        reason: 'prices',
      })
      await d.engine.resumeDefinition(order)
      await became([first, second], ['running', 'running'])
      const begun = await Promise.all(
        [first, second].map(
          async (id) =>
            (await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 10 })).find(
              (e) => e.type === 'instance.dequeued',
            )?.id ?? 0,
        ),
      )
      expect(begun[0]).toBeLessThan(begun[1] as number)
      await d.work()
      await d.pass(0)
      expect(await pauses()).toEqual([])
      expect(await d.state(await d.start({ net: two }))).toBe('running')
      await d.work()
    })

    it('other definitions, other tenants and nested workflows begin', async () => {
      await d.engine.pauseDefinition({ ...order, reason: null })
      const other = net([node('x')], { name: 'other' })
      const outer = net(
        [node('sub', [], { work: { kind: 'child', net: netHash(two), mode: 'attached', input: null } })],
        { name: 'outer' },
      )
      const ids = [
        await d.start({ net: other }),
        await d.start({ net: two, tenant: 'acme' }),
        await d.start({ net: outer, nets: [two] }),
      ]
      expect(await states(ids)).toEqual(['running', 'running', 'running'])
      await d.work()
      await d.engine.resumeDefinition(order)
      expect(await pauses()).toEqual([])
    })

    it('an idle instance that is started waits, and a retry too', async () => {
      const idle = await d.start({ net: two, start: false })
      const failed = await d.start({ net: two })
      await d.fail(await d.claimOne(), { retryable: false })
      await d.engine.pauseDefinition({ ...order, reason: null })
      await d.engine.startInstance({ id: idle, actor: null })
      const again = await d.engine.retryInstance({ id: failed, actor: null })
      expect(await states([idle, again.id])).toEqual(['queued', 'queued'])
      await d.engine.cancelInstance({ id: again.id, actor: null })
      await d.engine.resumeDefinition(order)
      await became([idle, again.id], ['running', 'cancelled'])
      await d.work()
    })

    it('a limit on its instances holds at the resume', async () => {
      const ids = [await d.start({ net: two, slots: 1 })]
      await d.engine.pauseDefinition({ ...order, reason: null })
      ids.push(await d.start({ net: two, slots: 1 }), await d.start({ net: two, slots: 1 }))
      await d.work()
      expect(await states(ids)).toEqual(['completed', 'queued', 'queued'])
      await d.engine.resumeDefinition(order)
      await became(ids, ['completed', 'running', 'queued'])
      await d.work()
      await became(ids, ['completed', 'completed', 'running'])
      await d.work()
    })

    it('one that starts while those before it begin does not overtake them', async () => {
      await d.engine.pauseDefinition({ ...order, reason: null })
      const limited = { net: two, slots: 1 }
      const waiting = [await d.start(limited), await d.start(limited)]
      await d.engine.resumeDefinition(order)
      await became(waiting, ['running', 'queued'])
      const late = await d.start({ net: two })
      expect(await d.state(late)).toBe('queued')
      for (const done of [1, 2, 3]) {
        await expect.poll(() => d.work(), { timeout: 10_000, interval: 5 }).toEqual(['a', 'b'])
        expect(done).toBeGreaterThan(0)
      }
      expect(await states([...waiting, late])).toEqual(['completed', 'completed', 'completed'])
      await d.pass(0)
      expect(await pauses()).toEqual([])
    })

    it('what is paused already, or not paused, is refused with the facts', async () => {
      await expect(d.engine.resumeDefinition(order)).rejects.toMatchObject({
        code: 'conflict',
        details: { paused: false },
      })
      await d.engine.pauseDefinition({ ...order, reason: 'first' })
      await expect(d.engine.pauseDefinition({ ...order, reason: 'second' })).rejects.toMatchObject({
        code: 'conflict',
        details: { paused: { by: 'ada', reason: 'first' } },
      })
    })
  })

  describe('of a type', () => {
    const charge = net([node('pay', ['tell'], { work: run('card.charge') }), node('tell')])

    it('no worker claims its runs and none is handed over; held ones continue, others are claimed', async () => {
      const id = await d.start({ net: charge })
      const held = await d.claimOne()
      await d.engine.pauseType({ type: 'card.charge', actor: 'ada', reason: 'down' })
      const other = await d.start({
        net: net([node('a', ['b'], { work: run('tell') }), node('b', [], { work: run('card.charge') })]),
      })
      await d.succeed(held)
      expect((await d.work()).sort()).toEqual(['a', 'tell'])
      expect(
        await d.engine.leases.fetch({
          queues: null,
          types: null,
          runtime: null,
          tenant: null,
          limit: 10,
          holder: 'http',
          leaseMs: () => 1_000,
          waitMs: 0,
        }),
      ).toEqual([])
      expect(await states([id, other])).toEqual(['completed', 'running'])
      const why = await d.engine.why({ instanceId: other })
      expect(why?.waits[0]?.reasons[0]).toMatchObject({
        kind: 'paused',
        what: 'type',
        type: 'card.charge',
        by: 'ada',
        reason: 'down',
      })
      await d.engine.resumeType({ type: 'card.charge', actor: 'bob' })
      expect(await d.work()).toEqual(['b'])
      expect(await pauses()).toEqual([])
    })

    it('many of its pending runs displace no other run', async () => {
      await d.engine.enqueue(Array.from({ length: 500 }, () => ({ type: 'card.charge', payload: null })))
      await d.engine.pauseType({ type: 'card.charge', actor: null, reason: null })
      await d.engine.enqueue([{ type: 'mail.send', payload: null }])
      expect((await d.claim(10)).map((one) => one.type)).toEqual(['mail.send'])
      await d.engine.resumeType({ type: 'card.charge', actor: null })
      expect(await d.claim(1_000)).toHaveLength(500)
    })

    it('what is paused already, not paused, or no type is refused', async () => {
      const type = 'card.charge'
      await expect(d.engine.resumeType({ type, actor: null })).rejects.toMatchObject({ code: 'conflict' })
      await d.engine.pauseType({ type, actor: 'ada', reason: 'first' })
      await expect(d.engine.pauseType({ type, actor: 'bob', reason: null })).rejects.toMatchObject({
        details: { paused: { by: 'ada', reason: 'first' } },
      })
      for (const wrong of ['', 'card.%', 'x'.repeat(256)]) {
        await expect(d.engine.pauseType({ type: wrong, actor: null, reason: null })).rejects.toMatchObject({
          code: 'invalid_request',
        })
      }
      await d.engine.resumeType({ type, actor: null })
    })
  })
})
