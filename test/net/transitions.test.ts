import { describe, expect, it } from 'vitest'
import { compileNet } from '../../src/net/compile.ts'
import type { Facts } from '../../src/net/facts.ts'
import { fire } from '../../src/net/fire.ts'
import { type Happening, type InstanceState, newMarking, TERMINAL } from '../../src/net/marking.ts'
import { mayFollow } from '../../src/net/transitions.ts'
import { net, node } from '../engine/drive.ts'

const STATES: readonly InstanceState[] = [
  'idle',
  'queued',
  'running',
  'waiting',
  'cancelling',
  'compensating',
  'completed',
  'failed',
  'cancelled',
  'compensated',
]

describe('the table of states', () => {
  const table = STATES.flatMap((from) => STATES.filter((to) => mayFollow(from, to)).map((to) => `${from} → ${to}`))

  it('has exactly these transitions', () => {
    expect(table).toEqual([
      'idle → queued',
      'idle → cancelled',
      'queued → running',
      'queued → failed',
      'queued → cancelled',
      'running → waiting',
      'running → cancelling',
      'running → compensating',
      'running → completed',
      'running → failed',
      'waiting → running',
      'waiting → cancelling',
      'cancelling → failed',
      'cancelling → cancelled',
      'compensating → failed',
      'compensating → compensated',
    ])
  })

  const nothing = {
    slot: () => null,
    slotsWith: () => [],
    topSlot: () => null,
    items: () => [],
    result: () => null,
    unstarted: () => [],
    openChildren: () => [],
    openGates: () => [],
  } as unknown as Facts
  const evaluate = { expression: () => null, template: () => null } as never
  const stop = { unknown: 'stop' } as const
  const place = { node: 'a', fire: 1, item: -1, role: 'work', scope: '' } as const
  const error = { code: 'x', message: 'x' }
  const happenings: readonly Happening[] = [
    { kind: 'queue' },
    { kind: 'start' },
    { kind: 'ended', place, outcome: { kind: 'succeeded' } },
    { kind: 'ended', place, outcome: { kind: 'failed', error } },
    { kind: 'answered', place, approved: true, error: null },
    { kind: 'late', place },
    { kind: 'patched', set: { x: 1 } },
    { kind: 'cancel' },
    { kind: 'deadline' },
    { kind: 'continue' },
    { kind: 'resume', places: [place] },
    { kind: 'engine_error', error },
  ]
  const next = (net_: Parameters<typeof compileNet>[0], state: InstanceState, happening: Happening): InstanceState => {
    const phase = TERMINAL.has(state) ? 'ended' : 'forward'
    const marking = { ...newMarking(), state, phase, reason: state === 'failed' ? 'failure' : null } as never
    const result = fire(compileNet(net_), marking, nothing, happening, evaluate)
    if (!('fired' in result)) throw new Error('asked for facts')
    return result.fired.marking.state
  }

  it.each(['completed', 'failed', 'cancelled', 'compensated'] as const)(
    'no happening changes an instance that is %s',
    (state) => {
      for (const happening of happenings) expect(next(net([node('a')]), state, happening)).toBe(state)
    },
  )

  it('no happening moves an idle instance except into the queue, or to its cancel', () => {
    const moved = happenings.map((happening) => [happening.kind, next(net([node('a')]), 'idle', happening)])
    expect(moved.filter(([, state]) => state !== 'idle')).toEqual([
      ['queue', 'queued'],
      ['cancel', 'cancelled'],
    ])
  })

  it('only a resume takes a failed instance back, and only of a net that stops at a doubt', () => {
    const moved = happenings.filter((happening) => next(net([node('a')], stop), 'failed', happening) !== 'failed')
    expect(moved.map((happening) => happening.kind)).toEqual(['resume'])
    for (const state of ['completed', 'cancelled', 'compensated'] as const) {
      expect(next(net([node('a')], stop), state, { kind: 'resume', places: [place] })).toBe(state)
    }
  })
})
