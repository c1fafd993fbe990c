import { describe, expect, it } from 'vitest'
import type { StoredEvent } from '../../../model/rows.ts'
import type { InstanceState } from '../../../net/marking.ts'
import { DAG_STATES, dagState, isTransition, transitionsOf } from './transitions.ts'

/** §1 of the workflow state machine specification, verbatim. */
const TABLE = [
  ['idle', 'queued'],
  ['queued', 'executing'],
  ['executing', 'blocked'],
  ['executing', 'completed'],
  ['executing', 'failed'],
  ['executing', 'compensating'],
  ['blocked', 'executing'],
  ['blocked', 'failed'],
  ['compensating', 'completed'],
  ['compensating', 'failed'],
] as const

const PAIRS = DAG_STATES.flatMap((from) => DAG_STATES.map((to) => [from, to] as const))

describe('the table of transitions', () => {
  it.each(TABLE)('lets %s be followed by %s', (from, to) => {
    expect(isTransition(from, to)).toBe(true)
  })

  it.each(PAIRS.filter(([from, to]) => !TABLE.some(([a, b]) => a === from && b === to)))(
    'refuses %s → %s',
    (from, to) => {
      expect(isTransition(from, to)).toBe(false)
    },
  )
})

describe('states of the engine in the vocabulary of the notation', () => {
  it.each<[InstanceState, string]>([
    ['idle', 'idle'],
    ['queued', 'queued'],
    ['running', 'executing'],
    ['waiting', 'blocked'],
    ['cancelling', 'executing'],
    ['compensating', 'compensating'],
    ['completed', 'completed'],
    ['failed', 'failed'],
    ['cancelled', 'failed'],
    ['compensated', 'completed'],
  ])('%s is %s', (core, word) => {
    expect(dagState(core)).toBe(word)
  })
})

type Line = readonly [type: string, at: number, more?: { reason?: string; actor?: string | null }]

function pathOf(state: InstanceState, lines: readonly Line[], compensates = false): string[] {
  const events = lines.map(
    ([type, at, more = {}], i): StoredEvent => ({
      id: i,
      runId: null,
      instanceId: 'i',
      seq: i,
      type,
      node: null,
      actor: more.actor ?? null,
      tenant: null,
      data: more.reason === undefined ? null : JSON.stringify({ reason: more.reason }),
      at,
    }),
  )
  return transitionsOf({ events, state, compensates }).map(({ state, at }) => `${state} ${at}`)
}

describe('the path of states', () => {
  it('of one that never waited passes the queue at the time of its creation', () => {
    const path = ['idle 1', 'queued 1', 'executing 1']
    expect(pathOf('running', [['instance.created', 1]])).toEqual(path)
    const lines: Line[] = [
      ['instance.created', 1],
      ['instance.started', 2],
      ['instance.completed', 9],
    ]
    expect(pathOf('completed', lines)).toEqual([...path, 'completed 9'])
  })

  it('of one that is idle or queued ends there', () => {
    expect(pathOf('idle', [['instance.created', 1]])).toEqual(['idle 1'])
    const queued: Line[] = [
      ['instance.created', 1],
      ['instance.queued', 1],
    ]
    expect(pathOf('queued', queued)).toEqual(['idle 1', 'queued 1'])
    expect(pathOf('running', [...queued, ['instance.dequeued', 5]])).toEqual(['idle 1', 'queued 1', 'executing 5'])
  })

  it.each(['instance.cancelled', 'instance.failed'])(
    'of one that ended with %s before it began passes executing with no duration',
    (end) => {
      const idle: Line[] = [
        ['instance.created', 1],
        [end, 7],
      ]
      expect(pathOf('cancelled', idle)).toEqual(['idle 1', 'queued 7', 'executing 7', 'failed 7'])
      const queued: Line[] = [
        ['instance.created', 1],
        ['instance.queued', 2],
        [end, 7],
      ]
      expect(pathOf('failed', queued)).toEqual(['idle 1', 'queued 2', 'executing 7', 'failed 7'])
    },
  )

  const blocked: readonly Line[] = [
    ['instance.created', 1],
    ['instance.waiting', 2],
  ]
  const before = ['idle 1', 'queued 1', 'executing 1', 'blocked 2']

  it('of a blocked one continues with the input it received', () => {
    const lines: Line[] = [...blocked, ['gate.rejected', 5, { actor: 'ann' }], ['instance.resumed', 5]]
    expect(
      pathOf('failed', [...lines, ['instance.draining', 5, { reason: 'failure' }], ['instance.failed', 5]]),
    ).toEqual([...before, 'executing 5', 'failed 5'])
    const compensate: Line[] = [...lines, ['instance.draining', 5, { reason: 'compensate' }]]
    expect(pathOf('compensating', compensate)).toEqual([...before, 'executing 5', 'compensating 5'])
  })

  it('of a blocked one past its deadline fails from there, or executes before it compensates', () => {
    const late: Line[] = [...blocked, ['instance.resumed', 5], ['instance.draining', 5, { reason: 'deadline' }]]
    expect(pathOf('failed', [...late, ['instance.failed', 5]])).toEqual([...before, 'failed 5'])
    expect(pathOf('compensating', late, true)).toEqual([...before, 'executing 5', 'compensating 5'])
    const gate: Line[] = [...blocked, ['gate.rejected', 5], ['instance.resumed', 5]]
    const drained: Line[] = [...gate, ['instance.draining', 5, { reason: 'failure' }], ['instance.failed', 5]]
    expect(pathOf('failed', drained)).toEqual([...before, 'failed 5'])
  })

  it('of one that is rolled back ends in completed, or in failed if the rollback did', () => {
    const lines: Line[] = [
      ['instance.created', 1],
      ['instance.draining', 3, { reason: 'compensate' }],
      ['instance.compensating', 4],
    ]
    const path = ['idle 1', 'queued 1', 'executing 1', 'compensating 3']
    expect(pathOf('compensated', [...lines, ['instance.compensated', 6]])).toEqual([...path, 'completed 6'])
    expect(pathOf('failed', [...lines, ['instance.failed', 6]])).toEqual([...path, 'failed 6'])
  })
})
