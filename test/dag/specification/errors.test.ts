/** §3: categories of errors, retries, what a failure does, timeouts. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PLACES } from '../../engine/drive.ts'
import { inLine, Stage, undoing } from './stage.ts'

describe.each(PLACES)('§3 errors on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await stage.d.doctor()).toEqual([])
    await stage.close()
  })
  const state = async (id: string) => (await stage.status(id)).state
  /** How often a step is executed when every execution fails in this way, and the delays between. */
  async function executions(step: object, category?: string): Promise<{ waits: number[]; id: string }> {
    const id = await stage.start({ steps: [{ name: 'a', ...step }] })
    const waits = [0]
    for (;;) {
      const { runId } = await stage.take('a')
      await stage.fail('a', category === undefined ? {} : { category })
      if ((await state(id)) !== 'executing') break
      const errors = (await stage.d.store.read.errorsOf({ runIds: [runId], limit: 100 })).get(runId) ?? []
      const last = errors.reduce((a, b) => (a.at > b.at ? a : b))
      waits.push((last.runAt as number) - last.at)
      await stage.d.pass(waits.at(-1) as number)
    }
    return { waits, id }
  }

  describe('§3.1 categories', () => {
    it('transient: retried with backoff; by default 3 times, after 1 s, 2 s and 4 s', async () => {
      expect((await executions({}, 'transient')).waits).toEqual([0, 1000, 2000, 4000])
    })

    it('agent: not retried unless the policy allows it; the category of an error without one', async () => {
      expect((await executions({}, 'agent')).waits).toEqual([0])
      expect((await executions({})).waits).toEqual([0])
      expect((await executions({ retryPolicy: { maxRetries: 1, retryOn: ['agent'] } })).waits).toEqual([0, 1000])
    })

    it('external: retried by default, or not if the policy leaves it out', async () => {
      expect((await executions({}, 'external')).waits).toHaveLength(4)
      expect((await executions({ retryPolicy: { retryOn: ['transient'] } }, 'external')).waits).toHaveLength(1)
    })

    it('timeout: the step is aborted and not retried, and onFailure applies', async () => {
      const id = await stage.start({ steps: [{ name: 'a', timeout: '1m', onFailure: 'skip' }, ...inLine('b')] })
      await stage.begin('a')
      await stage.d.pass(60_000)
      stage.forget('a')
      expect(await stage.running()).toEqual(['b'])
      expect((await stage.steps(id))['a']).toBe('skipped')
      expect(await stage.error(id, 'a')).toMatchObject({ category: 'timeout' })
      expect((await executions({ retryPolicy: { maxRetries: 5 } }, 'timeout')).waits).toEqual([0])
    })

    it('validation: input that does not match its schema never reaches a worker', async () => {
      const inputSchema = { type: 'object', required: ['order'] }
      const id = await stage.start({ steps: [{ name: 'a', inputSchema }] }, { input: { ordre: 7 } })
      expect(await stage.running()).toEqual([])
      expect(await state(id)).toBe('failed')
      expect(await stage.error(id, 'a')).toMatchObject({ category: 'validation', code: 'invalid_input' })
    })

    it('validation: output that does not match its schema is a failure, and is not retried', async () => {
      const id = await stage.start({ steps: [{ name: 'a', outputSchema: { type: 'number' } }, ...following('a', 'b')] })
      await stage.succeed('a', 'seven')
      expect(await stage.running()).toEqual([])
      expect(await state(id)).toBe('failed')
      expect(await stage.error(id, 'a')).toMatchObject({ category: 'validation', code: 'invalid_output' })
      expect((await executions({ retryPolicy: { maxRetries: 5 } }, 'validation')).waits).toEqual([0])
    })

    it('governance: blocks and asks a person; when approved, the step runs again under the same key', async () => {
      const id = await stage.start({ steps: inLine('a', 'b') })
      const { key } = await stage.take('a')
      await stage.fail('a', { category: 'governance', message: 'over the limit' })
      expect(await state(id)).toBe('blocked')
      expect(await stage.running()).toEqual([])
      await stage.answer(id, true)
      expect((await stage.take('a')).key).toBe(key)
      await stage.succeed('a')
      await stage.succeed('b')
      expect(await state(id)).toBe('completed')
    })

    it('governance: when rejected, onFailure applies', async () => {
      const steps = [...inLine('a'), { name: 'b', dependsOn: ['a'], onFailure: 'compensate' }]
      const id = await stage.start({ steps, compensation: undoing('a') })
      await stage.succeed('a')
      await stage.fail('b', { category: 'governance', message: 'over the limit' })
      await stage.answer(id, false)
      await stage.succeed('undo a')
      expect(await stage.conditions(id)).toContain('RolledBack')
      expect((await stage.d.engine.view(id))?.error).toMatchObject({
        category: 'governance',
        message: 'over the limit',
      })
    })
  })

  describe('§3.2 retry policy', () => {
    it('maxRetries: retries after the first execution', async () => {
      expect((await executions({ retryPolicy: { maxRetries: 0 } }, 'transient')).waits).toHaveLength(1)
      expect((await executions({ retryPolicy: { maxRetries: 2 } }, 'transient')).waits).toHaveLength(3)
    })

    it.each([
      ['constant: 5s, 5s, 5s', { backoff: 'constant', initialDelay: '5s' }, [5000, 5000, 5000]],
      ['linear: 5s, 10s, 15s', { backoff: 'linear', initialDelay: '5s' }, [5000, 10_000, 15_000]],
      [
        'exponential: 1s, 2s, 4s, 8s',
        { backoff: 'exponential', initialDelay: '1s', maxRetries: 4 },
        [1000, 2000, 4000, 8000],
      ],
      ['maxDelay: no wait is longer', { initialDelay: '2s', maxDelay: '3s' }, [2000, 3000, 3000]],
      ['a duration as backoff: a constant delay', { backoff: '3s' }, [3000, 3000, 3000]],
    ])('%s', async (_, retryPolicy, waits) => {
      expect((await executions({ retryPolicy }, 'transient')).waits).toEqual([0, ...waits])
    })
  })

  describe('§3.3 onFailure', () => {
    it('abort: the whole workflow stops and is failed; running steps may end, nothing is undone', async () => {
      const steps = [{ name: 'a', onFailure: 'abort' }, { name: 'b' }, ...following('b', 'c')]
      const id = await stage.start({ steps, compensation: undoing('b') })
      await stage.begin('b')
      await stage.fail('a')
      await stage.succeed('b')
      expect(await stage.running()).toEqual([])
      expect(await state(id)).toBe('failed')
      expect(await stage.steps(id)).toEqual({ a: 'failed', b: 'completed', c: 'pending' })
    })

    it('skip: the step is skipped, and the next step runs', async () => {
      const id = await stage.start({ steps: [{ name: 'a', onFailure: 'skip' }, ...following('a', 'b')] })
      await stage.fail('a')
      await stage.succeed('b')
      expect(await state(id)).toBe('completed')
    })

    it('compensate: completed steps are undone', async () => {
      const steps = [...inLine('a'), { name: 'b', dependsOn: ['a'], onFailure: 'compensate' }]
      const id = await stage.start({ steps, compensation: undoing('a', 'b') })
      await stage.succeed('a')
      await stage.fail('b')
      expect(await stage.running()).toEqual(['undo a'])
      await stage.succeed('undo a')
      expect(await stage.running()).toEqual([])
      expect(await stage.conditions(id)).toContain('RolledBack')
    })

    it("a step's own setting overrides failurePolicy, which overrides the default abort", async () => {
      const compensation = undoing('a')
      const failing = async (policy: object, step: object): Promise<string> => {
        const steps = [...inLine('a'), { name: 'b', dependsOn: ['a'], ...step }]
        const id = await stage.start({ ...policy, steps, compensation })
        await stage.succeed('a')
        await stage.fail('b')
        if ((await state(id)) === 'compensating') await stage.succeed('undo a')
        return (await stage.conditions(id)).includes('RolledBack') ? 'rolled back' : state(id)
      }
      expect(await failing({ failurePolicy: 'compensate' }, { onFailure: 'abort' })).toBe('failed')
      expect(await failing({ failurePolicy: 'compensate' }, {})).toBe('rolled back')
      expect(await failing({}, {})).toBe('failed')
    })

    it('failurePolicy retry: the step runs a second time, with its retries; then the workflow is aborted', async () => {
      const spec = { failurePolicy: 'retry', steps: inLine('a', 'b'), compensation: undoing('a') }
      const good = await stage.start(spec)
      await stage.succeed('a')
      const { key } = await stage.take('b')
      await stage.fail('b')
      expect((await stage.take('b')).key).toBe(key)
      await stage.succeed('b')
      expect(await state(good)).toBe('completed')
      const bad = await stage.start(spec)
      await stage.succeed('a')
      await stage.fail('b')
      await stage.fail('b')
      expect(await stage.running()).toEqual([])
      expect(await state(bad)).toBe('failed')
      expect(await stage.conditions(bad)).not.toContain('RolledBack')
    })
  })

  describe('§3.4 timeouts', () => {
    it('a step that exceeds its timeout over all its attempts has failed', async () => {
      const id = await stage.start({ steps: [{ name: 'a', timeout: '10s', retryPolicy: { backoff: '4s' } }] })
      await stage.begin('a')
      await stage.fail('a', { category: 'transient' })
      await stage.d.pass(4000)
      await stage.begin('a')
      await stage.d.pass(6000)
      expect(await state(id)).toBe('failed')
      expect(await stage.error(id, 'a')).toMatchObject({ category: 'timeout' })
    })

    it('a workflow that exceeds its timeout follows failurePolicy, whatever its steps allow', async () => {
      const steps = [...inLine('a'), { name: 'b', dependsOn: ['a'], onFailure: 'skip', timeout: '2h' }]
      const spec = { timeout: '1h', steps, compensation: undoing('a') }
      const aborted = await stage.start(spec)
      await stage.succeed('a')
      await stage.d.pass(3_600_000)
      expect(await state(aborted)).toBe('failed')
      expect(await stage.conditions(aborted)).toContain('TimedOut')
      const undone = await stage.start({ ...spec, failurePolicy: 'compensate' })
      await stage.succeed('a')
      await stage.d.pass(3_600_000)
      expect(await stage.running()).toEqual(['undo a'])
      expect(await state(undone)).toBe('compensating')
    })

    it('a step that ends after the timeout of its workflow is too late, even if no process has checked the clock yet', async () => {
      const id = await stage.start({ timeout: '1h', steps: inLine('a', 'b') })
      await stage.take('a')
      await stage.d.store.moveClock(3_600_000)
      await stage.succeed('a')
      expect(await stage.running()).toEqual([])
      expect(await stage.conditions(id)).toContain('TimedOut')
    })

    it('time spent blocked counts', async () => {
      const id = await stage.start({ timeout: '1h', steps: [{ name: 'sign', approval: true }] })
      await stage.d.pass(3_599_000)
      expect(await state(id)).toBe('blocked')
      await stage.d.pass(1000)
      expect(await state(id)).toBe('failed')
      await expect(stage.gate(id)).rejects.toThrow('no gate is open')
    })

    it('time spent waiting for a slot counts', async () => {
      const spec = { timeout: '1h', maxConcurrent: 1, steps: inLine('a') }
      const first = await stage.start({ ...spec, timeout: '5h' })
      const second = await stage.start(spec)
      await stage.d.pass(3_600_000)
      expect([await state(first), await state(second)]).toEqual(['executing', 'failed'])
    })

    it('the undo is not interrupted by the timeout of the workflow', async () => {
      const spec = { timeout: '1h', failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation: undoing('a') }
      const id = await stage.start(spec)
      await stage.succeed('a')
      await stage.fail('b')
      await stage.d.pass(86_400_000)
      expect(await state(id)).toBe('compensating')
      await stage.succeed('undo a')
      expect(await stage.conditions(id)).toContain('RolledBack')
    })
  })
})

function following(before: string, name: string): { name: string; dependsOn: string[] }[] {
  return [{ name, dependsOn: [before] }]
}
