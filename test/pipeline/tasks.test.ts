/** Tasks in order, what they can read and what they leave: a step's pipeline as its author sees it. */
import { describe, expect, it } from 'vitest'
import { error, execute, FakeRun, FakeTool, ok, payload, program, rule, task } from './fakes.ts'

describe('tasks in order', () => {
  it('runs each once and returns the result of the last', async () => {
    const tool = new FakeTool((call) => ok({ from: call.context['task']! }))
    const done = await execute(new FakeRun(program([task('a'), task('b'), task('c')])), { tool })
    expect(tool.labels).toEqual(['a', 'b', 'c'])
    expect(done).toMatchObject({ kind: 'succeeded', result: { from: 'c' } })
  })

  it('a step without tasks succeeds with an empty result', async () => {
    expect(await execute(new FakeRun(program([])))).toMatchObject({ kind: 'succeeded', result: null })
  })

  it('passes a result on as _prev, by label, in results, with .data for itself', async () => {
    const tool = new FakeTool((call, n) => (n === 1 ? ok({ rows: [1, 2] }) : ok(call.config['seen']!)))
    const seen = {
      prev: '{{ _prev.rows }}',
      label: '{{ a.rows[1] }}',
      results: '{{ results.a.rows | length }}',
      data: '{{ a.data.rows }}',
      whole: '{{ results }}',
      task: '{{ _task }}',
      attempt: '{{ _attempt }}',
    }
    const done = await execute(new FakeRun(program([task('a'), task('b', { config: { seen } })])), { tool })
    expect(done.result).toEqual({
      prev: [1, 2],
      label: 2,
      results: 2,
      data: [1, 2],
      whole: { a: { rows: [1, 2] } },
      task: 'b',
      attempt: 1,
    })
  })

  it('exposes the body of an http reply', async () => {
    const answer = { status_code: 200, headers: {}, body: { items: [7] }, data: { items: [7] } }
    const tool = new FakeTool((call, n) => (n === 1 ? ok(answer) : ok(call.config['seen']!)))
    const config = { seen: ['{{ fetch.items }}', '{{ fetch.data.items }}', '{{ _prev.body.items }}'] }
    const done = await execute(new FakeRun(program([task('fetch'), task('b', { config })])), { tool })
    expect(done.result).toEqual([[7], [7], [7]])
  })

  it('fails the step with the error of the envelope, for good', async () => {
    const tool = new FakeTool(() => error('rate_limit', { http: { status: 429, headers: { 'retry-after': '3' } } }))
    const done = await execute(new FakeRun(program([task('a'), task('b')])), { tool })
    expect(tool.labels).toEqual(['a'])
    expect(done.failure).toEqual({
      code: 'rate_limit',
      message: 'it answered rate_limit',
      retryable: false,
      details: {
        task: 'a',
        error: { kind: 'rate_limit', retryable: true, code: 'HTTP_500', message: 'it answered rate_limit' },
        http: { status: 429, headers: { 'retry-after': '3' } },
      },
    })
  })

  it('treats a result with status: error as a result', async () => {
    const tool = new FakeTool(() => ok({ status: 'error', message: 'a row of the data' }))
    const done = await execute(new FakeRun(program([task('a')])), { tool })
    expect(done).toMatchObject({ kind: 'succeeded', result: { status: 'error' } })
  })

  it('does not change types: text of digits stays text, null stays null', async () => {
    const tool = new FakeTool((call) => ok(call.config['value']!))
    const given = payload({ workload: { code: '007', none: null, yes: 'true', n: 1.5 } })
    const value = ['{{ code }}', '{{ none }}', '{{ yes }}', '{{ n }}', '{{ workload.code }}x']
    const done = await execute(new FakeRun(program([task('a', { config: { value } })]), given), { tool })
    expect(done.result).toEqual(['007', null, 'true', 1.5, '007x'])
  })
})

describe('names in templates', () => {
  const look = async (see: unknown, given = payload(), more = {}) => {
    const tool = new FakeTool((call) => ok(call.config['see']!))
    return await execute(new FakeRun(program([task('look', { config: { see: see as never } })], more), given), { tool })
  }

  it('workload, context over workload, steps, the execution', async () => {
    const given = payload({
      workload: { url: 'w', page: 1, only: true },
      ctx: { page: 2 },
      steps: { start: { items: [1] } },
    })
    const see = {
      url: '{{ url }}',
      page: '{{ page }}',
      ctx: '{{ ctx.page }}',
      through: '{{ ctx.only }}',
      workload: '{{ workload.page }}',
      step: '{{ start.items }}',
      self: '{{ start.data.items }}',
      id: '{{ execution_id }}',
      job: '{{ job.uuid }}',
      nothing: '{{ nowhere.at.all }}',
      fallback: "{{ nowhere | default('x') }}",
    }
    expect((await look(see, given)).result).toEqual({
      url: 'w',
      page: 2,
      ctx: 2,
      through: true,
      workload: 1,
      step: [1],
      self: [1],
      id: 'exec-1',
      job: 'exec-1',
      nothing: null,
      fallback: 'x',
    })
  })

  it('the item of a loop', async () => {
    const given = payload({ item: { value: { id: 7 }, index: 2, total: 3 } })
    const see = [
      '{{ iter.row.id }}',
      '{{ row.id }}',
      '{{ iter.index }}',
      '{{ iter._first }}',
      '{{ loop.last }}',
      '{{ loop.length }}',
    ]
    expect((await look(see, given, { iterator: 'row' })).result).toEqual([7, 7, 2, false, true, 3])
  })

  it('args over the input of the step; input and args are the same', async () => {
    const given = payload({ workload: { base: 10 }, args: { page: 5 } })
    const input = { page: 1, size: '{{ base * 2 }}', from: '{{ args.page }}' }
    const see = { args: '{{ args }}', input: '{{ input.page }}', bare: '{{ size }}' }
    expect((await look(see, given, { input })).result).toEqual({
      args: { page: 5, size: 20, from: 5 },
      input: 5,
      bare: 20,
    })
  })

  it('in the fields of a tool, the input of its own task first; the tool receives all of it', async () => {
    const tool = new FakeTool((call) => ok(call.config['see']!))
    const given = payload({ workload: { city: 'Rome' }, args: { n: 1 } })
    const own = task('a', {
      input: { city: '{{ city }}!', m: '{{ n + 1 }}' },
      config: { see: ['{{ city }}', '{{ input }}'] },
    })
    const done = await execute(new FakeRun(program([own]), given), { tool })
    expect(done.result).toEqual(['Rome!', { city: 'Rome!', m: 2, n: 1 }])
    expect(tool.calls[0]!.input).toEqual({ city: 'Rome!', m: 2, n: 1 })
  })

  it('args are frozen all the way down', async () => {
    const tool = new FakeTool((call) => {
      expect(() => {
        ;(call.input as any).list.push(1)
      }).toThrow(TypeError)
      return ok(call.input['list']!)
    })
    const done = await execute(new FakeRun(program([task('a')]), payload({ args: { list: [] } })), { tool })
    expect(done.result).toEqual([])
  })

  it('the time', async () => {
    const done = await look('{{ now() }}')
    expect(Date.parse(done.result as string)).toBeGreaterThan(Date.now() - 10_000)
  })

  it('no secret outside the fields of a tool', async () => {
    const secrets = { env: true as const, variables: { TOKEN: 'open-sesame' } }
    const keychain = [{ name: 'api', kind: 'env', map: null, ref: 'TOKEN' } as const]
    const rules = [rule(null, 'continue', { set: { 'ctx.token': '{{ keychain.api }}' } })]
    const tool = new FakeTool((call) => ok({ length: String(call.config['token']).length }))
    const tasks = [task('a', { config: { token: '{{ keychain.api }}' }, rules })]
    const done = await execute(new FakeRun(program(tasks, { keychain })), { tool, secrets })
    expect(done).toMatchObject({ kind: 'succeeded', result: { length: 11 }, set: { token: null } })
  })
})

describe('set', () => {
  it('reports entries of the context and makes them visible at once', async () => {
    const tool = new FakeTool((call) => ok(call.config['see'] ?? null))
    const tasks = [
      task('a', { rules: [rule(null, 'continue', { set: { 'ctx.page': 3, 'iter.seen': true, 'step.own': 'x' } })] }),
      task('b', { config: { see: ['{{ ctx.page }}', '{{ page }}', '{{ iter.seen }}', '{{ step.own }}'] } }),
    ]
    const done = await execute(new FakeRun(program(tasks)), { tool })
    expect(done.result).toEqual([3, 3, true, 'x'])
    expect(done.set).toEqual({ page: 3 })
  })

  it('all values of a set are rendered before any is written', async () => {
    const tool = new FakeTool(() => ok(1))
    const swap = { 'ctx.a': '{{ ctx.b }}', 'ctx.b': '{{ ctx.a }}' }
    const run = new FakeRun(
      program([task('x', { rules: [rule(null, 'continue', { set: swap })] })]),
      payload({ ctx: { a: 1, b: 2 } }),
    )
    expect((await execute(run, { tool })).set).toEqual({ a: 2, b: 1 })
  })

  it('of a rule: against the state at the start of the task and the new output, which is the envelope', async () => {
    const tool = new FakeTool((_, n) => ok({ n }))
    const set = {
      'ctx.prev': '{{ _prev.n }}',
      'ctx.new': '{{ output.data.n }}',
      'ctx.old_name': '{{ outcome.result.n }}',
      'ctx.status': '{{ output.status }}',
    }
    const tasks = [task('a'), task('b', { rules: [rule(null, 'continue', { set })] })]
    expect((await execute(new FakeRun(program(tasks)), { tool })).set).toEqual({
      prev: 1,
      new: 2,
      old_name: 2,
      status: 'ok',
    })
  })

  it('of a task: the raw result; after it ended well, not while it is retried', async () => {
    const tool = new FakeTool((_, n) => ok({ n, ready: n === 3 }))
    const poll = task('poll', {
      set: { 'ctx.answer': '{{ output }}', 'ctx.n': '{{ output.n }}' },
      rules: [
        rule('{{ not output.data.ready }}', 'retry', { attempts: 5, set: { 'ctx.waited': '{{ output.data.n }}' } }),
      ],
    })
    const done = await execute(new FakeRun(program([poll])), { tool })
    expect(done.set).toEqual({ answer: { n: 3, ready: true }, n: 3, waited: 2 })
  })

  it('below an entry: a copy of it with that part changed', async () => {
    const tool = new FakeTool(() => ok(1))
    const set = { 'ctx.page.number': 2, 'ctx.fresh.a.b': 1 }
    const given = payload({ ctx: { page: { number: 1, size: 10 } } })
    const done = await execute(new FakeRun(program([task('a', { set })]), given), { tool })
    expect(done.set).toEqual({ page: { number: 2, size: 10 }, fresh: { a: { b: 1 } } })
  })

  it('is kept when the step fails', async () => {
    const tool = new FakeTool(() => error())
    const rules = [rule('{{ output.status == "error" }}', 'fail', { set: { 'ctx.why': '{{ output.error.kind }}' } })]
    const done = await execute(new FakeRun(program([task('a', { rules })])), { tool })
    expect(done).toMatchObject({ kind: 'failed', set: { why: 'server_error' } })
  })

  it('reports an entry once, with its last value', async () => {
    const tool = new FakeTool((_, n) => ok(n))
    const rules = [
      rule('{{ output.data < 50 }}', 'jump', { to: 'a', set: { 'ctx.all': '{{ (ctx.all or []) + [output.data] }}' } }),
    ]
    const done = await execute(new FakeRun(program([task('a', { rules })])), { tool })
    expect((done.set['all'] as number[]).length).toBe(49)
  })
})

describe('an expression that cannot be evaluated fails the step', () => {
  const fails = async (tasks: Parameters<typeof program>[0], more = {}) => {
    const tool = new FakeTool(() => ok({ n: 1 }))
    const done = await execute(new FakeRun(program(tasks, more)), { tool })
    expect(done).toMatchObject({ kind: 'failed', failure: { code: 'transform', retryable: false } })
    return done.failure!.message
  }

  it('a condition', async () => {
    const rules = [
      rule('{{ output.data.n == 2 }}', 'break'),
      rule('{{ output.data.n > "x" }}', 'continue', { line: 14 }),
    ]
    const message = await fails([task('fetch', { rules, line: 11 })])
    expect(message).toMatch(
      /^task 'fetch' \(line 11\): rule 2 \(line 14\) cannot be evaluated: '>' cannot order int and str/,
    )
  })

  it('a field', async () => {
    expect(await fails([task('fetch', { config: { url: '{{ 1 + "a" }}' }, line: 4 })])).toMatch(
      /^task 'fetch' \(line 4\): its fields cannot be rendered: .*\$\.url/,
    )
  })

  it('a set, of a rule and of a task', async () => {
    const rules = [rule(null, 'continue', { set: { 'ctx.x': '{{ [] | int + {} }}' }, line: 9 })]
    expect(await fails([task('a', { rules })])).toContain('the set of rule 1 (line 9) cannot be evaluated')
    expect(await fails([task('a', { set: { 'ctx.x': '{{ 1 + "a" }}' } })])).toContain('its set cannot be evaluated')
    expect(await fails([task('a', { set: { 'ctx.': 1 } })])).toContain('`ctx.` is not a target')
  })

  it('a set below a value that is not a mapping', async () => {
    expect(await fails([task('a', { set: { 'ctx.n': 1 } }), task('b', { set: { 'ctx.n.m': 1 } })])).toContain(
      '`ctx.n.m`: there is a number above it',
    )
  })

  it('a delay that is not a number', async () => {
    const rules = [rule(null, 'retry', { delayS: '{{ "3" }}', line: 5 })]
    expect(await fails([task('a', { rules })])).toMatch(/delay of the rule on line 5.*the text '3': convert it/)
  })

  it('the input of the step', async () => {
    expect(await fails([task('a')], { input: { x: '{{ 1 + "a" }}' } })).toContain("the input of step 'work'")
  })

  it('a jump to nowhere', async () => {
    expect(await fails([task('a', { rules: [rule(null, 'jump', { to: 'previous', line: 3 })] })])).toContain(
      "the rule on line 3 jumps to 'previous', but there is no task before it",
    )
    expect(await fails([task('a', { rules: [rule(null, 'jump', { to: 'zz' })] })])).toContain(
      "the step has no task 'zz'",
    )
  })

  it('a kind that this worker has no tool for', async () => {
    const done = await execute(new FakeRun(program([task('a', { kind: 'cobol', rules: [rule(null, 'continue')] })])))
    expect(done.failure).toMatchObject({
      code: 'unsupported',
      message: "task 'a' (line 1): this worker has no tool of kind 'cobol'",
    })
  })

  it('a run without a program', async () => {
    const done = await execute(new FakeRun(null as never))
    expect(done.failure).toMatchObject({ code: 'schema', retryable: false })
  })
})
