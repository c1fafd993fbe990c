/**
 * Many lives of DAG workflows, each checked after every move: the path of states uses only transitions of the
 * specification's table, ends in the state that is shown, and its beginning never changes.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InstanceRow } from '../../src/model/rows.ts'
import { loadShown } from '../../src/notations/dag/project/load.ts'
import type { DagStatus } from '../../src/notations/dag/project/status.ts'
import { type DagState, isTransition } from '../../src/notations/dag/project/transitions.ts'
import { PLACES } from '../engine/drive.ts'
import { inLine, type Spec, Stage, undoing } from './specification/stage.ts'

const GATE = { name: 'ok', approval: true }
const AFTER_GATE = { name: 'after', dependsOn: ['ok'] }
const MINUTE = 60_000

describe.each(PLACES)('lives of workflows on $name', (place) => {
  let stage: Stage
  const seen = new Map<string, readonly string[]>()
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  async function status(id: string): Promise<DagStatus> {
    const row = (await stage.d.store.read.instance(id)) as InstanceRow
    return (await loadShown(stage.d.engine, row))?.status as DagStatus
  }

  /** Reads the state and checks it against the rules. */
  async function path(id: string): Promise<readonly DagState[]> {
    const { state, transitions } = await status(id)
    const states = transitions.map((step) => step.state)
    expect(states[0]).toBe('idle')
    expect(states.at(-1)).toBe(state)
    for (const [i, to] of states.slice(1).entries()) {
      const from = states[i] as DagState
      expect([from, to, isTransition(from, to)]).toEqual([from, to, true])
    }
    const times = transitions.map(({ at }) => at)
    expect(times).toEqual(times.toSorted())
    const now = transitions.map(({ state, at }) => `${state} ${at}`)
    expect(now.slice(0, seen.get(id)?.length ?? 0)).toEqual(seen.get(id) ?? [])
    seen.set(id, now)
    return states.slice(1)
  }

  /** Plays a life move by move; the path is checked after each. */
  async function live(spec: Spec, ...moves: readonly ((id: string) => unknown)[]): Promise<string> {
    const id = await stage.start(spec)
    await path(id)
    for (const move of moves) {
      await move(id)
      await path(id)
    }
    return (await path(id)).join(' ')
  }

  const done = (step: string) => () => stage.succeed(step)
  const fails = (step: string) => () => stage.fail(step)
  const begins = (step: string) => () => stage.begin(step)
  const passes = (ms: number) => () => stage.d.pass(ms)
  const answers = (approved: boolean) => (id: string) => stage.answer(id, approved)
  const cancels = (id: string) => stage.d.engine.cancelInstance({ id, actor: 'ann' })
  const begun = 'queued executing'

  it.each<[string, Spec, readonly ((id: string) => unknown)[], string]>([
    ['all goes well', { steps: inLine('a', 'b') }, [done('a'), done('b')], 'completed'],
    ['a step fails', { steps: inLine('a', 'b') }, [done('a'), fails('b')], 'failed'],
    ['its first step fails', { steps: inLine('a') }, [fails('a')], 'failed'],
    [
      'a step is skipped',
      {
        steps: [
          { name: 'a', onFailure: 'skip' },
          { name: 'b', dependsOn: ['a'] },
        ],
      },
      [fails('a'), done('b')],
      'completed',
    ],
    [
      'it waits for people, who approve',
      { steps: [GATE, AFTER_GATE] },
      [answers(true), done('after')],
      'blocked executing completed',
    ],
    ['it waits for people at its end', { steps: [GATE] }, [answers(true)], 'blocked executing completed'],
    ['people reject', { steps: [GATE, AFTER_GATE] }, [answers(false)], 'blocked executing failed'],
    [
      'a gate opens while others work',
      { steps: [GATE, { name: 'b' }] },
      [done('b'), answers(true)],
      'blocked executing completed',
    ],
    [
      'people reject, and completed steps are undone',
      {
        failurePolicy: 'compensate',
        steps: [{ name: 'a' }, { ...GATE, dependsOn: ['a'] }],
        compensation: undoing('a'),
      },
      [done('a'), answers(false), done('undo a')],
      'blocked executing compensating completed',
    ],
    [
      'no decision before the deadline',
      { steps: [{ ...GATE, timeout: '5m' }] },
      [passes(6 * MINUTE)],
      'blocked failed',
    ],
    [
      'the clock agrees',
      { steps: [{ name: 'ok', approval: { deadline: '5m', onTimeout: 'approve' } }] },
      [passes(6 * MINUTE)],
      'blocked executing completed',
    ],
    ['its time is over while it is blocked', { timeout: '5m', steps: [GATE] }, [passes(6 * MINUTE)], 'blocked failed'],
    [
      'it times out while it is blocked, and completed steps are undone',
      {
        timeout: '5m',
        failurePolicy: 'compensate',
        steps: [{ name: 'a' }, { ...GATE, dependsOn: ['a'] }],
        compensation: undoing('a'),
      },
      [done('a'), passes(6 * MINUTE), done('undo a')],
      'blocked executing compensating completed',
    ],
    [
      'it times out while a step runs, and completed steps are undone',
      {
        timeout: '5m',
        failurePolicy: 'compensate',
        steps: inLine('a', 'b'),
        compensation: undoing('a'),
      },
      [done('a'), begins('b'), passes(6 * MINUTE), done('b'), done('undo a')],
      'compensating completed',
    ],
    ['a step takes too long', { steps: [{ name: 'a', timeout: '5m' }] }, [begins('a'), passes(6 * MINUTE)], 'failed'],
    ['it is cancelled before any step began', { steps: inLine('a') }, [cancels], 'failed'],
    ['it is cancelled while a step runs', { steps: inLine('a', 'b') }, [begins('a'), cancels, done('a')], 'failed'],
    ['it is cancelled while it is blocked', { steps: [GATE, AFTER_GATE] }, [cancels], 'blocked executing failed'],
    [
      'the rollback fails',
      { failurePolicy: 'compensate', steps: inLine('a', 'b'), compensation: undoing('a') },
      [done('a'), fails('b'), fails('undo a')],
      'compensating failed',
    ],
    [
      'there is nothing to undo',
      { failurePolicy: 'compensate', steps: inLine('a') },
      [fails('a')],
      'compensating completed',
    ],
    [
      'a sibling ends after the failure, and is undone too',
      {
        failurePolicy: 'compensate',
        steps: [{ name: 'a' }, { name: 'b' }],
        compensation: undoing('a', 'b'),
      },
      [begins('b'), fails('a'), done('b'), done('undo b')],
      'compensating completed',
    ],
    [
      'governance forbids a step, and a person approves it',
      { steps: inLine('a') },
      [() => stage.fail('a', { category: 'governance' }), answers(true), done('a')],
      'blocked executing completed',
    ],
    [
      'governance forbids a step, and a person rejects it',
      { steps: inLine('a') },
      [() => stage.fail('a', { category: 'governance' }), answers(false)],
      'blocked executing failed',
    ],
  ])('%s', async (_, spec, moves, expected) => {
    expect(await live(spec, ...moves)).toBe(`${begun} ${expected}`)
  })

  it('one that is idle is started, or cancelled before it begins', async () => {
    const idle = await stage.start({ steps: inLine('a') }, { start: false })
    expect(await path(idle)).toEqual([])
    await stage.d.engine.startInstance({ id: idle, actor: 'ann' })
    expect(await path(idle)).toEqual(['queued', 'executing'])
    const other = await stage.start({ steps: inLine('a') }, { start: false })
    await cancels(other)
    expect(await path(other)).toEqual(['queued', 'executing', 'failed'])
    expect((await status(other)).startedAt).toBeNull()
  })

  it('one that is queued gets a slot, is cancelled there, or times out there', async () => {
    const spec: Spec = { timeout: '5m', steps: inLine('a') }
    const first = await stage.start(spec, { slots: 1 })
    const [second, third, fourth] = [
      await stage.start(spec, { slots: 1 }),
      await stage.start(spec, { slots: 1 }),
      await stage.start(spec, { slots: 1 }),
    ]
    expect(await path(second)).toEqual(['queued'])
    await stage.succeed('a')
    await stage.reaches(second, 'executing')
    expect([await path(first), await path(second)]).toEqual([
      ['queued', 'executing', 'completed'],
      ['queued', 'executing'],
    ])
    await cancels(third)
    expect(await path(third)).toEqual(['queued', 'executing', 'failed'])
    await stage.d.pass(6 * MINUTE)
    expect(await path(fourth)).toEqual(['queued', 'executing', 'failed'])
    expect((await status(fourth)).conditions.map(({ type }) => type)).toContain('TimedOut')
  })
})
