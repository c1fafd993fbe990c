/** Telemetry: names, mandatory payloads, and one correlationId for everything in one execution. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StartParams } from '../../src/model/start.ts'
import type { TelemetryEvent } from '../../src/notations/dag/project/telemetry.ts'
import { loadTelemetry } from '../../src/notations/dag/project/telemetry-load.ts'
import { PLACES } from '../engine/drive.ts'
import { inLine, type Spec, Stage, undoing } from './specification/stage.ts'

/** The mandatory fields of each event. */
const MANDATORY: { readonly [name: string]: readonly string[] } = {
  workflow_started: ['workflowName', 'trigger', 'domainsInvolved'],
  workflow_step_completed: ['workflowName', 'stepName', 'agent', 'durationMs', 'correlationId'],
  workflow_step_failed: ['workflowName', 'stepName', 'error', 'onFailure'],
  workflow_completed: ['workflowName', 'totalDurationMs', 'stepsCompleted', 'costAccumulated'],
  workflow_failed: ['workflowName', 'failedStep', 'failurePolicy'],
  workflow_compensating: ['workflowName', 'failedStep', 'compensationSteps'],
}

/** Of a workflow that began without waiting. */
const BEGUN = ['idle', 'queued', 'started']

describe.each(PLACES)('telemetry on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  async function events(id: string): Promise<readonly TelemetryEvent[]> {
    const stored = await stage.d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })
    const reported = await loadTelemetry(stage.d.engine, stored)
    for (const { type, payload, correlationId } of reported) {
      for (const field of MANDATORY[type.split('.').at(-1) as string] ?? []) expect(payload).toHaveProperty(field)
      expect(payload['correlationId']).toBe(correlationId)
    }
    return reported
  }

  const names = async (id: string) => (await events(id)).map(({ type }) => type.replace(/^example\.workflow_/, ''))
  const payload = async (id: string, name: string) =>
    (await events(id)).find(({ type }) => type.endsWith(`.workflow_${name}`))?.payload
  const start = (spec: Spec, params: Partial<StartParams> = {}) => stage.start(spec, params)

  it('of a workflow that completes: its start, each step, its end with duration and cost', async () => {
    const steps = [
      { name: 'a', agent: 'writer' },
      { name: 'b', uses: 'mail.send', dependsOn: ['a'] },
    ]
    const id = await start({ description: 'x', domainsInvolved: ['growth', 'data'], steps })
    await stage.succeed('a', { usage: { tokens: 120, cost: 0.5, currency: 'USD' } })
    await stage.succeed('b', { usage: { tokens: 30, cost: 0.25, currency: 'USD' } })
    const reported = await events(id)
    expect(reported.map(({ type }) => type)).toEqual([
      'growth.workflow_idle',
      'growth.workflow_queued',
      'growth.workflow_started',
      'growth.workflow_step_queued',
      'growth.workflow_step_started',
      'growth.workflow_step_completed',
      'growth.workflow_step_queued',
      'growth.workflow_step_started',
      'growth.workflow_step_completed',
      'growth.workflow_completed',
    ])
    expect(reported[2]?.payload).toMatchObject({
      workflowName: 'example',
      trigger: { kind: 'manual' },
      domainsInvolved: ['growth', 'data'],
    })
    expect(reported[5]?.payload).toMatchObject({ stepName: 'a', agent: 'writer' })
    expect(reported[8]?.payload).toMatchObject({ stepName: 'b', agent: 'mail.send' })
    expect(reported[9]?.payload).toMatchObject({
      stepsCompleted: 2,
      costAccumulated: { tokens: 150, cost: 0.75, currency: 'USD' },
      rolledBack: false,
    })
    for (const { correlationId } of reported) expect(correlationId).toBe(id)
  })

  it('of every change of state, once and in order: idle, queued, started, blocked, and each step from the queue to its end', async () => {
    await start({ maxConcurrent: 1, steps: inLine('z') })
    const steps = [{ name: 'a' }, { name: 'ok', approval: true, dependsOn: ['a'] }, { name: 'b', dependsOn: ['ok'] }]
    const id = await start({ maxConcurrent: 1, steps }, { start: false })
    const seen = async () =>
      (await events(id)).map(({ type, payload }) => {
        const name = type.replace(/^example\.workflow_/, '')
        return payload['stepName'] === undefined ? name : `${name} ${payload['stepName']}`
      })
    expect(await seen()).toEqual(['idle'])
    await stage.d.engine.startInstance({ id, actor: 'ann' })
    expect(await seen()).toEqual(['idle', 'queued'])
    await stage.succeed('z')
    await stage.reaches(id, 'executing')
    await stage.fail('a', { category: 'transient' })
    await stage.d.pass(2_000)
    await stage.succeed('a')
    await stage.answer(id, true)
    await stage.succeed('b')
    expect(await seen()).toEqual([
      'idle',
      'queued',
      'started',
      'step_queued a',
      'step_started a',
      'step_retried a',
      'step_started a',
      'step_completed a',
      'step_started ok',
      'step_blocked ok',
      'blocked',
      'step_completed ok',
      'resumed',
      'step_queued b',
      'step_started b',
      'step_completed b',
      'completed',
    ])
    const reported = await events(id)
    expect(new Set(reported.map((event) => event.id)).size).toBe(reported.length)
  })

  it('of one that fails: which step, why, and the effect of the failure', async () => {
    const id = await start({ steps: inLine('a', 'b') })
    await stage.fail('a', { message: 'no such table' })
    expect(await names(id)).toEqual([...BEGUN, 'step_queued', 'step_started', 'step_failed', 'failed'])
    expect(await payload(id, 'step_failed')).toMatchObject({
      stepName: 'a',
      error: { message: 'no such table' },
      onFailure: 'abort',
    })
    expect(await payload(id, 'failed')).toMatchObject({ failedStep: 'a', failurePolicy: 'abort', cancelled: false })
  })

  it('of retries and skipped steps', async () => {
    const id = await start({
      steps: [
        { name: 'a', onFailure: 'skip' },
        { name: 'b', dependsOn: ['a'] },
      ],
    })
    await stage.fail('a', { category: 'transient' })
    await stage.d.pass(2_000)
    await stage.fail('a')
    await stage.succeed('b')
    expect(await names(id)).toEqual([
      ...BEGUN,
      'step_queued',
      'step_started',
      'step_retried',
      'step_started',
      'step_failed',
      'step_skipped',
      'step_queued',
      'step_started',
      'step_completed',
      'completed',
    ])
    expect(await payload(id, 'step_failed')).toMatchObject({ onFailure: 'skip' })
  })

  it('of a rollback: the steps to undo, the last first, each undo, and the end of the rollback', async () => {
    const compensation = undoing('a', 'b')
    const id = await start({ failurePolicy: 'compensate', steps: inLine('a', 'b', 'c'), compensation })
    await stage.succeed('a')
    await stage.succeed('b')
    await stage.fail('c')
    await stage.succeed('undo b')
    await stage.succeed('undo a')
    expect((await names(id)).slice(-6)).toEqual([
      'step_started',
      'step_failed',
      'compensating',
      'step_compensated',
      'step_compensated',
      'completed',
    ])
    expect(await payload(id, 'compensating')).toMatchObject({ failedStep: 'c', compensationSteps: ['b', 'a'] })
    expect(await payload(id, 'completed')).toMatchObject({ rolledBack: true })
  })

  it('of a rollback of steps recorded by one transaction: the last reported first', async () => {
    const steps = ['a', 'b', 'c', 'd', 'breaks'].map((name) => ({ name }))
    const compensation = undoing('a', 'b', 'c', 'd')
    const id = await start({ failurePolicy: 'compensate', steps, compensation })
    await stage.running()
    await Promise.all(['c', 'a', 'd', 'b'].map((step) => stage.succeed(step)))
    const runs = (await stage.d.engine.view(id))?.runs ?? []
    expect(new Set(runs.map(({ finishedAt }) => finishedAt).filter((at) => at !== null)).size).toBe(1)
    await stage.fail('breaks')
    expect(await payload(id, 'compensating')).toMatchObject({ compensationSteps: ['b', 'd', 'a', 'c'] })
  })

  it('of a rollback that fails', async () => {
    const id = await start({ failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation: undoing('a') })
    await stage.succeed('a')
    await stage.fail('b')
    await stage.fail('undo a')
    expect((await names(id)).slice(-2)).toEqual(['step_compensation_failed', 'failed'])
    expect(await payload(id, 'failed')).toMatchObject({ failedStep: 'b', partiallyRolledBack: true })
  })

  it('of gates: blocked, and completed by the person who decided', async () => {
    const id = await start({
      steps: [
        { name: 'ok', approval: true },
        { name: 'b', dependsOn: ['ok'] },
      ],
    })
    await stage.answer(id, true)
    await stage.succeed('b')
    expect(await names(id)).toEqual([
      ...BEGUN,
      'step_started',
      'step_blocked',
      'blocked',
      'step_completed',
      'resumed',
      'step_queued',
      'step_started',
      'step_completed',
      'completed',
    ])
    expect(await payload(id, 'step_completed')).toMatchObject({ stepName: 'ok', agent: 'ann' })
    const refused = await start({ steps: [{ name: 'ok', approval: true }] })
    await stage.answer(refused, false)
    expect(await payload(refused, 'step_failed')).toMatchObject({ stepName: 'ok', error: { code: 'rejected' } })
  })

  it('of governance: a forbidden step has not failed while a decision is pending', async () => {
    const id = await start({ steps: inLine('a') })
    await stage.fail('a', { category: 'governance' })
    const forbidden = [...BEGUN, 'step_queued', 'step_started', 'step_blocked', 'blocked']
    expect(await names(id)).toEqual(forbidden)
    await stage.answer(id, true)
    await stage.succeed('a')
    const again = ['resumed', 'step_queued', 'step_started', 'step_completed', 'completed']
    expect((await names(id)).slice(forbidden.length)).toEqual(again)
    const other = await start({ steps: inLine('a') })
    await stage.fail('a', { category: 'governance' })
    await stage.answer(other, false)
    expect((await names(other)).slice(forbidden.length)).toEqual(['step_failed', 'resumed', 'failed'])
  })

  it('of an idle one: started when it begins to execute', async () => {
    const idle = await start({ steps: inLine('a') }, { start: false })
    expect(await names(idle)).toEqual(['idle'])
    await stage.d.engine.startInstance({ id: idle, actor: 'ann' })
    expect(await names(idle)).toEqual([...BEGUN, 'step_queued'])
  })

  describe('follows the states of the status, whose transitions are in the table:', () => {
    const MINUTE = 60_000
    const LONG = { maxRetries: 3, initialDelay: '10m', maxDelay: '10m' }
    const STATES: { readonly [name: string]: string } = { started: 'executing', resumed: 'executing' }
    const pass = async () => {
      await stage.d.pass(MINUTE + 1)
      await stage.d.engine.sweep()
    }
    /** Without events of steps, telemetry reports the same path as the status. */
    const steps = async (id: string) => {
      const reported = await names(id)
      const path = reported.filter((name) => !name.startsWith('step_')).map((name) => STATES[name] ?? name)
      expect(path).toEqual(await stage.path(id))
      expect(new Set((await events(id)).map((event) => event.id)).size).toBe(reported.length)
      return reported.filter((name) => name.startsWith('step_'))
    }

    it('cancelled while idle or queued, or timed out in the queue', async () => {
      const idle = await start({ steps: inLine('a') }, { start: false })
      await stage.d.engine.cancelInstance({ id: idle, actor: 'ann' })
      expect(await names(idle)).toEqual([...BEGUN, 'failed'])
      expect(await payload(idle, 'failed')).toMatchObject({ cancelled: true })
      await start({ maxConcurrent: 1, steps: inLine('z') })
      const queued = await start({ maxConcurrent: 1, steps: inLine('a') })
      await stage.d.engine.cancelInstance({ id: queued, actor: 'ann' })
      const late = await start({ maxConcurrent: 1, timeout: '1m', steps: inLine('a') })
      await pass()
      for (const id of [idle, queued, late]) expect(await steps(id)).toEqual([])
    })

    it.each([
      ['a gate without an answer before its deadline', { steps: [{ name: 'ok', approval: { deadline: '1m' } }] }],
      ['out of time at a gate', { timeout: '1m', steps: [{ name: 'ok', approval: true }] }],
    ])('%s: blocked, then failed, and so has the step', async (_, spec) => {
      const id = await start(spec)
      await pass()
      expect(await stage.path(id)).toEqual(['idle', 'queued', 'executing', 'blocked', 'failed'])
      expect(await steps(id)).toEqual(['step_started', 'step_blocked', 'step_failed'])
    })

    it('cancelled at a gate: a person has decided, the step has failed', async () => {
      const id = await start({ steps: [{ name: 'ok', approval: true }] })
      await stage.d.engine.cancelInstance({ id, actor: 'ann' })
      expect(await stage.path(id)).toEqual(['idle', 'queued', 'executing', 'blocked', 'executing', 'failed'])
      expect(await steps(id)).toEqual(['step_started', 'step_blocked', 'step_failed'])
      expect(await payload(id, 'step_failed')).toMatchObject({ stepName: 'ok', error: { code: 'closed' } })
    })

    it.each(['workflow', 'cancel', 'step'])('stopped between two attempts, by %s: the step has failed', async (by) => {
      const timeout = by === 'cancel' ? {} : { timeout: '1m' }
      const step = { name: 'a', retryPolicy: LONG, ...(by === 'step' ? timeout : {}) }
      const id = await start({ steps: [step], ...(by === 'workflow' ? timeout : {}) })
      await stage.fail('a', { category: 'transient' })
      if (by === 'cancel') await stage.d.engine.cancelInstance({ id, actor: 'ann' })
      else await pass()
      expect(await stage.steps(id)).toEqual({ a: 'failed' })
      expect(await steps(id)).toEqual(['step_queued', 'step_started', 'step_retried', 'step_failed'])
    })

    it('repeated by policy: it has failed the second time', async () => {
      const id = await start({ failurePolicy: 'retry', steps: inLine('a') })
      await stage.fail('a')
      expect(await steps(id)).toEqual(['step_queued', 'step_started', 'step_retried', 'step_queued'])
      await stage.fail('a')
      expect((await steps(id)).slice(4)).toEqual(['step_started', 'step_failed'])
      const gate = await start({ failurePolicy: 'retry', steps: [{ name: 'ok', approval: true }] })
      await stage.answer(gate, false)
      await stage.answer(gate, true)
      const once = ['step_started', 'step_blocked', 'step_retried']
      expect(await steps(gate)).toEqual([...once, 'step_started', 'step_blocked', 'step_completed'])
    })
  })

  it('has one correlationId over nested workflows and compensation: the given one, or else the root’s id', async () => {
    const spec = {
      failurePolicy: 'compensate',
      steps: [
        { name: 'sub', workflow: 'inner' },
        { name: 'last', dependsOn: ['sub'] },
      ],
      compensation: undoing('sub'),
      workflows: { inner: { steps: inLine('x') } },
    }
    const id = await start(spec, { meta: { correlationId: 'order-17' } })
    await stage.succeed('x', { usage: { tokens: 7 } })
    await stage.fail('last')
    await stage.succeed('undo sub')
    const [child] = await stage.d.store.read.children(id)
    const reported = [...(await events(id)), ...(await events(child?.id ?? ''))]
    expect(new Set(reported.map(({ correlationId }) => correlationId))).toEqual(new Set(['order-17']))
    expect(reported.map(({ type }) => type.split('_').slice(1).join('_'))).toEqual([
      ...BEGUN,
      'step_started',
      'step_completed',
      'step_queued',
      'step_started',
      'step_failed',
      'compensating',
      'step_compensated',
      'completed',
      ...BEGUN,
      'step_queued',
      'step_started',
      'step_completed',
      'completed',
    ])
    expect(reported[4]?.payload).toMatchObject({ stepName: 'sub', agent: 'inner' })
    expect(reported[10]?.payload).toMatchObject({ costAccumulated: { tokens: 7 } })
    expect(reported[13]?.payload).toMatchObject({ workflowName: 'inner', trigger: { kind: 'workflow', instance: id } })
    const page = await stage.d.store.read.events({ afterId: 0, limit: 1000 })
    const all = await loadTelemetry(stage.d.engine, page.events)
    expect(all.map((event) => event.id).toSorted()).toEqual(reported.map((event) => event.id).toSorted())
  })

  it('is empty for other notations', async () => {
    const { net, node } = await import('../engine/drive.ts')
    const id = await stage.d.start({ net: net([node('a')]) })
    await stage.d.work()
    expect(await events(id)).toEqual([])
  })
})
