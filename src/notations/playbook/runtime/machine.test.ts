import { describe, expect, it } from 'vitest'
import { type Effect, type Judge, type Machine, type Move, move } from './machine.ts'
import type { Outcome } from './outcome.ts'
import type { Rule, Task } from './program.ts'
import { freshState, type State } from './state.ts'

/** Conditions are `ok`, `error`, or a number: the attempt. Sets are literal values. */
const judge: Judge = {
  holds: (rule, state, outcome) => {
    const { when } = machineTasks[state.at]!.rules[rule]!
    if (when === 'bad') throw new Error('no such name')
    return when === null || when === outcome.status || when === String(state.attempt)
  },
  taskSet: (_state, _outcome, next) => ({ ...next, ctx: { ...next.ctx, task: next.at } }),
  ruleSet: (rule, state, _outcome, next) => ({
    ...next,
    ctx: { ...next.ctx, ...machineTasks[state.at]!.rules[rule]!.set },
  }),
  delayS: (rule, state) => machineTasks[state.at]!.rules[rule]!.delayS as number,
}

let machineTasks: readonly Task[] = []

function machine(...tasks: readonly Task[]): Machine {
  machineTasks = tasks
  return { program: { step: 's', iterator: null, input: null, tasks, keychain: [] }, judge, mostExecutions: 1000 }
}

function task(label: string, rules: readonly Partial<Rule>[] = [], more: Partial<Task> = {}): Task {
  const full = rules.map((rule) => ({
    when: null,
    do: 'continue' as const,
    attempts: 3,
    backoff: 'none' as const,
    delayS: 1,
    to: null,
    set: null,
    line: 7,
    ...rule,
  }))
  return {
    label,
    kind: 'k',
    config: {},
    input: null,
    rules: full,
    onUnmatched: 'fail',
    set: null,
    timeoutMs: null,
    line: 1,
    ...more,
  }
}

const meta = { attempt: 1, duration_ms: 0, ts: '' }
const ok = (result: number | null = null): Outcome => ({ status: 'ok', result, error: null, meta })
const bad: Outcome = {
  status: 'error',
  result: null,
  error: { kind: 'timeout', retryable: true, code: null, message: 'too slow' },
  meta,
}

/** Feeds outcomes until it ends; returns the attempts, as `label#attempt`, and every rest. */
function play(
  m: Machine,
  outcomes: readonly Outcome[],
): { readonly log: readonly string[]; readonly end: Effect; readonly state: State } {
  const log: string[] = []
  const left = [...outcomes]
  let next: Move = move(m, freshState(), { kind: 'begin' })
  for (;;) {
    const { state, effect } = next
    if (effect.kind === 'done' || effect.kind === 'failed') return { log, end: effect, state }
    if (effect.kind === 'rest') {
      log.push(`${effect.ms}`)
      next = move(m, state, { kind: 'rested' })
      continue
    }
    log.push(`${m.program.tasks[state.at]!.label}#${state.attempt}`)
    const outcome = left.shift()
    if (outcome === undefined) throw new Error(`no outcome left for ${log.join(' ')}`)
    next = move(m, state, { kind: 'ended', outcome })
  }
}

describe('without rules', () => {
  it('ok continues, and the end is done with the last result', () => {
    expect(play(machine(task('a'), task('b')), [ok(1), ok(2)])).toMatchObject({
      log: ['a#1', 'b#1'],
      end: { kind: 'done', result: 2 },
      state: { results: { a: 1, b: 2 }, executions: 2, visit: 2 },
    })
  })

  it('an error fails', () => {
    expect(play(machine(task('a'), task('b')), [bad])).toMatchObject({
      log: ['a#1'],
      end: { kind: 'failed', error: { task: 'a', error: { kind: 'timeout' } } },
    })
  })

  it('on_unmatched applies if rules do not match, not if there are none', () => {
    expect(play(machine(task('a', [], { onUnmatched: 'continue' })), [bad]).end.kind).toBe('failed')
  })
})

describe('rules', () => {
  it('the first one that matches decides', () => {
    const m = machine(
      task('a', [{ when: 'error', do: 'fail' }, { when: 'ok', do: 'break' }, { do: 'fail' }]),
      task('b'),
    )
    expect(play(m, [ok(1)])).toMatchObject({ log: ['a#1'], end: { kind: 'done', result: 1 } })
  })

  it('none matches: an ok continues, an error fails, or continues by on_unmatched', () => {
    const rules = [{ when: '9', do: 'break' as const }]
    expect(play(machine(task('a', rules)), [ok(1)]).end).toEqual({ kind: 'done', result: 1 })
    expect(play(machine(task('a', rules)), [bad]).end.kind).toBe('failed')
    expect(play(machine(task('a', rules, { onUnmatched: 'continue' })), [bad]).end).toEqual({
      kind: 'done',
      result: null,
    })
  })

  it('reports which rule decided', () => {
    const m = machine(
      task('a', [
        { when: 'error', do: 'retry' },
        { do: 'jump', to: 'a' },
      ]),
    )
    const begun = move(m, freshState(), { kind: 'begin' }).state
    expect(move(m, begun, { kind: 'ended', outcome: bad }).verdict).toEqual({ rule: 0, do: 'retry' })
    expect(move(m, begun, { kind: 'ended', outcome: ok() }).verdict).toEqual({ rule: 1, do: 'jump', to: 'a' })
  })

  it('one that cannot be evaluated fails, even if a later one would match', () => {
    const m = machine(task('a', [{ when: 'bad', line: 12 }, { do: 'continue' }], { line: 10 }))
    expect(play(m, [ok()]).end).toMatchObject({
      kind: 'failed',
      error: {
        error: {
          kind: 'transform',
          code: 'RULE_ERROR',
          message: "task 'a' (line 10): rule 1 (line 12) cannot be evaluated: no such name",
        },
      },
    })
  })

  it('a task that could not be started fails, whatever the rules are', () => {
    const m = machine(task('a', [{ do: 'continue' }]))
    const begun = move(m, freshState(), { kind: 'begin' }).state
    const error = { kind: 'transform', retryable: false, code: null, message: 'm' }
    expect(move(m, begun, { kind: 'broken', error }).effect).toMatchObject({
      kind: 'failed',
      error: { task: 'a', error },
    })
  })
})

describe('continue', () => {
  it('after an error leaves _prev and the result of the label unchanged', () => {
    const m = machine(task('a'), task('b', [{ do: 'continue' }]), task('c', [{ do: 'continue' }]))
    expect(play(m, [ok(1), bad, bad])).toMatchObject({ end: { kind: 'done', result: 1 }, state: { results: { a: 1 } } })
  })
})

describe('retry', () => {
  it('makes this many attempts in total, then fails with the last error', () => {
    const m = machine(task('a', [{ when: 'error', do: 'retry', attempts: 3 }]))
    expect(play(m, [bad, bad, bad])).toMatchObject({
      log: ['a#1', '1000', 'a#2', '1000', 'a#3'],
      end: { kind: 'failed', error: { error: { kind: 'timeout' } } },
    })
  })

  it('attempts 1 (or less) means no second attempt', () => {
    for (const attempts of [1, 0]) {
      expect(play(machine(task('a', [{ when: 'error', do: 'retry', attempts }])), [bad]).log).toEqual(['a#1'])
    }
  })

  it('rests: none d, linear d·n, exponential d·2^(n−1)', () => {
    const rests = (backoff: Rule['backoff'], delayS: number) =>
      play(machine(task('a', [{ when: 'error', do: 'retry', attempts: 5, backoff, delayS }])), [
        bad,
        bad,
        bad,
        bad,
        ok(),
      ])
        .log.filter((entry) => !entry.includes('#'))
        .map(Number)
    expect(rests('none', 2)).toEqual([2000, 2000, 2000, 2000])
    expect(rests('linear', 2)).toEqual([2000, 4000, 6000, 8000])
    expect(rests('exponential', 0.5)).toEqual([500, 1000, 2000, 4000])
  })

  it('no rest is longer than a week', () => {
    const m = machine(task('a', [{ when: 'error', do: 'retry', attempts: 2000, backoff: 'exponential' }]))
    const at = { ...move(m, freshState(), { kind: 'begin' }).state, attempt: 1999 }
    expect(move(m, at, { kind: 'ended', outcome: bad }).effect).toEqual({ kind: 'rest', ms: 7 * 86_400_000 })
  })

  it('of a task that ended well gives up with a separate error; its results do not count until it is left', () => {
    const m = machine(task('a', [{ when: 'ok', do: 'retry', attempts: 2, line: 5 }], { set: {} }))
    const { end, state } = play(m, [ok(1), ok(2)])
    expect(end).toMatchObject({
      error: { error: { kind: 'unknown', code: 'ATTEMPTS_USED_UP', message: expect.stringContaining('2 times') } },
    })
    expect(state).toMatchObject({ prev: null, results: {}, ctx: {} })
  })

  it('different rules count the same attempts', () => {
    const rules = [
      { when: '1', do: 'retry' as const, attempts: 5 },
      { when: 'error', do: 'retry' as const, attempts: 2 },
    ]
    expect(play(machine(task('a', rules)), [bad, bad]).log).toEqual(['a#1', '1000', 'a#2'])
  })
})

describe('jump', () => {
  it('goes to a label, forward and back; each visit has all its attempts', () => {
    const m = machine(
      task('fetch', [{ when: 'error', do: 'retry', attempts: 2, delayS: 0 }]),
      task('more', [{ when: 'ok', do: 'jump', to: 'fetch' }, { do: 'break' }]),
    )
    const page = [bad, ok(1), ok()]
    expect(play(m, [...page, ...page, bad, ok(3), bad])).toMatchObject({
      log: [
        'fetch#1',
        '0',
        'fetch#2',
        'more#1',
        'fetch#1',
        '0',
        'fetch#2',
        'more#1',
        'fetch#1',
        '0',
        'fetch#2',
        'more#1',
      ],
      end: { kind: 'done', result: 3 },
      state: { visits: { fetch: 3, more: 3 }, visit: 6 },
    })
  })

  it('to previous, and over tasks', () => {
    const m = machine(
      task('a', [{ when: 'error', do: 'jump', to: 'c' }]),
      task('b'),
      task('c', [{ when: 'error', do: 'jump', to: 'previous' }]),
    )
    expect(play(m, [bad, bad, ok(2), ok(3)]).log).toEqual(['a#1', 'c#1', 'b#1', 'c#1'])
  })

  it('without end is a failure with a name', () => {
    const m = { ...machine(task('a', [{ do: 'jump', to: 'a' }], { line: 3 })), mostExecutions: 50 }
    const { end, log } = play(
      m,
      Array.from({ length: 51 }, () => ok()),
    )
    expect(log).toHaveLength(50)
    expect(end).toMatchObject({
      error: { task: 'a', error: { code: 'TOO_MANY_TASKS', message: expect.stringContaining('50 times') } },
    })
  })
})

describe('break and fail', () => {
  it('break after an error returns the previous result', () => {
    expect(play(machine(task('a'), task('b', [{ do: 'break' }]), task('c')), [ok(1), bad]).end).toEqual({
      kind: 'done',
      result: 1,
    })
  })

  it('fail of a task that ended well names the rule', () => {
    const { end } = play(machine(task('a', [{ do: 'fail', line: 8 }])), [ok(1)])
    expect(end).toMatchObject({
      error: {
        error: {
          kind: 'unknown',
          code: 'FAILED_BY_RULE',
          message: "task 'a' ended well, and the rule on line 8 fails it",
        },
      },
    })
  })
})

describe('set', () => {
  it('is written before the action: also before fail and retry', () => {
    for (const action of ['continue', 'break', 'fail', 'retry'] as const) {
      const m = machine(task('a', [{ when: '1', do: action, set: { x: 1 } }]))
      expect(play(m, [bad, ok()]).state.ctx).toMatchObject({ x: 1 })
    }
  })

  it('of the task only if it ended well and is left; the rule overrides it', () => {
    const set = (action: Rule['do'], outcome: Outcome) =>
      play(machine(task('a', [{ when: '1', do: action, set: { x: 1 }, to: 'b' }], { set: {} }), task('b')), [
        outcome,
        ok(),
        ok(),
      ]).state.ctx
    expect(set('continue', ok())).toEqual({ task: 0, x: 1 })
    expect(set('jump', ok())).toEqual({ task: 0, x: 1 })
    expect(set('break', ok())).toEqual({ task: 0, x: 1 })
    expect(set('fail', ok())).toEqual({ x: 1 })
    expect(set('continue', bad)).toEqual({ x: 1 })
  })
})
