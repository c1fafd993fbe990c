/** Services that do not reply, and sagas that continue where they stopped. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/worker/port.ts'
import { PLACES } from '../drive.ts'
import { DEADLINE, Stage, sagaNet, step } from './stage.ts'

describe.each(PLACES)('silence on $name', (place) => {
  let s: Stage
  beforeEach(async () => {
    s = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  const resume = () => s.d.engine.resumeInstance({ id: s.id, actor: 'ada' })

  it('stops a saga, whose work is not changed, and which continues in place under the same step id', async () => {
    await s.start(sagaNet([step('a', ['b']), step('b', ['c']), step('c')]))
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    const id = s.idOf('b')
    await s.d.pass(DEADLINE + 1)
    expect(await s.state()).toBe('failed')
    expect(await s.errors()).toEqual(['timeout', undefined])
    expect(await s.d.store.read.sagas.get(s.id)).toMatchObject({ state: 'failed', completedAt: expect.any(Number) })
    expect(await s.dispatch()).toEqual([])
    expect(await s.due()).toEqual([])
    await resume()
    expect(await s.d.store.read.sagas.get(s.id)).toMatchObject({ state: 'in_progress', completedAt: null, error: null })
    expect(await s.dispatch()).toEqual(['b'])
    expect(s.idOf('b')).toBe(id)
    expect(await s.due()).toEqual(['b'])
    await s.answer('b')
    expect(await s.play()).toEqual(['c'])
    expect(await s.state()).toBe('completed')
    expect(await s.steps()).toEqual(['0 a completed', '1 b completed', '2 c completed'])
  })

  it('undoes a saga at a step with that policy, including that step, even if others would only stop', async () => {
    await s.start(sagaNet([step('a', ['b']), step('b', [], { unknown: 'undo' })]))
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.d.pass(DEADLINE + 1)
    expect(await s.state()).toBe('compensating')
    expect(await s.play()).toEqual(['undo b', 'undo a'])
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['timeout', undefined])
    await expect(resume()).rejects.toMatchObject({ code: 'conflict' })
  })

  it('a net with any other policy is refused', async () => {
    const wrong = sagaNet([step('a', [], { unknown: 'maybe' as never })])
    await expect(s.d.start({ net: wrong })).rejects.toMatchObject({
      code: 'invalid_net',
      message: expect.stringContaining('one of: ignore, stop, undo'),
    })
  })

  it('stops at a step with that policy, even if others would undo', async () => {
    await s.start(sagaNet([step('a', ['b']), step('b', ['c'], { unknown: 'stop' }), step('c')], { unknown: 'undo' }))
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.d.pass(DEADLINE + 1)
    expect(await s.state()).toBe('failed')
    await resume()
    expect(await s.dispatch()).toEqual(['b'])
    await s.answer('b')
    await s.dispatch()
    await s.d.pass(DEADLINE + 1)
    expect(await s.play()).toEqual(['undo c', 'undo b', 'undo a'])
    expect(await s.state()).toBe('compensated')
  })

  it('a reply that comes after the stop is recorded; the resumed step is sent again and undone once', async () => {
    await s.start(sagaNet([step('a', ['b']), step('b')]))
    await s.dispatch()
    await s.d.pass(DEADLINE + 1)
    await expect(s.answer('a')).rejects.toMatchObject({ details: { reason: 'late' } })
    await resume()
    expect(await s.dispatch()).toEqual(['a'])
    // The service has done it before and replies again.
    await s.answer('a', { again: true })
    await s.dispatch()
    await s.refuse('b')
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
  })

  it('a reply to the first command counts for the resumed step', async () => {
    await s.start(sagaNet([step('a', ['b']), step('b')]))
    await s.dispatch()
    await s.d.pass(DEADLINE + 1)
    await resume()
    await expect(s.answer('a')).rejects.toMatchObject({ details: { reason: 'early' } })
    await s.dispatch()
    await s.answer('a')
    expect(await s.play()).toEqual(['b'])
  })

  /** Sends the two steps that are ready, the second half a deadline later. */
  const dispatchApart = async (): Promise<void> => {
    for (const pause of [DEADLINE / 2, 0]) {
      await s.defer(await s.d.claimOne())
      await s.d.pass(pause)
    }
  }

  it.each(['stop', 'undo'] as const)(
    'a step (silence: %s) that completed before it was cancelled after a resume is undone when that is known',
    async (unknown) => {
      await s.start(sagaNet([step('a', ['b', 'c']), step('b'), step('c', [], { unknown })]))
      await s.dispatch()
      await s.answer('a')
      await dispatchApart()
      // b is silent and stops the saga, c becomes silent while the saga is stopping.
      await s.d.pass(DEADLINE / 2 + 1)
      expect(await s.state()).toBe('running')
      await s.d.pass(DEADLINE)
      expect(await s.state()).toBe('failed')
      await resume()
      const [b, c] = [await s.d.claimOne(), await s.d.claimOne()].sort((x, y) => (`${x.node}` < `${y.node}` ? -1 : 1))
      await s.defer(b as Delivery)
      await s.refuse('b')
      // The second command of c is not sent any more; but the first had been sent.
      await s.defer(c as Delivery)
      expect(await s.run('c')).toMatchObject({ status: 'cancelled' })
      expect(await s.dispatch()).toEqual(['undo a'])
      await expect(s.answer('c', { reserved: 1 })).rejects.toMatchObject({ details: { reason: 'late' } })
      await s.answer('undo a')
      expect(await s.play()).toEqual(['undo c'])
      expect(await s.state()).toBe('compensated')
    },
  )

  it('work that succeeded while a saga stopped counts when it is resumed: after a silence', async () => {
    await s.start(
      sagaNet([step('a', ['b', 'c']), step('b', ['d']), step('c', ['d']), step('d', [], { join: 'count' })]),
    )
    await s.dispatch()
    await s.answer('a')
    await dispatchApart()
    await s.d.pass(DEADLINE / 2 + 1)
    expect(await s.state()).toBe('running')
    const silent = (await s.run('b')).unknown ? 'b' : 'c'
    const other = silent === 'b' ? 'c' : 'b'
    // It had done its work, only too late.
    await expect(s.answer(silent)).rejects.toMatchObject({ details: { reason: 'late' } })
    await s.answer(other)
    expect(await s.state()).toBe('failed')
    await resume()
    expect(await s.dispatch()).toEqual([silent])
    await s.answer(silent)
    expect(await s.dispatch()).toEqual(['d'])
    await s.refuse('d')
    // Each once, however often its success was reported.
    expect(await s.play()).toEqual([`undo ${silent}`, `undo ${other}`, 'undo a'])
    expect(await s.state()).toBe('compensated')
  })

  it('work that succeeded while a saga stopped counts when it is resumed: after a failure, by policy stop', async () => {
    const diamond = [step('a', ['b', 'c']), step('b', ['d']), step('c', ['d']), step('d', [], { join: 'count' })]
    await s.start(sagaNet(diamond, { onFailure: 'abort' }))
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    const id = s.idOf('b')
    await s.refuse('b')
    expect(await s.state()).toBe('running')
    await s.answer('c')
    expect(await s.state()).toBe('failed')
    expect(await s.errors()).toEqual(['refused', undefined])
    await resume()
    expect(await s.dispatch()).toEqual(['b'])
    expect(s.idOf('b')).toBe(id)
    await s.answer('b')
    expect(await s.play()).toEqual(['d'])
    expect(await s.state()).toBe('completed')
  })

  it('a process that dies while it builds a command does not count as silence of the service', async () => {
    await s.start(sagaNet([step('a')]))
    const [a] = await s.d.claim()
    await s.d.session.started([{ runId: a?.runId as string, epoch: a?.epoch as number, at: Date.now() }])
    const workers = await s.d.store.read.workers()
    await s.d.store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => ({ delta: { workers: { put: workers.map((w) => ({ ...w, expiresAt: 0 })) } }, result: null }),
    })
    await s.d.engine.sweep()
    s.d.session = await s.d.newSession({ name: 'second' })
    expect(await s.dispatch()).toEqual(['a'])
    expect(s.idOf('a')).toBe(a?.runId)
    await s.answer('a')
    expect(await s.state()).toBe('completed')
  })
})
