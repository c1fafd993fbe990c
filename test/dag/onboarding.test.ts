/** The specification's own example on both stores, each of its steps failing in turn. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { root } from '../cli/petrel.ts'
import { Drive, PLACES } from '../engine/drive.ts'

const FILE = 'examples/onboarding.workflow.yaml'
const STEPS = ['create-account', 'provision-workspace', 'setup-analytics', 'send-welcome']
const INPUT = { plan: 'pro' }
const ROLLED_BACK = { state: 'compensated', outcome: 'rolled_back' }
const COMPLETED = { state: 'completed', outcome: 'success' }
const CASES = [
  { failing: null, ...COMPLETED, undone: [] },
  { failing: 'create-account', ...ROLLED_BACK, undone: [] },
  { failing: 'provision-workspace', ...ROLLED_BACK, undone: ['create-account'] },
  { failing: 'setup-analytics', ...ROLLED_BACK, undone: ['provision-workspace', 'create-account'] },
  { failing: 'send-welcome', ...COMPLETED, undone: [] },
]

describe.each(PLACES)('onboarding on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(() => d.close())

  /** Executes it; the named steps fail for good. Returns what ran, in order, with the arguments. */
  async function play(...failing: readonly (string | null)[]) {
    const { start } = await readDefinition(FILE, readFileSync(join(root, FILE), 'utf8'))
    const id = await d.start({ ...start, input: INPUT })
    const ran: string[] = []
    const given = new Map<string, any>()
    for (let [next] = await d.claim(1); next !== undefined; [next] = await d.claim(1)) {
      const name = `${next.role === 'undo' ? 'undo ' : ''}${next.node}`
      ran.push(name)
      given.set(name, JSON.parse(next.payload))
      if (failing.includes(name)) await d.fail(next, { category: 'agent', message: `${name} broke` })
      else await d.succeed(next, { by: name })
    }
    return { id, ran, given, view: await d.engine.view(id) }
  }

  it('with each of its steps failing in turn, exactly the completed steps are undone, newest first', async () => {
    for (const { failing, state, outcome, undone } of CASES) {
      const { ran, view } = await play(failing)
      const last = failing === null ? STEPS.length : STEPS.indexOf(failing) + 1
      expect(ran).toEqual([...STEPS.slice(0, last), ...undone.map((step) => `undo ${step}`)])
      expect(view?.instance).toMatchObject({ state, outcome })
      expect(view?.error?.code ?? null).toBe(state === 'completed' ? null : 'boom')
    }
  })

  it('an undo that fails ends it as partly rolled back, with both errors, and nothing more is undone', async () => {
    const { ran, view } = await play('setup-analytics', 'undo provision-workspace')
    expect(ran).toEqual([...STEPS.slice(0, 3), 'undo provision-workspace'])
    expect(view?.instance).toMatchObject({ state: 'failed', outcome: 'rolled_back_partial' })
    expect([view?.error?.message, view?.undoError?.message]).toEqual([
      'setup-analytics broke',
      'undo provision-workspace broke',
    ])
  })

  it('retried after a rollback, it repeats the undone steps', async () => {
    const { id } = await play('setup-analytics')
    const again = await d.engine.retryInstance({ id, actor: 'ann' })
    expect(await d.work()).toEqual(STEPS)
    expect(await d.state(again.id)).toBe('completed')
  })

  it('retried after a partial rollback, it repeats the undone steps and keeps the others', async () => {
    const { id } = await play('setup-analytics', 'undo provision-workspace')
    await d.engine.retryInstance({ id, actor: 'ann' })
    expect(await d.work()).toEqual(STEPS.slice(1))
  })

  it('each step receives the input and earlier results; an undo also what its step received and returned', async () => {
    const { given } = await play('setup-analytics')
    const step = {
      agent: 'product-analyst',
      action: 'Allocate a workspace',
      input: INPUT,
      results: { 'create-account': { by: 'create-account' } },
    }
    expect(given.get('provision-workspace')).toEqual(step)
    expect(given.get('undo provision-workspace')).toEqual({
      agent: 'product-analyst',
      action: 'Delete workspace and release resources',
      input: INPUT,
      step: { name: 'provision-workspace', input: step, result: { by: 'provision-workspace' } },
    })
  })
})
