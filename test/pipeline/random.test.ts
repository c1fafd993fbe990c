/**
 * Random programs, compared with the oracle: which tasks are tried in which order, how often, how long they rest and
 * how they end.
 */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { error, execute, FakeRun, FakeTool, ok, program, rule, task } from './fakes.ts'
import { type Condition, type Foretold, foretell, type ToyRule, type ToyTask } from './oracle.ts'

const MOST = 60

const conditions: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Condition>('always') },
  { weight: 4, arbitrary: fc.constantFrom<Condition>('ok', 'error') },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 3 }).map((attempt) => ({ attempt })) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 30 }).map((counterBelow) => ({ counterBelow })) },
  { weight: 1, arbitrary: fc.constant<Condition>('wrong') },
)

const rules = (tasks: number): fc.Arbitrary<ToyRule> =>
  fc.record({
    when: conditions,
    do: fc.constantFrom('continue', 'retry', 'retry', 'jump', 'jump', 'break', 'fail'),
    attempts: fc.integer({ min: 1, max: 4 }),
    backoff: fc.constantFrom('none', 'linear', 'exponential'),
    delay: fc.constantFrom(0, 1, 3, 20),
    to: fc.oneof(fc.integer({ min: 0, max: tasks - 1 }), fc.constant('previous' as const)),
    counts: fc.boolean(),
  })

const programs: fc.Arbitrary<readonly ToyTask[]> = fc.integer({ min: 1, max: 4 }).chain((tasks) =>
  fc.array(
    fc.record({
      answers: fc.array(fc.constantFrom('ok', 'ok', 'error', 'crash'), { minLength: 1, maxLength: 4 }),
      rules: fc.array(rules(tasks), { maxLength: 3 }),
      unmatched: fc.constantFrom('fail', 'continue'),
      marks: fc.boolean(),
    }),
    { minLength: tasks, maxLength: tasks },
  ),
)

function written(when: Condition): string | null {
  if (when === 'always') return null
  if (when === 'wrong') return '{{ output.status > 1 }}'
  if (typeof when === 'string') return `{{ output.status == '${when}' }}`
  return 'attempt' in when ? `{{ _attempt == ${when.attempt} }}` : `{{ (ctx.counter or 0) < ${when.counterBelow} }}`
}

const plus = (n: number) => ({ 'ctx.counter': `{{ (ctx.counter or 0) + ${n} }}` })

/**
 * The same program in the notation, executed as a worker does: a long rest returns the run, which is then claimed
 * again.
 */
async function observe(toys: readonly ToyTask[], longRestMs: number): Promise<Foretold> {
  const asked = toys.map(() => 0)
  const tool = new FakeTool((call, n) => {
    const at = Number(call.config['at'])
    const { answers } = toys[at]!
    const answer = answers[asked[at]!++ % answers.length]!
    if (answer === 'crash') throw new Error('crash')
    return answer === 'ok' ? ok({ number: n }) : error('server_error')
  })
  const tasks = toys.map((toy, at) =>
    task(`t${at}`, {
      config: { at },
      onUnmatched: toy.unmatched,
      set: toy.marks ? plus(10) : null,
      rules: toy.rules.map((each) =>
        rule(written(each.when), each.do, {
          attempts: each.attempts,
          backoff: each.backoff,
          delayS: each.delay,
          to: each.to === 'previous' ? 'previous' : `t${each.to}`,
          set: each.counts ? plus(1) : null,
        }),
      ),
    }),
  )
  const run = new FakeRun(program(tasks))
  const notes: any[] = []
  for (;;) {
    let isOver = false
    const running = execute(run, { tool, longRestMs, mostExecutions: MOST }).finally(() => {
      isOver = true
    })
    while (!isOver) {
      await vi.runAllTimersAsync()
      await turn()
    }
    const done = await running
    notes.push(...done.notes.filter((note) => note.event === undefined))
    if (done.kind === 'later') continue
    expect(done.kind).not.toBe('threw')
    return {
      tries: tool.calls.map(({ context }) => `${String(context['task']).slice(1)}#${context['attempt']}`),
      rests: notes.filter((note) => !note.last).map((note) => note.rule.delay_s),
      end: done.kind === 'succeeded' ? 'done' : 'failed',
      with: done.kind === 'succeeded' ? ((done.result as { number: number } | null)?.number ?? 0) : done.failure!.code,
      counter: (done.set['counter'] as number | undefined) ?? 0,
    }
  }
}

it.each([
  ['rests in place', Number.POSITIVE_INFINITY],
  ['returned for long rests', 3_000],
  ['returned for every rest', 1],
])('random programs do what the oracle predicts, %s', async (_, longRestMs) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const ends = { done: 0, failed: 0, rested: 0, jumped: 0 }
  try {
    await fc.assert(
      fc.asyncProperty(programs, async (toys) => {
        const observed = foretell(toys, MOST)
        ends[observed.end]++
        if (observed.rests.length > 0) ends.rested++
        if (observed.tries.length > toys.length + observed.rests.length) ends.jumped++
        expect(await observe(toys, longRestMs)).toEqual(observed)
      }),
      { seed: 20261116, numRuns: 600 },
    )
  } finally {
    vi.useRealTimers()
  }
  // Programs that all end at once would show nothing.
  for (const count of Object.values(ends)) expect(count).toBeGreaterThan(40)
})
