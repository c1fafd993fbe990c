/** Replies: those that are accepted, and those that are not. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../../src/kernel/ids.ts'
import { StoreUnavailableError } from '../../../src/kernel/store-errors.ts'
import { PLACES } from '../drive.ts'
import { DEADLINE, Stage, sagaNet, step } from './stage.ts'

const TWO = sagaNet([step('a', ['b']), step('b')])

describe.each(PLACES)('completions on $name', (place) => {
  let s: Stage
  beforeEach(async () => {
    s = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  const refusals = async (): Promise<unknown[]> =>
    (await s.d.recorded(s.id, 'completion.refused')).map(({ node, data }) => [node, data.reason, data.outcome])
  /** Everything but the history, which records refusals. */
  const standing = async (): Promise<unknown> => ({
    ...(await s.row()),
    eventSeq: 0,
    runs: await s.d.store.read.instanceRuns({ instanceId: s.id, limit: 100, after: null }),
  })

  it('a duplicate changes nothing, whatever it contains, and is recorded', async () => {
    await s.start(TWO)
    await s.dispatch()
    await s.answer('a', { n: 1 })
    const before = await standing()
    const conflict = { code: 'conflict', details: { reason: 'duplicate', status: 'succeeded' } }
    await expect(s.answer('a', { n: 2 })).rejects.toMatchObject(conflict)
    await expect(s.refuse('a')).rejects.toMatchObject(conflict)
    expect(await standing()).toEqual(before)
    expect(await refusals()).toEqual([
      ['a', 'duplicate', 'succeeded'],
      ['a', 'duplicate', 'failed'],
    ])
    expect(await s.play()).toEqual(['b'])
    await expect(s.refuse('b')).rejects.toMatchObject(conflict)
    expect(await s.state()).toBe('completed')
  })

  it('a failure reported twice is one', async () => {
    await s.start(TWO)
    await s.dispatch()
    await s.refuse('a', 'first')
    await expect(s.refuse('a', 'second')).rejects.toMatchObject({ details: { reason: 'duplicate' } })
    await expect(s.answer('a')).rejects.toMatchObject({ details: { reason: 'duplicate' } })
    expect(await s.errors()).toEqual(['first', undefined])
  })

  it('a late one changes only what an undo needs to know', async () => {
    await s.start(TWO)
    await s.dispatch()
    await s.d.pass(DEADLINE + 1)
    expect(await s.state()).toBe('failed')
    const before = await s.row()
    await expect(s.refuse('a')).rejects.toMatchObject({ code: 'conflict', details: { reason: 'late' } })
    expect(await s.run('a')).toMatchObject({ status: 'failed', unknown: true, result: null })
    await expect(s.answer('a', { n: 1 })).rejects.toMatchObject({ code: 'conflict', details: { reason: 'late' } })
    expect(await s.row()).toMatchObject({ state: 'failed', reason: before.reason, endedAt: before.endedAt })
    // Its effect is known by now; repeated, it is a duplicate.
    expect(await s.run('a')).toMatchObject({ status: 'failed', unknown: false })
    expect(await s.d.recorded(s.id, 'late_success')).not.toEqual([])
    await expect(s.answer('a')).rejects.toMatchObject({ details: { reason: 'duplicate' } })
    expect(await refusals()).toEqual([
      ['a', 'late', 'failed'],
      ['a', 'late', 'succeeded'],
      ['a', 'duplicate', 'succeeded'],
    ])
  })

  it('one for a step that was cancelled without an undo is late, and changes nothing', async () => {
    await s.start(sagaNet([step('a', ['b', 'c']), step('b'), step('c')]))
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await s.d.engine.cancelInstance({ id: s.id, actor: null, undo: false })
    expect(await s.state()).toBe('cancelled')
    await expect(s.answer('b')).rejects.toMatchObject({ details: { reason: 'late' } })
    expect(await s.state()).toBe('cancelled')
  })

  it('an early one is redelivered: its worker has not deferred the step yet', async () => {
    await s.start(TWO)
    await s.dispatch()
    await s.answer('a')
    const [b] = await s.d.store.read.instanceRuns({ instanceId: s.id, limit: 1, after: s.idOf('a') })
    s.ids.set('b', b?.id as string)
    const early = { code: 'conflict', details: { reason: 'early' } }
    await expect(s.answer('b')).rejects.toMatchObject(early)
    const delivery = await s.d.claimOne()
    await expect(s.answer('b')).rejects.toMatchObject(early)
    expect(await refusals()).toEqual([])
    await s.defer(delivery)
    await s.answer('b')
    expect(await s.state()).toBe('completed')
  })

  it('one with the id of another instance is refused as a mismatch', async () => {
    const other = await s.start(TWO)
    await s.dispatch()
    await s.start(TWO)
    await s.dispatch()
    const before = await standing()
    const wrong = { instanceId: other }
    await expect(s.answer('a', 1, wrong)).rejects.toMatchObject({
      code: 'mismatch',
      details: { instance_id: s.id, id: s.idOf('a') },
    })
    expect(await standing()).toEqual(before)
    expect(await refusals()).toEqual([['a', 'mismatch', 'succeeded']])
    await s.answer('a', 1, { instanceId: s.id })
    expect(await s.play()).toEqual(['b'])
  })

  it('one for an unknown step is refused', async () => {
    await s.start(TWO)
    for (const runId of [newId(), 'no id', '']) {
      const completion = { runId, instanceId: s.id, outcome: { kind: 'succeeded' as const, result: null } }
      await expect(s.d.engine.complete(completion)).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(await refusals()).toEqual([])
  })

  it.each([
    ['a result too large', 'x'.repeat(2 * 1024 * 1024), 'payload_too_large'],
    ['a result that no database holds', 'nul \0', 'unstorable'],
    ['half a character', '\ud800', 'unstorable'],
  ])('%s is refused before it is processed, and the step can still be answered', async (_, result, code) => {
    await s.start(TWO)
    await s.dispatch()
    await expect(s.answer('a', result)).rejects.toMatchObject({ code })
    await expect(s.refuse('a', 'x', result)).rejects.toMatchObject({ code })
    await s.answer('a')
    expect(await s.play()).toEqual(['b'])
  })

  it('log lines of a service are stored with the reply, up to the limit', async () => {
    await s.start(TWO)
    await s.dispatch()
    const line = (message: string) => ({ level: 'info', message })
    await s.answer('a', 1, { notes: [line('one'), line('x'.repeat(70_000)), line('two')] })
    const [recorded] = await s.d.recorded(s.id, 'succeeded')
    expect(recorded?.data).toMatchObject({ notes: [line('one'), line('two')], notes_dropped: 1 })
    await s.dispatch()
    await s.d.engine.complete({
      runId: s.idOf('b'),
      outcome: { kind: 'failed', error: { code: 'x', message: 'no' } },
      notes: [line('why')],
    })
    expect((await s.d.recorded(s.id, 'failed'))[0]?.data).toMatchObject({ notes: [line('why')] })
  })

  it('many at once take few transactions, and a refused one does not delay the others', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => s.d.start({ net: sagaNet([step('a')]) })))
    const deliveries = await s.d.claim()
    for (const delivery of deliveries) await s.defer(delivery)
    let transactions = 0
    const { transact } = s.d.store
    s.d.store.transact = (given) => {
      transactions++
      return transact.call(s.d.store, given) as never
    }
    const outcome = { kind: 'succeeded' as const, result: null }
    const answers = deliveries.flatMap(({ runId }) => [{ runId }, { runId, instanceId: s.id || newId() }])
    const settled = await Promise.allSettled(answers.map((one) => s.d.engine.complete({ ...one, outcome })))
    s.d.store.transact = transact
    expect(settled.map((one) => one.status)).toEqual(answers.map((_, i) => (i % 2 === 0 ? 'fulfilled' : 'rejected')))
    expect(transactions).toBeLessThan(20)
    for (const id of ids) expect(await s.d.state(id)).toBe('completed')
  })

  it('a commit whose answer was lost does not count as its own duplicate', async () => {
    await s.start(TWO)
    await s.dispatch()
    const { transact } = s.d.store
    let lost = 0
    s.d.store.transact = async (given) => {
      const value = await transact.call(s.d.store, given)
      if (lost++ === 0) throw new StoreUnavailableError('commit_unknown', 'the connection was lost while committing')
      return value as never
    }
    await s.answer('a')
    s.d.store.transact = transact
    expect(lost).toBeGreaterThan(1)
    expect(await refusals()).toEqual([])
    expect(await s.play()).toEqual(['b'])
    expect(await s.state()).toBe('completed')
  })
})
