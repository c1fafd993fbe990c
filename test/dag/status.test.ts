/** The status block and the states of steps, computed from rows alone. */
import { describe, expect, it } from 'vitest'
import type { InstanceRow } from '../../src/model/rows.ts'
import type { Node } from '../../src/net/net.ts'
import { dagStatus, type StatusFacts } from '../../src/notations/dag/project/status.ts'
import { NO_ROWS, type StepRows, stepOf } from '../../src/views/steps.ts'
import { net, node, undoBy } from '../engine/drive.ts'
import { aGate, anInstance, aStep, T0 } from '../store/rows.ts'

const instance = anInstance({ state: 'running', phase: 'forward' })
const gate = { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' } as const

function at(rows: Partial<StepRows>, rest: Partial<Node> = {}, key = 'a') {
  const step = node(key, [], rest)
  return stepOf(net([step]), step, { ...NO_ROWS, ...rows })
}

describe('the state of a step', () => {
  const run = (given: Parameters<typeof aStep>[2]) => ({ run: aStep(instance, 'a', given) })
  const failed = { status: 'failed', attempt: 1, firstStartedAt: T0, error: '{"code":"x","message":"y"}' } as const

  it.each([
    ['nothing is there yet', {}, 'pending'],
    ['its run waits for a worker', run({ status: 'pending' }), 'pending'],
    ['a worker has it', run({ status: 'leased' }), 'running'],
    ['it failed and is retried', run({ status: 'pending', attempt: 1, firstStartedAt: T0 }), 'running'],
    ['it succeeded', run({ status: 'succeeded' }), 'completed'],
    ['it failed', run(failed), 'failed'],
    ['it was cancelled before it began', run({ status: 'cancelled' }), 'pending'],
    ['it was cancelled between two attempts', run({ ...failed, status: 'cancelled' }), 'failed'],
    ['governance forbids it and a gate is open', { ...run(failed), gate: aGate(instance) }, 'running'],
  ])('%s', (_, rows, state) => {
    expect(at(rows as Partial<StepRows>).state).toBe(state)
  })

  it('a failed step whose failure is ignored is skipped', () => {
    expect(at(run(failed), { onFailure: 'skip' }).state).toBe('skipped')
  })

  it.each([
    ['open', 'running', null],
    ['approved', 'completed', null],
    ['rejected', 'failed', 'rejected'],
    ['closed', 'failed', 'closed'],
  ] as const)('of a gate that is %s it is %s', (state, expected, code) => {
    const step = at({ gate: aGate(instance, { state }) }, { work: gate })
    expect([step.state, step.error?.code ?? null]).toEqual([expected, code])
  })

  it('of a nested workflow it follows the child; a carried-over one is completed', () => {
    const work = { kind: 'child', net: 'hash', mode: 'attached', input: null } as const
    const child = (state: InstanceRow['state']) => at({ child: anInstance({ state }) }, { work }).state
    expect([child('waiting'), child('completed'), child('compensated'), child('cancelled')]).toEqual([
      'running',
      'completed',
      'failed',
      'failed',
    ])
    expect(at({ takenOver: true }, { work }).state).toBe('completed')
  })

  it('counts retries, not the last failure', () => {
    expect(at(run({ ...failed, attempt: 3 })).retries).toBe(2)
    expect(at(run({ status: 'succeeded', attempt: 2 })).retries).toBe(2)
  })
})

describe('the status block', () => {
  const facts = (given: Partial<InstanceRow>, more: Partial<StatusFacts> = {}): StatusFacts => ({
    instance: anInstance({ createdAt: T0, startedAt: T0 + 1_000, ...given }),
    steps: [],
    error: null,
    undoError: null,
    cancelledAt: null,
    compensates: false,
    events: [],
    usages: [],
    now: T0 + 9_000,
    ...more,
  })
  const done = (key: string, finishedAt: number, undo: Partial<Parameters<typeof aStep>[2]> | null = null) =>
    at(
      {
        run: aStep(instance, key, { status: 'succeeded', firstStartedAt: T0, finishedAt }),
        undo: undo === null ? null : aStep(instance, key, { role: 'undo', ...undo }),
      },
      { undo: undoBy('u') },
      key,
    )

  it('lists completed steps in the order in which they completed, and takes its latency from start to end', () => {
    const steps = [done('late', T0 + 5_000), done('early', T0 + 2_000)]
    const status = dagStatus(facts({ state: 'completed', phase: 'ended', endedAt: T0 + 6_500 }, { steps }))
    expect(status).toMatchObject({
      state: 'completed',
      completedSteps: ['early', 'late'],
      latency: '5.5s',
      currentStep: null,
    })
  })

  it('names the step that began first as the current one, and an undo before any step', () => {
    const running = (key: string, firstStartedAt: number) =>
      at({ run: aStep(instance, key, { status: 'leased', firstStartedAt }) }, {}, key)
    const steps = [running('b', T0 + 2), running('a', T0 + 1)]
    expect(dagStatus(facts({ state: 'running' }, { steps })).currentStep).toBe('a')
    const undoing = [...steps, done('c', T0 + 3, { status: 'leased' })]
    expect(dagStatus(facts({ state: 'compensating' }, { steps: undoing })).currentStep).toBe('c')
  })

  it('shows a partial rollback with the undone steps, the others, and both errors', () => {
    const steps = [
      done('a', T0 + 1),
      done('b', T0 + 2, { status: 'failed' }),
      done('c', T0 + 3, { status: 'succeeded' }),
    ]
    const given = { state: 'failed', phase: 'ended', outcome: 'rolled_back_partial', endedAt: T0 + 8_000 } as const
    const error = { code: 'x', message: 'no stock', node: 'd' }
    const undoError = { code: 'y', message: 'already gone', node: 'b' }
    const { conditions, state } = dagStatus(facts(given, { steps, error, undoError }))
    expect(state).toBe('failed')
    expect(conditions.map(({ type, status }) => [type, status])).toEqual([
      ['RolledBack', 'False'],
      ['PartiallyRolledBack', 'True'],
    ])
    expect(conditions[1]?.message).toBe(
      'd failed: no stock; undone: c; the undo of b failed: already gone; not undone: a, b',
    )
  })

  it.each([
    [{ state: 'cancelled', outcome: 'cancelled' }, 'failed', 'Cancelled True'],
    [{ state: 'cancelling', open: 2 }, 'executing', 'Cancelled Unknown'],
    [{ state: 'failed', outcome: 'timed_out' }, 'failed', 'TimedOut True'],
    [{ state: 'compensated', outcome: 'rolled_back' }, 'completed', 'RolledBack True'],
    [{ state: 'compensating' }, 'compensating', 'RolledBack Unknown'],
    [{ state: 'waiting' }, 'blocked', 'Blocked True'],
  ] as const)('of %o it is %s with %s', (given, state, condition) => {
    const status = dagStatus(facts(given))
    expect([status.state, ...status.conditions.map((c) => `${c.type} ${c.status}`)]).toEqual([state, condition])
  })
})
