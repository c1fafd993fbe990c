/** Rests between attempts: short ones in place, long ones with the run returned and its state saved. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { error, execute, FakeRun, FakeTool, ok, payload, program, rule, task, ticking } from './fakes.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 1_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

const retry = (delayS: number | string, more = {}) =>
  rule('{{ output.status == "error" }}', 'retry', { attempts: 4, delayS, ...more })

describe('a short rest', () => {
  it('is waited for in place, and nothing is saved or read', async () => {
    const tool = new FakeTool((_, n) => (n < 3 ? error() : ok(n)))
    const run = new FakeRun(program([task('a', { rules: [retry(4)] })]))
    const running = execute(run, { tool })
    await ticking()
    await vi.advanceTimersByTimeAsync(3_999)
    expect(tool.calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await ticking()
    await vi.advanceTimersByTimeAsync(4_000)
    expect(await running).toMatchObject({ kind: 'succeeded', result: 3 })
    expect(run).toMatchObject({ checkpoints: 0, loads: 0 })
  })

  it('ends at once when the run is asked to stop', async () => {
    const tool = new FakeTool(() => error())
    const stop = new AbortController()
    const running = execute(new FakeRun(program([task('a', { rules: [retry(4)] })])), { tool, signal: stop.signal })
    await ticking()
    await vi.advanceTimersByTimeAsync(1_000)
    const reason = new Error('cancelled')
    stop.abort(reason)
    expect(await running).toMatchObject({ kind: 'threw', thrown: reason })
    expect(tool.calls).toHaveLength(1)
  })
})

describe('a long rest', () => {
  const longProgram = (delayS: number | string = 60) =>
    program(
      [
        task('first', { set: { 'ctx.begun': true, 'step.x': '{{ output.n }}' } }),
        task('second', {
          rules: [retry(delayS)],
          config: {
            see: [
              '{{ first.n }}',
              '{{ step.x }}',
              '{{ _prev.n }}',
              '{{ ctx.begun }}',
              '{{ _attempt }}',
              '{{ input.given }}',
            ],
          },
        }),
      ],
      { input: { given: '{{ execution_id }}' } },
    )

  it('returns the run, and the next execution continues exactly there', async () => {
    const run = new FakeRun(longProgram())
    const tool = new FakeTool((call, n) =>
      n === 1 ? ok({ n: 7 }) : n < 4 ? error('timeout') : ok(call.config['see']!),
    )
    const first = await execute(run, { tool })
    expect(first).toMatchObject({ kind: 'later', ms: 60_000, set: { begun: true } })
    const second = await execute(run, { tool })
    expect(second).toMatchObject({ kind: 'later', ms: 60_000, set: { begun: true } })
    const third = await execute(run, { tool })
    expect(tool.labels).toEqual(['first', 'second', 'second', 'second'])
    expect(third).toMatchObject({ kind: 'succeeded', result: [7, 7, 7, true, 3, 'exec-1'], set: { begun: true } })
    expect(tool.calls.slice(1).map(({ key }) => key)).toEqual(Array(3).fill('key-1:second'))
  })

  it('attempts are counted over all executions', async () => {
    const run = new FakeRun(longProgram())
    const tool = new FakeTool((_, n) => (n === 1 ? ok({ n: 7 }) : error('timeout')))
    const kinds = []
    for (let i = 0; i < 4; i++) kinds.push((await execute(run, { tool })).kind)
    expect(kinds).toEqual(['later', 'later', 'later', 'failed'])
    expect(tool.calls).toHaveLength(5)
  })

  it('a template may request it', async () => {
    const run = new FakeRun(longProgram('{{ output.error.details.after }}'))
    const tool = new FakeTool((_, n) =>
      n === 1
        ? ok({ n: 1 })
        : error('rate_limit', {
            error: { kind: 'rate_limit', retryable: true, code: null, message: 'slow', details: { after: 90 } },
          }),
    )
    expect(await execute(run, { tool })).toMatchObject({ kind: 'later', ms: 90_000 })
  })

  it('lost between saving and returning: the remaining rest is kept, and the context is written again', async () => {
    const run = new FakeRun(longProgram())
    const tool = new FakeTool((_, n) => (n === 1 ? ok({ n: 7 }) : n === 2 ? error() : ok('end')))
    await execute(run, { tool, attempt: 1 })
    vi.setSystemTime(1_000_000 + 20_000)
    const lost = await execute(run, { tool, attempt: 2 })
    expect(lost).toMatchObject({ kind: 'later', ms: 40_000, set: { begun: true } })
    expect(tool.calls).toHaveLength(2)
    vi.setSystemTime(1_000_000 + 60_000)
    expect(await execute(run, { tool, attempt: 2 })).toMatchObject({ kind: 'succeeded', result: 'end' })
  })

  it('a clock with another time never makes a rest longer than it was', async () => {
    const run = new FakeRun(longProgram())
    const tool = new FakeTool((_, n) => (n === 1 ? ok({ n: 7 }) : error()))
    await execute(run, { tool, attempt: 1 })
    vi.setSystemTime(0)
    expect(await execute(run, { tool, attempt: 2 })).toMatchObject({ kind: 'later', ms: 60_000 })
  })

  it('an unreadable checkpoint: it starts again, and reports it', async () => {
    for (const damaged of [
      '{"state":{"version":99}}',
      '{"execution":1}',
      '7',
      '[]',
      '{"execution":1,"restMs":1,"restsUntil":1,"input":{},"state":{"version":1,"at":55}}',
    ]) {
      const run = new FakeRun(longProgram())
      run.checkpoint = damaged
      const tool = new FakeTool(() => ok({ n: 1 }))
      const done = await execute(run, { tool })
      expect(done.kind).toBe('succeeded')
      expect(tool.labels).toEqual(['first', 'second'])
      expect(done.notes).toContainEqual(expect.objectContaining({ event: 'pipeline.begun_anew' }))
    }
  })

  it('a pipeline that failed starts again when it is executed again', async () => {
    const run = new FakeRun(program([task('a', { rules: [retry(60, { attempts: 2 })] })]))
    const tool = new FakeTool((_, n) => (n <= 2 ? error() : ok('at last')))
    expect((await execute(run, { tool })).kind).toBe('later')
    expect((await execute(run, { tool })).kind).toBe('failed')
    expect(await execute(run, { tool })).toMatchObject({ kind: 'succeeded', result: 'at last' })
    expect(tool.calls.map(({ context }) => context['attempt'])).toEqual([1, 2, 1])
  })

  it('a state too large to be saved rests in place', async () => {
    const run = new FakeRun(program([task('big'), task('a', { rules: [retry(60)] }), task('small')]))
    run.maxBytes = 10_000
    const tool = new FakeTool((_, n) => (n === 1 ? ok('x'.repeat(20_000)) : n === 2 ? error() : ok('small')))
    const running = execute(run, { tool })
    await ticking()
    await vi.advanceTimersByTimeAsync(60_000)
    const done = await running
    expect(done).toMatchObject({ kind: 'succeeded', result: 'small' })
    expect(done.notes).toContainEqual(expect.objectContaining({ event: 'pipeline.kept', ms: 60_000 }))
  })

  it('no secret is in the saved state', async () => {
    const keychain = [{ name: 'db', kind: 'env', map: { password: 'PW' }, ref: null } as const]
    const run = new FakeRun(
      program(
        [
          task('echo', { config: { say: 'pw={{ keychain.db.password }}' }, set: { 'ctx.said': '{{ output }}' } }),
          task('a', { rules: [retry(60)] }),
        ],
        { keychain },
      ),
      payload(),
    )
    const tool = new FakeTool((call, n) => (n === 1 ? ok(call.config['say']!) : error()))
    const secrets = { env: true as const, variables: { PW: 'correct horse battery' } }
    expect(await execute(run, { tool, secrets })).toMatchObject({ kind: 'later', set: { said: 'pw=***' } })
    expect(tool.calls[0]!.config['say']).toBe('pw=correct horse battery')
    expect(run.checkpoint).toContain('pw=***')
    expect(run.checkpoint).not.toContain('horse')
  })
})
