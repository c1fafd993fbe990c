/** §1 and §2: the states of a workflow and of its steps, and how each is entered and left. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLACES } from '../../engine/drive.ts'
import { inLine, Stage, undoing } from './stage.ts'

const GATED = {
  steps: [{ name: 'sign', approval: true }, ...inLine('send').map((s) => ({ ...s, dependsOn: ['sign'] }))],
}

describe.each(PLACES)('§1 states of a workflow on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await stage.d.doctor()).toEqual([])
    await stage.close()
  })
  const state = async (id: string) => (await stage.status(id)).state

  it('idle: created and not triggered; nothing runs and no timeout passes', async () => {
    const id = await stage.start({ timeout: '1m', steps: inLine('a') }, { start: false })
    await stage.d.pass(3_600_000)
    expect(await stage.running()).toEqual([])
    expect(await stage.status(id)).toMatchObject({ state: 'idle', startedAt: null, completedSteps: [] })
  })

  it('idle → queued → executing: started by hand', async () => {
    const id = await stage.start({ steps: inLine('a') }, { start: false })
    await stage.d.engine.startInstance({ id, actor: 'ann' })
    expect(await stage.running()).toEqual(['a'])
    expect(await state(id)).toBe('executing')
    expect(await stage.path(id)).toEqual(['idle', 'queued', 'executing'])
  })

  it('queued: waits for an execution slot; queued → executing when one is free', async () => {
    const first = await stage.start({ maxConcurrent: 1, steps: inLine('a') })
    const second = await stage.start({ maxConcurrent: 1, steps: inLine('a') })
    expect([await state(first), await state(second)]).toEqual(['executing', 'queued'])
    await stage.succeed('a')
    expect(await state(first)).toBe('completed')
    await stage.reaches(second, 'executing')
    expect(await stage.path(second)).toEqual(['idle', 'queued', 'executing'])
  })

  it('executing: steps are being processed', async () => {
    const id = await stage.start({ steps: inLine('a', 'b') })
    await stage.succeed('a')
    expect(await stage.running()).toEqual(['b'])
    expect(await stage.status(id)).toMatchObject({ state: 'executing', currentStep: 'b', completedSteps: ['a'] })
  })

  it('executing → blocked: a step needs a person, and nothing else can run', async () => {
    const id = await stage.start({ steps: [{ name: 'sign', approval: true }, { name: 'other' }] })
    expect(await state(id)).toBe('executing')
    await stage.succeed('other')
    expect(await state(id)).toBe('blocked')
  })

  it('blocked → executing: the person has answered', async () => {
    const id = await stage.start(GATED)
    expect(await state(id)).toBe('blocked')
    await stage.answer(id, true)
    expect(await state(id)).toBe('executing')
    expect(await stage.running()).toEqual(['send'])
  })

  it('blocked → failed: no answer came before the deadline', async () => {
    const id = await stage.start({ steps: [{ name: 'sign', approval: { deadline: '1h' } }] })
    await stage.d.pass(3_600_000)
    expect(await state(id)).toBe('failed')
    expect((await stage.path(id)).slice(-2)).toEqual(['blocked', 'failed'])
  })

  it('blocked → executing → compensating: rejected, and completed steps are undone', async () => {
    const steps = [...inLine('a'), { name: 'sign', approval: true, dependsOn: ['a'], onFailure: 'compensate' }]
    const id = await stage.start({ steps, compensation: undoing('a') })
    await stage.succeed('a')
    await stage.answer(id, false)
    expect(await state(id)).toBe('compensating')
    expect((await stage.path(id)).slice(-3)).toEqual(['blocked', 'executing', 'compensating'])
  })

  it('executing → completed: all steps have finished', async () => {
    const id = await stage.start({ steps: inLine('a', 'b') })
    await stage.succeed('a')
    await stage.succeed('b')
    expect(await stage.status(id)).toMatchObject({ state: 'completed', completedSteps: ['a', 'b'], failedSteps: [] })
    expect((await stage.status(id)).completedAt).not.toBeNull()
    expect(await stage.path(id)).toEqual(['idle', 'queued', 'executing', 'completed'])
  })

  it('executing → failed: a step failed and the policy is not to compensate', async () => {
    const id = await stage.start({ steps: inLine('a', 'b'), compensation: undoing('a') })
    await stage.succeed('a')
    await stage.fail('b')
    expect(await stage.running()).toEqual([])
    expect(await stage.status(id)).toMatchObject({ state: 'failed', completedSteps: ['a'], failedSteps: ['b'] })
    expect(await stage.path(id)).toEqual(['idle', 'queued', 'executing', 'failed'])
  })

  it('executing → compensating → completed: a step failed and the policy is to compensate', async () => {
    const id = await stage.start({ failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation: undoing('a') })
    await stage.succeed('a')
    await stage.fail('b')
    expect(await state(id)).toBe('compensating')
    await stage.succeed('undo a')
    expect(await state(id)).toBe('completed')
    expect(await stage.conditions(id)).toContain('RolledBack')
    expect(await stage.path(id)).toEqual(['idle', 'queued', 'executing', 'compensating', 'completed'])
  })

  it('compensating → failed: the compensation itself failed', async () => {
    const id = await stage.start({ failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation: undoing('a') })
    await stage.succeed('a')
    await stage.fail('b')
    await stage.fail('undo a')
    expect(await state(id)).toBe('failed')
    expect(await stage.conditions(id)).not.toContain('RolledBack')
    expect(await stage.path(id)).toEqual(['idle', 'queued', 'executing', 'compensating', 'failed'])
  })

  it('cancelled is failed with a condition, also while queued or idle', async () => {
    const running = await stage.start({ maxConcurrent: 1, steps: inLine('a') })
    const queued = await stage.start({ maxConcurrent: 1, steps: inLine('a') })
    const idle = await stage.start({ steps: inLine('a') }, { start: false })
    for (const id of [idle, queued, running]) {
      await stage.d.engine.cancelInstance({ id, actor: 'ann' })
      expect(await state(id)).toBe('failed')
      expect(await stage.conditions(id)).toContain('Cancelled')
    }
  })
})

describe.each(PLACES)('§1 transitions that must not occur, on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  /** Every operation that might move an instance; and the answer of each. */
  async function tryAll(id: string): Promise<Record<string, string>> {
    const { engine } = stage.d
    const actor = 'ann'
    const tries = {
      start: () => engine.startInstance({ id, actor }),
      cancel: () => engine.cancelInstance({ id, actor }),
      patch: () => engine.patchContext({ instanceId: id, set: { x: 1 }, actor }),
      resume: () => engine.resumeInstance({ id, actor }),
    }
    const answers: Record<string, string> = {}
    for (const [name, attempt] of Object.entries(tries)) {
      answers[name] = await attempt().then(
        () => 'done',
        (error: { code?: string }) => error.code ?? String(error),
      )
    }
    // the clock, the sweeper
    await stage.d.pass(7 * 86_400_000)
    return answers
  }

  it('idle → executing: only through queued, whatever operation is tried', async () => {
    const id = await stage.start({ steps: inLine('a'), timeout: '1h' }, { start: false })
    const { engine } = stage.d
    await expect(engine.resumeInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    await expect(engine.retryInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    await engine.patchContext({ instanceId: id, set: { x: 1 }, actor: null })
    await stage.d.pass(7 * 86_400_000)
    expect(await stage.running()).toEqual([])
    expect(await stage.path(id)).toEqual(['idle'])
  })

  it('completed → any: no operation changes it, not even a late report', async () => {
    const id = await stage.start({ steps: [{ name: 'a', timeout: '1m', onFailure: 'skip' }], timeout: '1h' })
    const late = await stage.take('a')
    await stage.begin('a')
    await stage.d.pass(60_000)
    expect((await stage.status(id)).state).toBe('completed')
    const before = await stage.status(id)
    expect((await stage.d.succeed(late)).status).toBe('stale')
    expect(await tryAll(id)).toEqual({ start: 'conflict', cancel: 'conflict', patch: 'conflict', resume: 'conflict' })
    await expect(stage.d.engine.retryInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    expect(await stage.status(id)).toEqual(before)
  })

  it('failed → executing: a retry is a new workflow, the old one stays failed', async () => {
    const id = await stage.start({ steps: inLine('a', 'b') })
    await stage.succeed('a', 'kept')
    await stage.fail('b')
    const before = await stage.status(id)
    expect(await tryAll(id)).toEqual({ start: 'conflict', cancel: 'conflict', patch: 'conflict', resume: 'conflict' })
    const again = await stage.d.engine.retryInstance({ id, actor: null })
    expect(again.id).not.toBe(id)
    expect(await stage.running()).toEqual(['b'])
    await stage.succeed('b')
    expect((await stage.status(again.id)).state).toBe('completed')
    expect(await stage.status(id)).toEqual(before)
  })

  it('compensating → executing: a late success is undone too, nothing continues', async () => {
    const steps = [{ name: 'a', timeout: '1m' }, { name: 'b' }, { name: 'c', dependsOn: ['a', 'b'] }]
    const id = await stage.start({ failurePolicy: 'compensate', steps, compensation: undoing('a', 'b') })
    const late = await stage.take('a')
    await stage.begin('a')
    await stage.succeed('b')
    await stage.d.pass(60_000)
    expect((await stage.status(id)).state).toBe('compensating')
    await stage.d.succeed(late)
    expect(await tryAll(id)).toMatchObject({ start: 'conflict', cancel: 'conflict', resume: 'conflict' })
    await stage.succeed('undo b')
    await stage.succeed('undo a')
    expect(await stage.running()).not.toContain('c')
    expect((await stage.path(id)).slice(-2)).toEqual(['compensating', 'completed'])
  })

  it('completed by rollback → any: no operation changes it either', async () => {
    const id = await stage.start({ failurePolicy: 'compensate', steps: inLine('a') })
    await stage.fail('a')
    const before = await stage.status(id)
    expect(before.state).toBe('completed')
    expect(await tryAll(id)).toEqual({ start: 'conflict', cancel: 'conflict', patch: 'conflict', resume: 'conflict' })
    expect(await stage.status(id)).toEqual(before)
  })
})

describe.each(PLACES)('§2 states of a step on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('pending: its dependencies are not met; running: it executes; completed: it finished', async () => {
    const id = await stage.start({ steps: inLine('a', 'b', 'c') })
    await stage.succeed('a')
    await stage.begin('b')
    expect(await stage.steps(id)).toEqual({ a: 'completed', b: 'running', c: 'pending' })
  })

  it('failed: its execution failed; its dependents stay pending', async () => {
    const id = await stage.start({ steps: inLine('a', 'b') })
    await stage.fail('a')
    expect(await stage.steps(id)).toEqual({ a: 'failed', b: 'pending' })
  })

  it('skipped: it failed and onFailure is skip; its dependents continue', async () => {
    const id = await stage.start({
      steps: [
        { name: 'a', onFailure: 'skip' },
        { name: 'b', dependsOn: ['a'] },
      ],
    })
    await stage.fail('a')
    await stage.succeed('b')
    expect(await stage.steps(id)).toEqual({ a: 'skipped', b: 'completed' })
  })

  it('a step that will be retried has not failed yet', async () => {
    const id = await stage.start({ steps: inLine('a') })
    await stage.fail('a', { category: 'transient' })
    expect((await stage.steps(id))['a']).not.toBe('failed')
    expect((await stage.status(id)).retries).toBe(1)
  })
})
