/** Sagas cancelled by an operator, and sagas with nothing to undo. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { operator } from '../../../src/operations/caller.ts'
import { cancelInstance } from '../../../src/operations/instances/change.ts'
import { Operations } from '../../../src/operations/operation.ts'
import { PLACES } from '../drive.ts'
import { DEADLINE, Stage, sagaNet, step } from './stage.ts'

const CHAIN = sagaNet([step('a', ['b']), step('b', ['c']), step('c')])

describe.each(PLACES)('cancelling on $name', (place) => {
  let s: Stage
  beforeEach(async () => {
    s = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  const rollBack = (id = s.id) => s.d.engine.cancelInstance({ id, actor: 'ada', undo: true })

  it('waits for steps in flight, undoes them if they succeeded, dispatches nothing further', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    expect((await rollBack()).state).toBe('compensating')
    expect(await s.dispatch()).toEqual([])
    expect(await s.due()).toEqual(['b'])
    await s.answer('b', { n: 2 })
    expect(await s.play()).toEqual(['undo b', 'undo a'])
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['cancelled', undefined])
    expect(s.ids.has('c')).toBe(false)
    const [asked] = (await s.d.store.read.instanceEvents({ instanceId: s.id, afterSeq: 0, limit: 100 })).filter(
      (event) => event.type === 'instance.cancel_requested',
    )
    expect(JSON.parse(asked?.data ?? '{}')).toMatchObject({ actor: 'ada', undo: true })
  })

  it('is the default mode for every saga', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    const operations = new Operations({ engine: s.d.engine, logger: null })
    const row = await operations.perform(operator('schedule nightly'), cancelInstance, { id: s.id })
    expect(row.state).toBe('compensating')
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
  })

  it('does not undo a step in flight that fails', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await rollBack()
    await s.refuse('b')
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['cancelled', undefined])
  })

  it('undoes it if the step is one that is undone when silent', async () => {
    await s.start(sagaNet([step('a', [], { unknown: 'undo' })]))
    await s.dispatch()
    await rollBack()
    await s.d.pass(DEADLINE + 1)
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
  })

  it('never sends a step that no process has taken', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    await rollBack()
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.steps()).toEqual(['0 a completed', '1 b failed', '-1 a completed'])
  })

  it('ends at once, as compensated, where no step needs an undo', async () => {
    await s.start(sagaNet([step('a', ['b'], { undo: false }), step('b', [], { undo: false })]))
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await rollBack()
    expect(await s.state()).toBe('compensating')
    await s.answer('b')
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['cancelled', undefined])

    await s.start(CHAIN)
    await rollBack()
    expect(await s.state()).toBe('compensated')
  })

  it('a failure with nothing to undo ends as compensated at once, and its error is kept', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.refuse('a', 'no_money', 'the account is empty')
    expect(await s.state()).toBe('compensated')
    expect(await s.errors()).toEqual(['no_money', undefined])
    expect(await s.d.store.read.sagas.get(s.id)).toMatchObject({ state: 'compensated', error: 'the account is empty' })
    expect(await s.dispatch()).toEqual([])
  })

  it('a saga that never began is simply cancelled', async () => {
    const id = await s.d.start({ net: CHAIN, start: false })
    expect((await rollBack(id)).state).toBe('cancelled')
  })

  it('a saga that is being undone, is stopping or has ended cannot be cancelled any more', async () => {
    await s.start(CHAIN)
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await rollBack()
    await expect(rollBack()).rejects.toMatchObject({ code: 'conflict', details: { state: 'compensating' } })
    await s.answer('b')
    await s.dispatch()
    await expect(rollBack()).rejects.toMatchObject({ code: 'conflict', details: { state: 'compensating' } })
    await s.answer('undo b')
    await s.play()
    await expect(rollBack()).rejects.toMatchObject({ code: 'conflict', details: { state: 'compensated' } })

    await s.start(sagaNet([step('a'), step('b')], { entry: ['a', 'b'], onFailure: 'abort' }))
    await s.dispatch()
    await s.refuse('a')
    await expect(rollBack()).rejects.toMatchObject({ code: 'conflict', details: { state: 'running' } })
    await s.answer('b')
    expect(await s.state()).toBe('failed')
  })
})
