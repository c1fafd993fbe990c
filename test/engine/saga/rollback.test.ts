/** Rollbacks that stop, continue in place, and never claim to be complete while an effect may remain. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEffects } from '../../../src/operations/sagas/view.ts'
import { PLACES } from '../drive.ts'
import { DEADLINE, RESEND, Stage, sagaNet, step } from './stage.ts'

const CHAIN = sagaNet([step('a', ['b']), step('b', ['c']), step('c')])
/** a, then b and c side by side. */
const FORK = sagaNet([step('a', ['b', 'c']), step('b'), step('c')])

describe.each(PLACES)('a rollback on $name', (place) => {
  let s: Stage
  beforeEach(async () => {
    s = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  const resume = () => s.d.engine.resumeInstance({ id: s.id, actor: 'ada' })
  const rollBack = () => s.d.engine.cancelInstance({ id: s.id, actor: 'ada', undo: true })
  const open = async () => (await openEffects(s.d.engine, s.id)).map(({ name, reason }) => `${name} ${reason}`)

  /** a and b are done, c failed; the undo of b is in flight. */
  const undoingB = async (): Promise<void> => {
    await s.start(CHAIN)
    for (const name of ['a', 'b']) {
      await s.dispatch()
      await s.answer(name, { made: name })
    }
    await s.dispatch()
    await s.refuse('c', 'no_money', 'the account is empty')
    expect(await s.dispatch()).toEqual(['undo b'])
  }

  describe('that stopped at an undo', () => {
    it('continues at the undo that failed, under its step id, and ends as compensated', async () => {
      await undoingB()
      const id = s.idOf('undo b')
      await s.refuse('undo b', 'stuck', 'the goods are gone')
      expect(await s.state()).toBe('failed')
      expect(await open()).toEqual(['a not_undone', 'b undo_failed'])
      expect((await resume()).state).toBe('compensating')
      expect(await s.errors()).toEqual(['no_money', undefined])
      expect(await open()).toEqual([])
      expect(await s.dispatch()).toEqual(['undo b'])
      expect(s.idOf('undo b')).toBe(id)
      expect(JSON.parse((await s.run('undo b')).payload)).toMatchObject({ result: { made: 'b' } })
      await s.answer('undo b')
      expect(await s.play()).toEqual(['undo a'])
      expect(await s.state()).toBe('compensated')
      expect(await s.errors()).toEqual(['no_money', undefined])
      expect(await open()).toEqual([])
      await expect(resume()).rejects.toMatchObject({ code: 'conflict' })
    })

    it('may stop there again, and be resumed again', async () => {
      await undoingB()
      for (const turn of [1, 2, 3]) {
        await s.refuse('undo b', `stuck ${turn}`)
        expect(await s.state()).toBe('failed')
        expect(await s.errors()).toEqual(['no_money', `stuck ${turn}`])
        await resume()
        expect(await s.dispatch()).toEqual(['undo b'])
      }
      await s.answer('undo b')
      expect(await s.play()).toEqual(['undo a'])
      expect(await s.state()).toBe('compensated')
    })

    it.each(['silent', 'failed'] as const)('accepts the late success of an undo that was %s', async (how) => {
      await undoingB()
      if (how === 'silent') await s.d.pass(DEADLINE + 1)
      else await s.refuse('undo b', 'stuck')
      expect(await s.state()).toBe('failed')
      await s.answer('undo b', { removed: true })
      expect(await s.state()).toBe('compensating')
      expect(await s.run('undo b')).toMatchObject({ status: 'succeeded', unknown: false, error: null })
      expect((await s.row()).endedAt).toBeNull()
      await expect(s.answer('undo b')).rejects.toMatchObject({ details: { reason: 'duplicate' } })
      expect(await s.play()).toEqual(['undo a'])
      expect(await s.state()).toBe('compensated')
      expect(await s.steps()).toEqual([
        '0 a completed',
        '1 b completed',
        '2 c failed',
        '-2 b completed',
        '-1 a completed',
      ])
    })

    it('a failure that is reported late for a silent undo changes nothing', async () => {
      await undoingB()
      await s.d.pass(DEADLINE + 1)
      await expect(s.refuse('undo b')).rejects.toMatchObject({ details: { reason: 'late' } })
      expect(await s.state()).toBe('failed')
      await resume()
      expect(await s.play()).toEqual(['undo b', 'undo a'])
      expect(await s.state()).toBe('compensated')
    })
  })

  describe('with a step in flight that stays silent', () => {
    /** a is done, b is in flight. */
    const bInFlight = async (): Promise<void> => {
      await s.start(CHAIN)
      await s.dispatch()
      await s.answer('a')
      await s.dispatch()
    }

    it('of a cancelled saga undoes the rest and ends as failed, naming the step', async () => {
      await bInFlight()
      await rollBack()
      await s.d.pass(DEADLINE + 1)
      expect(await s.play()).toEqual(['undo a'])
      expect(await s.state()).toBe('failed')
      expect((await s.row()).outcome).toBe('rolled_back_partial')
      expect(await s.errors()).toEqual(['cancelled', 'in_doubt'])
      expect((await s.d.store.read.sagas.get(s.id))?.error).toMatch(/cancelled.*'b' did not answer/)
      expect(await open()).toEqual(['b in_doubt'])
    })

    it('of a saga in which another step failed does the same', async () => {
      await s.start(FORK)
      await s.dispatch()
      await s.answer('a')
      await s.dispatch()
      await s.refuse('b')
      await s.d.pass(DEADLINE + 1)
      expect(await s.play()).toEqual(['undo a'])
      expect(await s.state()).toBe('failed')
      expect(await s.errors()).toEqual(['refused', 'in_doubt'])
      expect(await open()).toEqual(['c in_doubt'])
    })

    it('undoes it as well when it succeeds late: during the rollback', async () => {
      await bInFlight()
      await rollBack()
      await s.d.pass(DEADLINE + 1)
      expect(await s.dispatch()).toEqual(['undo a'])
      await expect(s.answer('b', { made: 'b' })).rejects.toMatchObject({ details: { reason: 'late' } })
      await s.answer('undo a')
      expect(await s.dispatch()).toEqual(['undo b'])
      expect(JSON.parse((await s.run('undo b')).payload)).toMatchObject({ result: { made: 'b' } })
      await s.answer('undo b')
      expect(await s.state()).toBe('compensated')
      expect(await open()).toEqual([])
    })

    it('undoes it as well when it succeeds late: after the rollback has ended', async () => {
      await bInFlight()
      await rollBack()
      await s.d.pass(DEADLINE + 1)
      await s.play()
      expect(await s.state()).toBe('failed')
      await expect(s.answer('b', { made: 'b' })).rejects.toMatchObject({ details: { reason: 'late' } })
      expect(await s.state()).toBe('compensating')
      expect(await s.play()).toEqual(['undo b'])
      expect(await s.state()).toBe('compensated')
      expect(await s.errors()).toEqual(['cancelled', undefined])
    })

    it('ends as compensated when the step reports late that it failed', async () => {
      await bInFlight()
      await rollBack()
      await s.d.pass(DEADLINE + 1)
      await s.play()
      expect(await s.state()).toBe('failed')
      await expect(s.refuse('b')).rejects.toMatchObject({ details: { reason: 'late' } })
      expect(await s.state()).toBe('compensated')
    })

    it.each(['success', 'failure', 'silence'] as const)(
      'sends the same command again when it is resumed: %s',
      async (answer) => {
        await bInFlight()
        const body = (await s.d.engine.commands.of({ runIds: [s.idOf('b')] }))[0]?.body
        await rollBack()
        await s.d.pass(DEADLINE + 1)
        await s.play()
        await s.due()
        expect((await resume()).state).toBe('compensating')
        // No worker builds it: the stored command is sent.
        expect(await s.dispatch()).toEqual([])
        expect(await s.due()).toEqual(['b'])
        expect((await s.d.engine.commands.of({ runIds: [s.idOf('b')] }))[0]?.body).toBe(body)
        if (answer === 'success') await s.answer('b')
        else if (answer === 'failure') await s.refuse('b')
        else await s.d.pass(DEADLINE + 1)
        expect(await s.play()).toEqual(answer === 'success' ? ['undo b'] : [])
        expect(await s.state()).toBe(answer === 'silence' ? 'failed' : 'compensated')
        expect(await open()).toEqual(answer === 'silence' ? ['b in_doubt'] : [])
      },
    )

    it('stops at an undo that fails, resumes both, and undoes the step though its reply comes during the undo', async () => {
      await bInFlight()
      await rollBack()
      await s.d.pass(DEADLINE + 1)
      await s.dispatch()
      await s.refuse('undo a')
      expect(await s.state()).toBe('failed')
      expect(await open()).toEqual(['a undo_failed', 'b in_doubt'])
      await resume()
      expect(await s.dispatch()).toEqual(['undo a'])
      await s.answer('b')
      expect(await s.dispatch()).toEqual([])
      await s.answer('undo a')
      expect(await s.play()).toEqual(['undo b'])
      expect(await s.state()).toBe('compensated')
    })

    it('does not end before the reply of the resumed step, though an undo fails in the meantime', async () => {
      await bInFlight()
      await rollBack()
      await s.d.pass(DEADLINE + 1)
      await s.dispatch()
      await s.refuse('undo a')
      await resume()
      await s.dispatch()
      await s.refuse('undo a', 'again')
      expect(await s.state()).toBe('compensating')
      await s.answer('b')
      expect(await s.state()).toBe('failed')
      expect(await open()).toEqual(['a undo_failed', 'b not_undone'])
      await resume()
      expect(await s.play()).toEqual(['undo a', 'undo b'])
      expect(await s.state()).toBe('compensated')
    })

    it('of a saga that was resumed and then failed elsewhere is still in doubt', async () => {
      await s.start(FORK)
      await s.dispatch()
      await s.answer('a')
      await s.dispatch()
      await s.d.pass(DEADLINE + 1)
      expect(await s.state()).toBe('failed')
      await resume()
      const again = await s.d.claim()
      // b is sent again and fails; the second command of c is not sent any more, but its first was.
      const [b, c] = [...again].sort((x, y) => (`${x.node}` < `${y.node}` ? -1 : 1))
      await s.defer(b as never)
      await s.refuse('b')
      await s.defer(c as never)
      expect(await s.play()).toEqual(['undo a'])
      expect(await s.state()).toBe('failed')
      expect(await open()).toEqual(['c in_doubt'])
    })
  })

  describe('past the timeout of the saga', () => {
    const TIMEOUT = DEADLINE / 2

    const timedOut = async (options = {}): Promise<void> => {
      const nodes = [step('a', ['b']), step('b', ['c']), step('c', [], options)]
      await s.start(sagaNet(nodes, { timeoutMs: TIMEOUT }))
      for (const name of ['a', 'b']) {
        await s.dispatch()
        await s.answer(name)
      }
      await s.dispatch()
      await s.d.pass(TIMEOUT + 1)
    }

    it('begins at once, awaits the step in flight, and undoes it if it succeeds', async () => {
      await timedOut()
      expect(await s.play()).toEqual(['undo b', 'undo a'])
      expect(await s.state()).toBe('compensating')
      await s.answer('c')
      expect(await s.play()).toEqual(['undo c'])
      expect(await s.state()).toBe('compensated')
      expect(await s.errors()).toEqual(['timeout', undefined])
    })

    it('ends as compensated if the step in flight fails, as failed if it stays silent', async () => {
      await timedOut()
      await s.play()
      await s.refuse('c')
      expect(await s.state()).toBe('compensated')

      await timedOut()
      await s.play()
      await s.d.pass(DEADLINE / 2 + RESEND)
      expect(await s.state()).toBe('failed')
      expect(await s.errors()).toEqual(['timeout', 'in_doubt'])
      expect(await open()).toEqual(['c in_doubt'])
    })

    it('undoes a step in flight that is undone when silent, first and at once', async () => {
      await timedOut({ unknown: 'undo' })
      expect(await s.play()).toEqual(['undo c', 'undo b', 'undo a'])
      expect(await s.state()).toBe('compensated')
    })
  })
})
