/**
 * Known bugs of other saga engines, by the numbers of the specification (§3.5). Number 9, several engines at their
 * start, needs several processes: test/nats.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLACES } from '../drive.ts'
import { DEADLINE, Stage, sagaNet, step } from './stage.ts'

const CHAIN = sagaNet([step('a', ['b']), step('b', ['c']), step('c')])
/** a, then b and c side by side, then d. */
const DIAMOND = sagaNet([step('a', ['b', 'c']), step('b', ['d']), step('c', ['d']), step('d', [], { join: 'count' })])

describe.each(PLACES)('bugs of other engines, on $name', (place) => {
  let s: Stage
  beforeEach(async () => {
    s = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  it('bug 1: a reply and the next step are one transaction: a redelivery finds the next step', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    const deltas: { readonly ended: boolean; readonly born: boolean }[] = []
    const { transact } = s.d.store
    s.d.store.transact = (given) =>
      transact.call(s.d.store, {
        ...given,
        decide: (loaded) => {
          const decided = given.decide(loaded)
          if ('delta' in decided) {
            const { insert = [], update = [] } = decided.delta.runs ?? {}
            const ended = update.some((run) => run.node === 'a' && run.status === 'succeeded')
            deltas.push({ ended, born: insert.some((run) => run.node === 'b') })
          }
          return decided as never
        },
      }) as never
    await s.answer('a')
    s.d.store.transact = transact
    // Decided again if its data had changed; never half.
    expect(deltas.length).toBeGreaterThan(0)
    expect(deltas.every(({ ended, born }) => ended && born)).toBe(true)
    await expect(s.answer('a')).rejects.toMatchObject({ details: { reason: 'duplicate' } })
    expect(await s.play()).toEqual(['b', 'c'])
    expect(await s.state()).toBe('completed')
  })

  it('bug 2: a parallel step that succeeds while the saga is undone dispatches nothing further', async () => {
    await s.start(DIAMOND)
    await s.dispatch()
    await s.answer('a')
    expect(await s.dispatch()).toEqual(['b', 'c'])
    await s.refuse('b')
    expect(await s.state()).toBe('compensating')
    await s.answer('c')
    expect(await s.play()).toEqual(['undo c', 'undo a'])
    expect(await s.state()).toBe('compensated')
    expect(s.ids.has('d')).toBe(false)
  })

  it('bug 3: a second parallel failure begins no second undo', async () => {
    await s.start(DIAMOND)
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.refuse('b', 'first')
    await s.refuse('c', 'second')
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['first', undefined])
    expect(await s.steps()).toEqual(['0 a completed', '1 b failed', '2 c failed', '-1 a completed'])
  })

  it('bug 4: a step that completed with warnings is undone like any other', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    const warning = { level: 'warn', message: 'the address looks odd' }
    await s.answer('a', { id: 1 }, { notes: [{ outcome: 'completed_with_warnings' }, warning] })
    await s.dispatch()
    await s.refuse('b')
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
    const [ended] = await s.d.recorded(s.id, 'succeeded')
    expect(ended).toMatchObject({ node: 'a', data: { notes: [{ outcome: 'completed_with_warnings' }, warning] } })
  })

  it('bug 5: undos run in reverse order, each after the reply to the previous one', async () => {
    await s.start(CHAIN)
    for (const name of ['a', 'b']) {
      await s.dispatch()
      await s.answer(name)
    }
    await s.dispatch()
    await s.refuse('c')
    expect(await s.dispatch()).toEqual(['undo b'])
    expect(await s.dispatch()).toEqual([])
    await s.d.pass(DEADLINE / 2)
    expect(await s.dispatch()).toEqual([])
    await s.answer('undo b')
    expect(await s.dispatch()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensating')
    await s.answer('undo a')
    expect(await s.state()).toBe('compensated')
  })

  it('bug 6: an undo that fails ends the saga as failed, and both errors are kept', async () => {
    await s.start(CHAIN)
    for (const name of ['a', 'b']) {
      await s.dispatch()
      await s.answer(name)
    }
    await s.dispatch()
    await s.refuse('c', 'no_money', 'the account is empty')
    await s.dispatch()
    await s.refuse('undo b', 'stuck', 'the goods are gone')
    expect(await s.state()).toBe('failed')
    expect((await s.row()).outcome).toBe('rolled_back_partial')
    expect(await s.errors()).toEqual(['no_money', 'stuck'])
    expect(await s.dispatch()).toEqual([])
    const saga = await s.d.store.read.sagas.get(s.id)
    expect(saga).toMatchObject({ state: 'failed', error: 'the account is empty; undo: the goods are gone' })
    expect(await s.steps()).toEqual(['0 a completed', '1 b completed', '2 c failed', '-2 b failed'])
  })

  it('bug 7: a step in flight when the undo begins is undone if it succeeds', async () => {
    await s.start(DIAMOND)
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.refuse('b')
    // Steps in flight are awaited: nothing is undone before they end.
    expect(await s.dispatch()).toEqual([])
    await s.answer('c', { reserved: 3 })
    expect(await s.dispatch()).toEqual(['undo c'])
    expect(JSON.parse((await s.run('undo c')).payload)).toMatchObject({ result: { reserved: 3 } })
    await s.answer('undo c')
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
  })

  it('bug 7: a silent step that was given up and succeeds during the undo is undone as well', async () => {
    const quiet = [step('a', ['b', 'c']), step('b', ['d']), step('c', ['d'], { unknown: 'ignore' })]
    await s.start(sagaNet([...quiet, step('d', [], { join: 'count' })]))
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.refuse('b')
    await s.d.pass(DEADLINE + 1)
    expect((await s.run('c')).unknown).toBe(true)
    expect(await s.dispatch()).toEqual(['undo a'])
    await expect(s.answer('c', { reserved: 3 })).rejects.toMatchObject({ details: { reason: 'late' } })
    await s.answer('undo a')
    expect(await s.dispatch()).toEqual(['undo c'])
    expect(JSON.parse((await s.run('undo c')).payload)).toMatchObject({ result: { reserved: 3 } })
    await s.answer('undo c')
    expect(await s.state()).toBe('compensated')
  })

  it('bug 8: a silent undo ends by its own deadline', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.refuse('b')
    await s.dispatch()
    await s.d.pass(DEADLINE - 1_000)
    expect(await s.state()).toBe('compensating')
    await s.d.pass(2_000)
    expect(await s.state()).toBe('failed')
    expect(await s.errors()).toEqual(['refused', 'timeout'])
  })

  it('bug 10: a saga can be cancelled, has its own deadline, and failed steps can be retried', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    await s.d.engine.cancelInstance({ id: s.id, actor: 'ada', undo: true })
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')

    await s.start({ ...CHAIN, timeoutMs: DEADLINE / 2 })
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.d.pass(DEADLINE / 2 + 1)
    expect(await s.play()).toEqual(['undo a'])
    await s.refuse('b')
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['timeout', undefined])

    const retry = { ...step('a').retry, maxAttempts: 2, initialMs: 1_000, maxMs: 1_000, retryOn: null }
    await s.start(sagaNet([{ ...step('a'), retry } as never]))
    await s.dispatch()
    const id = s.idOf('a')
    await s.refuse('a')
    expect(await s.dispatch()).toEqual([])
    await s.d.pass(1_100)
    expect(await s.dispatch()).toEqual(['a'])
    expect(s.idOf('a')).toBe(id)
    await s.answer('a')
    expect(await s.state()).toBe('completed')
  })

  it('bug 11: completed_at is set when the saga has ended, not while it is undone', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.refuse('b')
    await s.dispatch()
    const undoing = await s.d.store.read.sagas.get(s.id)
    expect(undoing).toMatchObject({ state: 'compensating', completedAt: null })
    expect((await s.row()).endedAt).toBeNull()
    await s.d.pass(10_000)
    await s.answer('undo a')
    const ended = await s.d.store.read.sagas.get(s.id)
    expect(ended?.state).toBe('compensated')
    expect(ended?.completedAt).toBeGreaterThan((undoing?.createdAt ?? 0) + 9_000)
  })
})
