/** A saga that does not end before its timeout: completed steps are undone, by waiting workers as well as by others. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/worker/port.ts'
import { net, node, PLACES } from '../drive.ts'
import { DEADLINE, Stage, sagaNet, step } from './stage.ts'

const TIMEOUT = DEADLINE / 2
const ALWAYS = { node: 'tidy', when: 'always', onFailure: 'fail' } as const
const CHAIN = sagaNet([step('a', ['b']), step('b', ['c']), step('c')], { timeoutMs: TIMEOUT })

describe.each(PLACES)('the timeout of a saga on $name', (place) => {
  let s: Stage
  beforeEach(async () => {
    s = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  /** Sends and answers the first two steps; the third is in flight. */
  const twoDone = async (): Promise<void> => {
    for (const name of ['a', 'b']) {
      await s.dispatch()
      await s.answer(name)
    }
    await s.dispatch()
  }

  it('undoes completed steps, each undo handed to a waiting worker by the transaction that creates it', async () => {
    await s.start(CHAIN)
    await twoDone()
    s.d.room = 10
    await s.d.pass(TIMEOUT + 1)
    expect(await s.state()).toBe('compensating')
    for (const name of ['b', 'a']) {
      const delivery = s.d.delivered.shift()
      expect(delivery).toMatchObject({ node: name, role: 'undo' })
      expect(await s.defer(delivery as Delivery)).toMatchObject({ status: 'recorded' })
      expect(await s.due()).toContain(`undo ${name}`)
      await s.answer(`undo ${name}`)
    }
    await s.refuse('c')
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['timeout', undefined])
    expect(s.d.stopped).not.toContain(s.idOf('undo b'))
  })

  it.each(['answers late', 'is asked again'])(
    'under the policy stop keeps completed steps, and continues where it stopped when the step in flight %s',
    async (how) => {
      await s.start({ ...CHAIN, onFailure: 'abort' })
      await twoDone()
      const id = s.idOf('c')
      await s.d.pass(TIMEOUT + 1)
      expect(await s.state()).toBe('failed')
      expect(await s.steps()).toEqual(['0 a completed', '1 b completed', '2 c failed'])
      if (how === 'answers late') await expect(s.answer('c')).rejects.toMatchObject({ details: { reason: 'late' } })
      expect((await s.d.engine.resumeInstance({ id: s.id, actor: 'ada' })).state).toBe('running')
      expect(await s.play()).toEqual(['c'])
      expect(s.idOf('c')).toBe(id)
      expect(await s.state()).toBe('completed')
    },
  )

  it('under the policy stop sends unsent steps once it is resumed', async () => {
    await s.start({ ...CHAIN, onFailure: 'abort' })
    await s.dispatch()
    await s.answer('a')
    await s.d.pass(TIMEOUT + 1)
    expect(await s.state()).toBe('failed')
    await s.d.engine.resumeInstance({ id: s.id, actor: 'ada' })
    expect(await s.play()).toEqual(['b', 'c'])
    expect(await s.state()).toBe('completed')
  })

  it('does not affect a final that is handed out by the transaction that stops the work', async () => {
    const of = net([node('a'), node('tidy')], { timeoutMs: TIMEOUT, finals: [ALWAYS] })
    const id = await s.d.start({ net: of })
    const a = await s.d.claimOne()
    await s.d.session.settle({
      delivery: a,
      reportId: 'deferred a',
      startedAt: Date.now(),
      outcome: { kind: 'deferred' },
      wantNext: false,
    })
    s.d.room = 10
    await s.d.pass(TIMEOUT + 1)
    const final = s.d.delivered.shift() as Delivery
    expect(final).toMatchObject({ node: 'tidy', role: 'final' })
    expect(await s.d.store.read.run(final.runId)).toMatchObject({ status: 'leased', cancelRequestedAt: null })
    await s.d.succeed(final)
    expect(await s.d.state(id)).toBe('failed')
  })
})
