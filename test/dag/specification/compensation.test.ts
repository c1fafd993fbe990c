/** §4: what is undone, in which order, and what happens when an undo fails. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLACES } from '../../engine/drive.ts'
import { inLine, Stage, undoing } from './stage.ts'

describe.each(PLACES)('§4 compensation on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await stage.d.doctor()).toEqual([])
    await stage.close()
  })

  /** Lets every undo succeed; returns their order, and checks that two never run at once. */
  async function undone(): Promise<string[]> {
    const order: string[] = []
    for (let at = await stage.running(); at.length > 0; at = await stage.running()) {
      expect(at).toHaveLength(1)
      order.push(at[0] as string)
      await stage.succeed(at[0] as string)
    }
    return order
  }

  it('§4.1 reverse order: A → B → C → D (fails), undo C → undo B → undo A', async () => {
    const spec = {
      failurePolicy: 'compensate',
      steps: inLine('A', 'B', 'C', 'D'),
      compensation: undoing('A', 'B', 'C', 'D'),
    }
    const id = await stage.start(spec)
    for (const step of ['A', 'B', 'C']) await stage.succeed(step)
    await stage.fail('D')
    expect(await undone()).toEqual(['undo C', 'undo B', 'undo A'])
    expect(await stage.status(id)).toMatchObject({ state: 'completed', failedSteps: ['D'] })
  })

  it('§4.2 rule 1, only completed steps: not the failed step, a skipped step, or one that never ran', async () => {
    const steps = [
      { name: 'done' },
      { name: 'skipped', onFailure: 'skip' },
      { name: 'failing', dependsOn: ['done', 'skipped'] },
      { name: 'never', dependsOn: ['failing'] },
    ]
    const compensation = undoing('done', 'skipped', 'failing', 'never')
    await stage.start({ failurePolicy: 'compensate', steps, compensation })
    await stage.succeed('done')
    await stage.fail('skipped')
    await stage.fail('failing')
    expect(await undone()).toEqual(['undo done'])
  })

  it('§4.2 rule 1, steps that run while another fails end first, and are undone if they completed', async () => {
    const steps = ['a', 'b', 'c'].map((name) => ({ name }))
    await stage.start({ failurePolicy: 'compensate', steps, compensation: undoing('a', 'b', 'c') })
    await stage.begin('a')
    await stage.begin('b')
    await stage.fail('c')
    expect(await stage.running()).toEqual(['a', 'b'])
    await stage.succeed('b')
    await stage.succeed('a')
    expect(await undone()).toEqual(['undo a', 'undo b'])
  })

  it('§4.2 rule 2, the last completed first: by the order of completion, not of the file', async () => {
    const steps = [...['a', 'b', 'c'].map((name) => ({ name })), { name: 'd', dependsOn: ['a', 'b', 'c'] }]
    await stage.start({ failurePolicy: 'compensate', steps, compensation: undoing('a', 'b', 'c') })
    for (const step of ['b', 'c', 'a']) await stage.succeed(step)
    await stage.fail('d')
    expect(await undone()).toEqual(['undo a', 'undo c', 'undo b'])
  })

  it('§4.2 rule 3, safe to run again: a compensation has the same key in all executions, different from that of its step', async () => {
    await stage.start({ failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation: undoing('a') })
    const forward = (await stage.take('a')).key
    await stage.succeed('a')
    await stage.fail('b')
    const { key } = await stage.take('undo a')
    await stage.fail('undo a', { category: 'transient' })
    await stage.d.pass(1000)
    expect((await stage.take('undo a')).key).toBe(key)
    expect(key).not.toBe(forward)
  })

  it('§4.2 rule 4, a compensation that fails ends it as partly rolled back; both errors and the undone steps are kept', async () => {
    const spec = {
      failurePolicy: 'compensate',
      steps: inLine('a', 'b', 'c', 'd'),
      compensation: undoing('a', 'b', 'c'),
    }
    const id = await stage.start(spec)
    for (const step of ['a', 'b', 'c']) await stage.succeed(step)
    await stage.fail('d')
    await stage.succeed('undo c')
    await stage.fail('undo b')
    expect(await stage.running()).toEqual([])
    expect((await stage.status(id)).state).toBe('failed')
    const view = await stage.d.engine.view(id)
    expect([view?.error?.message, view?.undoError?.message]).toEqual(['d broke', 'undo b broke'])
    expect(await stage.undos(id)).toEqual({ c: 'succeeded', b: 'failed' })
    expect((await stage.status(id)).conditions.find((c) => c.type === 'PartiallyRolledBack')?.message).toMatch(/\bc\b/)
  })

  it('§4.2 rule 5, read-only steps need no compensation and are skipped', async () => {
    const steps = [
      { name: 'look', readOnly: true },
      ...inLine('a', 'b').map((s, i) => (i === 0 ? { ...s, dependsOn: ['look'] } : s)),
    ]
    const id = await stage.start({ failurePolicy: 'compensate', steps, compensation: undoing('a') })
    await stage.succeed('look')
    await stage.succeed('a')
    await stage.fail('b')
    expect(await undone()).toEqual(['undo a'])
    expect(await stage.conditions(id)).toContain('RolledBack')
  })

  it('without a step to undo it ends at once', async () => {
    const id = await stage.start({ failurePolicy: 'compensate', steps: inLine('a') })
    await stage.fail('a')
    expect((await stage.status(id)).state).toBe('completed')
    expect(await stage.conditions(id)).toContain('RolledBack')
  })

  it('a compensation receives the input and the result of its step', async () => {
    const spec = { failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation: undoing('a') }
    await stage.start(spec, { input: { user: 7 } })
    const given = JSON.parse((await stage.take('a')).payload)
    await stage.succeed('a', { account: 1 })
    await stage.fail('b')
    expect(JSON.parse((await stage.take('undo a')).payload)).toMatchObject({
      input: { user: 7 },
      step: { name: 'a', input: given, result: { account: 1 } },
    })
  })

  it('a compensation that exceeds its timeout has failed', async () => {
    const compensation = [{ step: 'a', uses: 'a.undo', timeout: '1m' }]
    const id = await stage.start({ failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation })
    await stage.succeed('a')
    await stage.fail('b')
    await stage.begin('undo a')
    await stage.d.pass(60_000)
    expect((await stage.status(id)).state).toBe('failed')
  })
})
