/** How attempts and pipelines end when something outside ends them, and what is reported. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Envelope, Tool, ToolCall } from '../../src/tools/tool.ts'
import { error, execute, FakeRun, FakeTool, ok, program, rule, task, ticking } from './fakes.ts'

const never = () => new Promise<Envelope>(() => {})

describe('the timeout of a task', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('ends it, whether or not the tool heeds its signal', async () => {
    const tool = new FakeTool(never)
    const running = execute(new FakeRun(program([task('a', { timeoutMs: 1_000 })])), { tool })
    await ticking()
    await vi.advanceTimersByTimeAsync(999)
    expect(tool.calls[0]!.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(tool.calls[0]!.signal.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(500)
    expect((await running).failure).toMatchObject({
      code: 'timeout',
      message: 'the task took longer than its timeout of 1000 ms',
      details: { task: 'a', error: { kind: 'timeout', retryable: true, code: 'TASK_TIMEOUT' } },
    })
  })

  it('is an outcome like any other: a rule may retry it', async () => {
    const tool = new FakeTool((_, n) => (n === 1 ? never() : ok('quick')))
    const rules = [rule('{{ output.error.kind == "timeout" }}', 'retry')]
    const running = execute(new FakeRun(program([task('a', { timeoutMs: 1_000, rules })])), { tool })
    await ticking()
    await vi.advanceTimersByTimeAsync(1_500)
    expect(await running).toMatchObject({ kind: 'succeeded', result: 'quick' })
  })

  it("keeps the tool's own report of its timeout, and no other late report", async () => {
    const late = (envelope: Envelope) => (call: ToolCall) =>
      new Promise<Envelope>((resolve) => call.signal.addEventListener('abort', () => resolve(envelope)))
    const own = error('timeout', {
      error: { kind: 'timeout', retryable: true, code: 'HTTP_TIMEOUT', message: 'no answer' },
    })
    for (const [envelope, code] of [
      [own, 'HTTP_TIMEOUT'],
      [ok('too late'), 'TASK_TIMEOUT'],
      [error('cancelled'), 'TASK_TIMEOUT'],
    ] as const) {
      const running = execute(new FakeRun(program([task('a', { timeoutMs: 10 })])), {
        tool: new FakeTool(late(envelope)),
      })
      await ticking()
      await vi.advanceTimersByTimeAsync(10)
      expect((await running).failure).toMatchObject({ code: 'timeout', details: { error: { code } } })
    }
  })

  it('leaves nothing behind', async () => {
    const tool = new FakeTool(() => ok(1))
    await execute(new FakeRun(program([task('a', { timeoutMs: 1_000 })])), { tool })
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a run that is asked to stop', () => {
  it('stops its tool, waits briefly, and ends with the reason; entries already set are reported', async () => {
    const stop = new AbortController()
    const reason = new Error('cancelled')
    let ended = false
    const tool = new FakeTool((call, n) =>
      n === 1
        ? ok(1)
        : new Promise<Envelope>((resolve) => {
            call.signal.addEventListener('abort', () => {
              ended = true
              expect(call.signal.reason).toBe(reason)
              resolve(error('cancelled'))
            })
            stop.abort(reason)
          }),
    )
    const tasks = [task('a', { set: { 'ctx.x': 1 } }), task('b', { rules: [rule(null, 'continue')] }), task('c')]
    const done = await execute(new FakeRun(program(tasks)), { tool, signal: stop.signal })
    expect(done).toMatchObject({ kind: 'threw', thrown: reason, set: { x: 1 } })
    expect(ended).toBe(true)
    expect(tool.labels).toEqual(['a', 'b'])
    expect(done.notes).toMatchObject([{ task: 'a', last: true }])
  })

  it('does not wait for a tool that ignores the signal', async () => {
    const stop = new AbortController()
    const tool = new FakeTool(() => {
      stop.abort(new Error('lost'))
      return never()
    })
    const done = await execute(new FakeRun(program([task('a')])), { tool, signal: stop.signal })
    expect(done.thrown).toMatchObject({ message: 'lost' })
  })

  it('before its first task: no attempt is made', async () => {
    const tool = new FakeTool(() => ok(1))
    const done = await execute(new FakeRun(program([task('a')])), {
      tool,
      signal: AbortSignal.abort(new Error('gone')),
    })
    expect(done.kind).toBe('threw')
    expect(tool.calls).toHaveLength(0)
  })
})

describe('a faulty tool', () => {
  const broken = (run: () => unknown): Tool => ({ kind: 'fake', check: () => [], run: run as Tool['run'] })

  it.each([
    [
      'throws',
      () => {
        throw new Error('bug')
      },
      'bug',
    ],
    [
      'rejects',
      async () => {
        throw new Error('bug')
      },
      'bug',
    ],
    [
      'throws a text',
      () => {
        throw 'text'
      },
      'text',
    ],
    ['answers nothing', async () => undefined, 'did not answer with an envelope'],
    ['answers half', async () => ({ status: 'error' }), 'did not answer with an envelope'],
  ])('%s: an outcome of kind unknown', async (_, run, message) => {
    const rules = [
      rule('{{ output.error.kind == "unknown" }}', 'continue', { set: { 'ctx.m': '{{ output.error.message }}' } }),
    ]
    const done = await execute(new FakeRun(program([task('a', { rules })])), { tool: broken(run) })
    expect(done.kind).toBe('succeeded')
    expect(done.set['m']).toContain(message)
  })

  it.each([
    ['half of a surrogate pair', { a: '\ud800' }],
    ['NUL', 'a\0b'],
    ['no number', { n: Number.NaN }],
    ['a map', { m: new Map() }],
  ])('with a result that cannot be stored (%s): an outcome of kind transform', async (_, result) => {
    const done = await execute(new FakeRun(program([task('a')])), { tool: new FakeTool(() => ok(result as never)) })
    expect(done.failure).toMatchObject({ code: 'transform', details: { error: { code: 'UNSTORABLE' } } })
  })

  it('with an unusual result: the value is normalised as it would be stored', async () => {
    const tool = new FakeTool((call, n) =>
      n === 1 ? ok({ at: new Date(0), gone: undefined } as never) : ok(call.config['see']!),
    )
    const done = await execute(new FakeRun(program([task('a'), task('b', { config: { see: '{{ a }}' } })])), { tool })
    expect(done.result).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  })
})

describe('notes', () => {
  it('one for each attempt, with the rule that decided', async () => {
    const tool = new FakeTool((_, n) =>
      n === 2 ? ok({ n }) : n === 3 ? ok({ n }) : error('server_error', { http: { status: 503, headers: { a: 'b' } } }),
    )
    const tasks = [
      task('fetch', { kind: 'fake', rules: [rule('{{ output.status == "error" }}', 'retry', { delayS: 0.001 })] }),
      task('look', { rules: [rule('{{ output.data.n == 3 }}', 'break')] }),
      task('never'),
    ]
    const { notes } = await execute(new FakeRun(program(tasks)), { tool })
    const common = { kind: 'fake', at: expect.any(Number), ms: expect.any(Number) }
    const failure = { kind: 'server_error', code: 'HTTP_500', message: 'it answered server_error', retryable: true }
    expect(notes).toEqual([
      {
        ...common,
        task: 'fetch',
        visit: 1,
        attempt: 1,
        status: 'error',
        error: failure,
        rule: { index: 0, do: 'retry', delay_s: 0.001 },
        http: { status: 503 },
        last: false,
      },
      {
        ...common,
        task: 'fetch',
        visit: 1,
        attempt: 2,
        status: 'ok',
        rule: { index: null, do: 'continue' },
        last: true,
      },
      { ...common, task: 'look', visit: 2, attempt: 1, status: 'ok', rule: { index: 0, do: 'break' }, last: true },
    ])
  })

  it('of a task without rules: no rule; of one whose fields could not be rendered: its error', async () => {
    const tasks = [task('a'), task('b', { config: { x: '{{ 1 + "a" }}' } })]
    const { notes } = await execute(new FakeRun(program(tasks)), { tool: new FakeTool(() => ok(1)) })
    expect(notes[0]).not.toHaveProperty('rule')
    expect(notes[1]).toMatchObject({ task: 'b', status: 'error', error: { kind: 'transform' }, last: true })
  })

  it('visit and attempt continue across a long rest', async () => {
    const run = new FakeRun(
      program([task('a'), task('b', { rules: [rule('{{ output.status == "error" }}', 'retry', { delayS: 60 })] })]),
    )
    const tool = new FakeTool((_, n) => (n === 2 ? error() : ok(n)))
    const first = await execute(run, { tool })
    expect(first.notes.at(-1)).toEqual({
      event: 'pipeline.postponed',
      t: expect.any(String),
      task: 'b',
      visit: 2,
      attempt: 2,
      ms: 60_000,
    })
    const second = await execute(run, { tool })
    expect(second.notes).toMatchObject([
      { event: 'pipeline.resumed', task: 'b', visit: 2 },
      { task: 'b', visit: 2, attempt: 2, status: 'ok' },
    ])
  })
})

describe('secrets', () => {
  const keychain = [{ name: 'api', kind: 'env', map: { token: 'TOKEN' }, ref: null } as const]
  const TOKEN = 'tok-"1/2+3'
  const secrets = { env: true as const, variables: { TOKEN } }
  const config = { header: 'Bearer {{ keychain.api.token }}' }

  it('reach only the tool, not result, context, failure, notes or log', async () => {
    const run = new FakeRun(
      program(
        [
          task('a', { config, set: { 'ctx.echo': '{{ output.echo }}' } }),
          task('b', { config, rules: [rule(null, 'fail', { set: { 'ctx.why': '{{ output.error.message }}' } })] }),
        ],
        { keychain },
      ),
    )
    const tool = new FakeTool((call, n) => {
      call.logger.warn({ sent: call.config, err: new Error(`refused ${TOKEN}`) }, `sent ${TOKEN}`)
      expect(call.config['header']).toBe(`Bearer ${TOKEN}`)
      if (n === 1)
        return ok({
          echo: call.config['header']!,
          [TOKEN]: encodeURIComponent(TOKEN),
          b64: Buffer.from(`u:${TOKEN}`).toString('base64'),
        })
      return error('auth', {
        error: { kind: 'auth', retryable: false, code: TOKEN, message: `bad ${TOKEN}`, details: { TOKEN } },
        http: { status: 401, headers: { echo: TOKEN } },
      })
    })
    const done = await execute(run, { tool, secrets })
    expect(done).toMatchObject({
      kind: 'failed',
      failure: { code: 'auth', message: 'bad ***' },
      set: { echo: 'Bearer ***', why: 'bad ***' },
    })
    const everything = JSON.stringify([done, run.logged, run.checkpoint])
    expect(run.logged).toHaveLength(2)
    for (const form of [TOKEN, JSON.stringify(TOKEN).slice(1, -1), encodeURIComponent(TOKEN)])
      expect(everything).not.toContain(form)
    expect(everything).not.toContain(Buffer.from(TOKEN).toString('base64').slice(4, 10))
  })

  it('a template error reveals no value', async () => {
    const bad = task('a', { config: { x: '{{ keychain.api.token + 1 }}', y: '{{ keychain.api.token | fromjson }}' } })
    const done = await execute(new FakeRun(program([bad], { keychain })), { tool: new FakeTool(() => ok(1)), secrets })
    expect(done.failure!.code).toBe('transform')
    expect(JSON.stringify(done)).not.toContain('tok-')
  })

  it('a missing one fails the step before any attempt', async () => {
    const tool = new FakeTool(() => ok(1))
    const done = await execute(new FakeRun(program([task('a')], { keychain })), {
      tool,
      secrets: { env: true, variables: {} },
    })
    expect(done.failure).toMatchObject({
      code: 'auth',
      retryable: false,
      message: expect.stringContaining("'api'"),
      details: { error: { code: 'KEYCHAIN_MISSING' } },
    })
    expect(tool.calls).toHaveLength(0)
  })

  it('a tool that throws one', async () => {
    const done = await execute(new FakeRun(program([task('a', { config })], { keychain })), {
      tool: new FakeTool((call) => {
        throw new Error(`cannot use ${call.config['header']}`)
      }),
      secrets,
    })
    expect(done.failure).toMatchObject({ code: 'unknown', message: 'cannot use Bearer ***' })
  })
})

describe('many tasks that end at once', () => {
  it('let the event loop turn, and keep attempts and memory of the notes bounded', async () => {
    const tool = new FakeTool((_, n) => ok(n))
    const rules = [rule('{{ output.data < 20000 }}', 'jump', { to: 'a', set: { 'iter.n': '{{ output.data }}' } })]
    let turns = 0
    const timer = setInterval(() => turns++, 5)
    const began = performance.now()
    const done = await execute(new FakeRun(program([task('a', { rules })])), { tool })
    const ms = performance.now() - began
    clearInterval(timer)
    expect(done.result).toBe(20_000)
    expect(done.notes).toHaveLength(201)
    expect(tool.calls.at(-1)!.key).toBe('key-1:a:20000')
    expect(turns).toBeGreaterThan(ms / 100)
  })
})
