/** The worker's own logic, against a port in memory. Its interaction with the engine is tested in test/sdk. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Json } from '../net/net.ts'
import type { Context } from './context.ts'
import { Cancelled, LeaseLost, TimedOut } from './errors.ts'
import { type Handler, Handlers } from './handlers.ts'
import type { WorkerOptions } from './options.ts'
import type { Delivery, LogPart, Reply, Report, Session, SessionInbox, SessionOptions, WorkerPort } from './port.ts'
import { Worker } from './worker.ts'

function delivery(n: number, more: Partial<Delivery> = {}): Delivery {
  return {
    runId: `run-${n}`,
    epoch: 1,
    type: 'job',
    queue: 'default',
    tenant: null,
    priority: 100,
    payload: String(n),
    attempt: 1,
    maxAttempts: 3,
    key: `run-${n}`,
    instanceId: null,
    rootId: null,
    node: null,
    fire: 0,
    item: -1,
    role: 'work',
    scope: '',
    limitKey: null,
    timeoutMs: null,
    meta: null,
    ...more,
  }
}

/** A queue of deliveries, and a record of all calls. */
class FakePort implements WorkerPort, Session {
  readonly id = 'session-1'
  options!: SessionOptions
  inbox!: SessionInbox
  pending: Delivery[] = []
  readonly claims: number[] = []
  readonly reports: Report[] = []
  readonly logged: LogPart[] = []
  holdLogs: Promise<void> | null = null
  readonly starts: string[][] = []
  readonly calls: string[] = []
  claimsInFlight = 0
  handOff = false
  failClaims = 0
  holdReplies = false

  add(count: number, more: Partial<Delivery> = {}): void {
    const first = this.pending.length
    for (let i = 0; i < count; i++) this.pending.push(delivery(first + i, more))
  }
  async open(options: SessionOptions, inbox: SessionInbox): Promise<Session> {
    this.options = options
    this.inbox = inbox
    return this
  }
  async claim(limit: number): Promise<readonly Delivery[]> {
    expect(++this.claimsInFlight).toBe(1)
    this.claims.push(limit)
    await new Promise((resolve) => setTimeout(resolve, 1))
    this.claimsInFlight--
    if (this.failClaims-- > 0) throw new Error('no connection')
    return this.pending.splice(0, limit)
  }
  async log(parts: readonly LogPart[]): Promise<void> {
    await this.holdLogs
    this.logged.push(...parts)
  }
  async settle(report: Report): Promise<Reply> {
    this.reports.push(report)
    if (this.holdReplies) return new Promise(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 1))
    const next = this.handOff && report.wantNext ? (this.pending.shift() ?? null) : null
    return { status: 'recorded', next }
  }
  async started(runs: readonly { readonly runId: string }[]): Promise<void> {
    this.starts.push(runs.map((r) => r.runId))
  }
  async results() {
    return { previous: '{"n":7}', byNode: new Map([['0', '{"n":7}']]) }
  }
  async program() {
    return { do: 'this' }
  }
  /** Separately stored values; undefined: none. */
  separate: { readonly value?: Json } = {}
  async dereference(): Promise<Json | undefined> {
    return this.separate.value
  }
  async checkpoint(_: Delivery, state: string): Promise<number> {
    this.calls.push(`checkpoint ${state}`)
    return 1
  }
  async loadCheckpoint(): Promise<string | null> {
    return '{"at":3}'
  }
  async progress(_: Delivery, value: string): Promise<void> {
    this.calls.push(`progress ${value}`)
  }
  async quiet(): Promise<void> {
    this.calls.push('quiet')
  }
  async close(): Promise<void> {
    this.calls.push('close')
  }
  outcomes(): string[] {
    return this.reports.map((r) => (r.outcome.kind === 'failed' ? r.outcome.error.code : r.outcome.kind))
  }
}

type AnyHandler = (args: any, ctx: Context<any>) => unknown

let port: FakePort
let worker: Worker | null

async function start(handler: AnyHandler, options: Partial<WorkerOptions> = {}): Promise<Worker> {
  const handlers = new Handlers()
  handlers.add('job', handler as Handler)
  worker = await Worker.start(port, { handlers, ...options })
  return worker
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'Date', 'performance'],
  })
  port = new FakePort()
  worker = null
})

afterEach(async () => {
  const stopped = worker?.stop({ graceMs: 0 })
  await pass(10_000)
  await stopped
  vi.useRealTimers()
})

describe('taking work', () => {
  it('registers the types it has handlers for', async () => {
    await start(() => 1, { queues: ['mail'], concurrency: 3 })
    expect(port.options).toMatchObject({ types: ['job'], queues: ['mail'], concurrency: 3, runtime: 'node' })
  })

  it('never executes more than its concurrency', async () => {
    port.add(20)
    let now = 0
    let most = 0
    await start(
      async () => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setTimeout(resolve, 5))
        now--
      },
      { concurrency: 4 },
    )
    await pass(200)
    expect(most).toBe(4)
    expect(port.outcomes()).toEqual(Array(20).fill('succeeded'))
  })

  it('prefetches quick runs by the hundred, slow ones not at all', async () => {
    port.add(5_000)
    await start(() => null)
    await pass(50)
    expect(Math.max(...port.claims)).toBeGreaterThanOrEqual(400)
    await worker!.stop()

    port = new FakePort()
    port.add(100)
    await start(() => new Promise((resolve) => setTimeout(resolve, 600)))
    await pass(700)
    // Before anything was measured it took one more for each slot; those it has begun, and no others.
    expect(worker!.load).toEqual({ executing: 10, buffered: 0, settling: 0 })
    expect(port.inbox.room()).toBe(0)
  })

  it('claims again at once only while claims come back full', async () => {
    port.add(25)
    await start(() => null, { prefetchMs: 0 })
    await pass(100)
    expect(port.outcomes()).toHaveLength(25)
    expect(port.claims).toEqual([10, 10, 10])
  })

  it('waits for a wake, or for the poll, when there is no work', async () => {
    await start(() => null)
    await pass(1_000)
    expect(port.claims).toHaveLength(1)
    port.add(1)
    port.inbox.wake()
    await pass(10)
    expect(port.outcomes()).toEqual(['succeeded'])
    const before = port.claims.length
    port.add(1)
    await pass(2_600)
    expect(port.claims.length).toBeGreaterThan(before)
    expect(port.outcomes()).toHaveLength(2)
  })

  it('does not lose a wake that comes during a claim', async () => {
    let answer: ((deliveries: readonly Delivery[]) => void) | null = null
    const claim = port.claim.bind(port)
    port.claim = () => new Promise((resolve) => void (answer = resolve))
    await start(() => null)
    port.add(1)
    port.inbox.wake()
    port.claim = claim
    answer!([])
    await pass(10)
    expect(port.outcomes()).toEqual(['succeeded'])
  })

  it('retries a failed claim after a growing pause', async () => {
    port.failClaims = 3
    port.add(1)
    await start(() => null)
    await pass(50)
    expect(port.outcomes()).toEqual([])
    await pass(2_000)
    expect(port.outcomes()).toEqual(['succeeded'])
  })

  it('continues with the run that comes with a reply, and asks for one only if it has a free slot', async () => {
    port.handOff = true
    port.add(50)
    await start(() => new Promise((resolve) => setTimeout(resolve, 60)), { concurrency: 2, prefetchMs: 0 })
    await pass(61 * 30)
    expect(port.outcomes()).toHaveLength(50)
    expect(port.reports.every((r) => r.wantNext)).toBe(true)
    expect(port.claims.length).toBeLessThan(6)
  })

  it('reports whether an outcome comes alone: nothing else executes or waits here', async () => {
    port.add(3)
    const takes = [20, 60, 40]
    await start((n) => new Promise((resolve) => setTimeout(resolve, takes[n])), { concurrency: 2 })
    await pass(200)
    expect(port.reports.map((r) => r.alone)).toEqual([false, false, true])
  })

  it('executes runs that are delivered without a claim', async () => {
    await start((n) => n * 2)
    await pass(5)
    port.inbox.deliver([delivery(21)])
    await pass(5)
    expect(port.reports[0]?.outcome).toEqual({ kind: 'succeeded', result: '42' })
  })

  it('lets the event loop turn between handlers that return at once', async () => {
    vi.useRealTimers()
    port.add(200)
    // A store in this process answers without any I/O: nothing but the worker itself would yield.
    port.settle = async (report) => {
      port.reports.push(report)
      return { status: 'recorded', next: report.wantNext ? (port.pending.shift() ?? null) : null }
    }
    let doneBeforeTimer = 0
    await start(() => {
      for (const until = performance.now() + 1; performance.now() < until; );
    })
    await new Promise((resolve) => setTimeout(resolve, 5))
    doneBeforeTimer = port.reports.length
    await vi.waitFor(() => expect(port.reports).toHaveLength(200), 5_000)
    expect(doneBeforeTimer).toBeLessThan(100)
    await worker!.stop()
    worker = null
    vi.useFakeTimers()
  })

  it('returns runs that wait behind long ones', async () => {
    await start(() => new Promise((resolve) => setTimeout(resolve, 60_000)), { concurrency: 2 })
    port.inbox.deliver([delivery(1), delivery(2), delivery(3), delivery(4)])
    await pass(900)
    expect(worker!.load).toMatchObject({ executing: 2, buffered: 2 })
    await pass(1_000)
    expect(worker!.load).toMatchObject({ executing: 2, buffered: 0 })
    expect(port.outcomes()).toEqual(['released', 'released'])
    expect(port.inbox.room()).toBe(0)
  })
})

describe('reporting', () => {
  it('reports the start of a run with its end, unless it lasts: then once, in a batch', async () => {
    await start((n) => new Promise((resolve) => setTimeout(resolve, n)), { concurrency: 10 })
    port.inbox.deliver([delivery(5), delivery(60), delivery(70)])
    await pass(100)
    expect(port.starts).toEqual([['run-60', 'run-70']])
    await pass(1_000)
    port.inbox.deliver([delivery(3_000)])
    await pass(500)
    port.inbox.deliver([delivery(600)])
    await pass(45)
    expect(port.starts.slice(1)).toEqual([['run-3000'], ['run-600']])
    await pass(5_000)
    expect(port.reports.every((r) => typeof r.startedAt === 'number')).toBe(true)
  })

  it('reports results as JSON, deferred ones as deferred, and gives each report an id', async () => {
    const results = [undefined, null, { a: 1 }, () => 1, { big: 'x'.repeat(70_000) }]
    await start((n, ctx) => (n === 9 ? ctx.defer() : results[n]), { maxResultBytes: 65_536 })
    port.inbox.deliver([0, 1, 2, 3, 4, 9].map((n) => delivery(n)))
    await pass(20)
    expect(port.reports.map((r) => r.outcome)).toMatchObject([
      { kind: 'succeeded', result: null },
      { kind: 'succeeded', result: 'null' },
      { kind: 'succeeded', result: '{"a":1}' },
      {
        kind: 'failed',
        error: { code: 'unstorable', retryable: false, message: 'the result is a function, which is not JSON' },
      },
      { kind: 'failed', error: { code: 'payload_too_large', retryable: false } },
      { kind: 'deferred' },
    ])
    expect(new Set(port.reports.map((r) => r.reportId)).size).toBe(6)
  })

  it('reports a deferral with its command', async () => {
    const command = { subject: 'shop.v1.items.reserve', body: '{"n": 1}', resendMs: 30_000 }
    await start((n, ctx) => (n === 0 ? ctx.defer({ command }) : ctx.defer()))
    port.inbox.deliver([0, 1].map((n) => delivery(n)))
    await pass(20)
    expect(port.reports.map((r) => r.outcome)).toEqual([{ kind: 'deferred', command }, { kind: 'deferred' }])
  })

  it('reports exceptions of a handler, immediate or later', async () => {
    await start((n) => {
      if (n === 0) throw 'now'
      return Promise.reject(new Error('later'))
    })
    port.inbox.deliver([delivery(0), delivery(1)])
    await pass(20)
    expect(port.reports.map((r) => r.outcome)).toMatchObject([
      { kind: 'failed', error: { message: 'handler threw a string: now' } },
      { kind: 'failed', error: { message: 'later', type: 'Error' } },
    ])
  })

  it('fails a run it has no handler for', async () => {
    await start(() => 1)
    port.inbox.deliver([delivery(0, { type: 'other' })])
    await pass(20)
    expect(port.outcomes()).toEqual(['no_handler'])
  })

  it('takes no more work while unreported outcomes accumulate', async () => {
    port.holdReplies = true
    port.add(10_000)
    await start(() => null, { concurrency: 2, maxPrefetch: 10 })
    await pass(3_000)
    expect(port.reports.length).toBeLessThan(100)
  })
})

describe('the context of a handler', () => {
  it('contains what came with the run', async () => {
    let seen: Context | null = null
    await start((_, ctx) => void (seen = ctx))
    port.inbox.deliver([
      delivery(1, { attempt: 2, instanceId: 'i', node: '3', item: 4, role: 'final', meta: '{"a":1,"petrel":{}}' }),
    ])
    await pass(5)
    const { runId, key, type, attempt, maxAttempts, instanceId, node, item, role, queue, meta } = seen! as Context
    expect({ runId, key, type, attempt, maxAttempts, instanceId, node, item, role, queue, meta }).toEqual({
      runId: 'run-1',
      key: 'run-1',
      type: 'job',
      attempt: 2,
      maxAttempts: 3,
      instanceId: 'i',
      node: '3',
      item: 4,
      role: 'final',
      queue: 'default',
      meta: { a: 1 },
    })
  })

  it('reads results, and needs no request for the one that came along', async () => {
    await start(async (_, ctx) => [await ctx.previous(), await ctx.results(), await ctx.loadCheckpoint()])
    port.inbox.deliver([delivery(1), delivery(2, { previous: '"here"' }), delivery(3, { previous: null })])
    await pass(10)
    const read = port.reports.map((r) => JSON.parse((r.outcome as { result: string }).result))
    expect(read.map((r) => r[0])).toEqual(expect.arrayContaining([{ n: 7 }, 'here', null]))
    expect(read[0].slice(1)).toEqual([{ 0: { n: 7 } }, { at: 3 }])
  })

  it('reads the results of nested workflows in the form the builder declared', async () => {
    const group = '{"0":{"1":"b"},"2":"c"}'
    const results = { previous: group, byNode: new Map([['0', group]]) }
    port.results = async () => results
    const shape = { each: 'jobs', count: 3, of: { 0: { last: '1', of: null } } }
    await start(async (_, ctx) => [await ctx.previous(), await ctx.results()])
    port.inbox.deliver([delivery(1, { meta: JSON.stringify({ petrel: { previous: shape, nodes: { 0: shape } } }) })])
    await pass(10)
    expect(JSON.parse((port.reports[0]!.outcome as { result: string }).result)).toEqual([
      ['b', null, 'c'],
      { 0: { 0: 'b', 2: 'c' } },
    ])
  })

  it('saves checkpoints and progress, and refuses values that are not JSON', async () => {
    await start(async (n, ctx) => {
      await ctx.progress({ percent: n })
      return await ctx.checkpoint(n === 1 ? { page: 2 } : { page: 2n })
    })
    port.inbox.deliver([delivery(1), delivery(2)])
    await pass(10)
    expect(port.calls).toEqual(['progress {"percent":1}', 'progress {"percent":2}', 'checkpoint {"page":2}'])
    expect(port.outcomes().sort()).toEqual(['succeeded', 'unstorable'])
  })

  it('reports entries and notes with the outcome, whatever it is', async () => {
    port.add(4, { instanceId: 'i', node: 'a' })
    await start((n: number, ctx) => {
      ctx.set('n', n)
      ctx.set('twice', [n])
      ctx.set('twice', { n })
      ctx.tell({ saw: n })
      ctx.tell('done')
      if (n === 1) throw new Error('no')
      if (n === 2) return ctx.defer()
      if (n === 3) return ctx.later(1500.2)
      return n
    })
    await pass(50)
    expect(port.reports.map((r) => [r.outcome.kind, r.set, r.notes])).toEqual(
      ['succeeded', 'failed', 'deferred', 'later'].map((kind, n) => [
        kind,
        `{"n":${n},"twice":{"n":${n}}}`,
        `[{"saw":${n}},"done"]`,
      ]),
    )
    expect(port.reports[3]?.outcome).toEqual({ kind: 'later', delayMs: 1501 })
  })

  it('reports no empty fields', async () => {
    port.add(1)
    await start(() => 1)
    await pass(50)
    for (const part of ['set', 'notes', 'notesDropped']) expect(port.reports[0]).not.toHaveProperty(part)
  })

  it.each([
    ['an empty name', (ctx: Context) => ctx.set('', 1), 'invalid_request', /1 to 128 characters, not empty/],
    ['a long name', (ctx: Context) => ctx.set('n'.repeat(129), 1), 'invalid_request', /has 129/],
    ['a name that is no text', (ctx: Context) => ctx.set(7 as never, 1), 'invalid_request', /not number/],
    ['half a character', (ctx: Context) => ctx.set('\ud800', 1), 'invalid_request', /surrogate/],
    ['a value that is no JSON', (ctx: Context) => ctx.set('m', new Map()), 'unstorable', /'m' is a Map/],
    ['too much', (ctx: Context) => ctx.set('m', 'x'.repeat(70_000)), 'payload_too_large', /'m'/],
    ['a wait below zero', (ctx: Context) => ctx.later(-1), 'invalid_request', /from 0 to/],
    ['an endless wait', (ctx: Context) => ctx.later(Number.POSITIVE_INFINITY), 'invalid_request', /from 0 to/],
  ])('%s fails the run, with the reason', async (_, wrong, code, message) => {
    port.add(1, { instanceId: 'i', node: 'a' })
    await start((_, ctx) => void wrong(ctx), { maxResultBytes: 65_536 })
    await pass(50)
    expect(port.reports[0]?.outcome).toMatchObject({
      kind: 'failed',
      error: { code, message: expect.stringMatching(message) },
    })
  })

  it('all entries together are limited; one that is replaced counts once', async () => {
    port.add(1, { instanceId: 'i', node: 'a' })
    await start(
      (_, ctx) => {
        for (let i = 0; i < 10; i++) ctx.set('same', 'x'.repeat(30_000))
        ctx.set('second', 'x'.repeat(30_000))
        expect(() => ctx.set('third', 'x'.repeat(30_000))).toThrow(/take 90\d\d\d bytes .* 'third'; at most 65536/)
      },
      { maxResultBytes: 65_536 },
    )
    await pass(50)
    expect(Object.keys(JSON.parse(port.reports[0]?.set ?? '{}'))).toEqual(['same', 'second'])
  })

  it('a run without a workflow has no context', async () => {
    port.add(1)
    await start((_, ctx) => ctx.set('a', 1))
    await pass(50)
    expect(port.reports[0]?.outcome).toMatchObject({
      error: { message: 'ctx.set: run run-0 belongs to no workflow, so there is no context' },
    })
  })

  it('notes beyond the limit, or not JSON, are dropped and counted', async () => {
    port.add(1)
    await start((_, ctx) => {
      for (let i = 0; i < 70; i++) ctx.tell('x'.repeat(1000))
      ctx.tell(new Map())
    })
    await pass(50)
    const { outcome, notes, notesDropped } = port.reports[0] as Report
    expect(outcome.kind).toBe('succeeded')
    expect(notes?.length).toBeLessThanOrEqual(65_537)
    expect([JSON.parse(notes ?? '[]').length, notesDropped]).toEqual([65, 6])
  })

  it('fails with exactly the given error', async () => {
    const error = { code: 'rate_limit', message: 'slow down', retryable: false, details: { task: 'fetch', n: [1] } }
    port.add(2)
    await start((n: number, ctx) => {
      if (n === 0) ctx.fail(error)
      throw ctx.fail(error)
    })
    await pass(50)
    expect(port.reports.map((r) => r.outcome)).toEqual(Array(2).fill({ kind: 'failed', error }))
  })

  it('contains the program of the node', async () => {
    port.add(1, { instanceId: 'i', node: 'a' })
    await start((_, ctx) => ctx.program())
    await pass(50)
    expect(port.reports[0]?.outcome).toMatchObject({ result: '{"do":"this"}' })
  })

  it('contains complete arguments if the payload refers to separately stored ones', async () => {
    port.separate = { value: { long: true } }
    port.add(1, { instanceId: 'i', node: 'a', payload: '{"$ref":"x:7"}' })
    port.add(1, { instanceId: 'i', node: 'a', payload: '{"$shared":"x:7","n":1}' })
    // Not a reference: the author's own keys.
    port.add(1, { payload: '{"$ref":"x:7"}' })
    port.add(1, { instanceId: 'i', node: 'a', payload: '{"$ref":"#/definitions/order"}' })
    await start((args: Json) => args)
    await pass(50)
    const results = port.reports.map((r) => r.outcome.kind === 'succeeded' && r.outcome.result).sort()
    expect(results).toEqual(['{"$ref":"#/definitions/order"}', '{"$ref":"x:7"}', '{"long":true}', '{"long":true}'])
  })

  it('a reference to a missing value fails the run for good', async () => {
    let called = false
    port.add(1, { instanceId: 'i', node: 'a', payload: '{"$ref":"x:7"}' })
    await start(() => void (called = true))
    await pass(50)
    expect(port.reports[0]?.outcome).toMatchObject({ error: { code: 'reference_not_available', retryable: false } })
    expect(called).toBe(false)
  })

  it('logs with the fields of the run', async () => {
    const lines: unknown[] = []
    const log = (context: object, message: string): void => void lines.push([context, message])
    const logger = { debug: log, info: log, warn: log, error: log }
    await start((_, ctx) => ctx.logger.info({ a: 1 }, 'hello'), { logger })
    port.inbox.deliver([delivery(1, { instanceId: 'i', node: '2' })])
    await pass(5)
    expect(lines).toEqual([[{ run: 'run-1', type: 'job', attempt: 1, instance: 'i', node: '2', a: 1 }, 'hello']])
  })
})

describe('stopping one run', () => {
  const untilAborted: AnyHandler = (_, ctx) =>
    new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))

  it.each([
    ['cancel', Cancelled, 'cancelled'],
    ['timeout', TimedOut, 'timeout'],
    ['lost', LeaseLost, 'lease_lost'],
  ] as const)('%s aborts its signal with a reason that names it', async (reason, type, code) => {
    let thrown: unknown
    await start(async (args, ctx) => {
      try {
        await untilAborted(args, ctx)
      } catch (error) {
        thrown = error
        throw error
      }
    })
    port.inbox.deliver([delivery(1), delivery(2)])
    await pass(5)
    port.inbox.stop([{ runId: 'run-1', reason }])
    await pass(5)
    expect(thrown).toBeInstanceOf(type)
    expect(port.outcomes()).toEqual([code])
    expect(worker!.load.executing).toBe(1)
    port.inbox.stop([{ runId: 'run-2', reason: 'cancel' }])
  })

  it('a signal first read after the stop is aborted already', async () => {
    await start(async (_, ctx) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return ctx.signal.aborted
    })
    port.inbox.deliver([delivery(1)])
    await pass(5)
    port.inbox.stop([{ runId: 'run-1', reason: 'cancel' }])
    await pass(100)
    expect(port.reports[0]?.outcome).toEqual({ kind: 'succeeded', result: 'true' })
  })

  it('the signal is aborted when the timeout of the run has passed', async () => {
    await start(untilAborted)
    port.inbox.deliver([delivery(1, { timeoutMs: 300 })])
    await pass(299)
    expect(port.outcomes()).toEqual([])
    await pass(5)
    expect(port.reports[0]?.outcome).toMatchObject({
      error: { code: 'timeout', message: 'the run took longer than 300 ms' },
    })
  })

  it('continuing later does not bypass a timeout', async () => {
    port.add(1, { timeoutMs: 100 })
    await start(async (_, ctx) => {
      await new Promise((resolve) => setTimeout(resolve, 150))
      return ctx.later(10)
    })
    await pass(300)
    expect(port.outcomes()).toEqual(['timeout'])
  })

  it('a run that had not begun is returned', async () => {
    await start(untilAborted, { concurrency: 1 })
    port.inbox.deliver([delivery(1), delivery(2)])
    await pass(5)
    port.inbox.stop([{ runId: 'run-2', reason: 'cancel' }])
    await pass(5)
    expect(port.reports).toMatchObject([
      { delivery: { runId: 'run-2' }, startedAt: null, outcome: { kind: 'released' } },
    ])
    port.inbox.stop([{ runId: 'run-1', reason: 'cancel' }])
  })
})

describe('stopping the worker', () => {
  it('returns waiting runs, lets executing ones end, then closes', async () => {
    await start(() => new Promise((resolve) => setTimeout(resolve, 500)), { concurrency: 2 })
    port.inbox.deliver([1, 2, 3, 4].map((n) => delivery(n)))
    await pass(5)
    const stopped = worker!.stop()
    expect(worker!.stop()).toBe(stopped)
    port.inbox.deliver([delivery(5)])
    await pass(400)
    expect(port.outcomes()).toEqual(['released', 'released', 'released'])
    expect(port.calls).toEqual(['quiet'])
    await pass(200)
    await stopped
    expect(port.outcomes().slice(3)).toEqual(['succeeded', 'succeeded'])
    expect(port.reports.slice(3).every((r) => !r.wantNext)).toBe(true)
    expect(port.calls).toEqual(['quiet', 'close'])
    expect(worker!.state).toBe('stopped')
  })

  it('returns the runs of a claim in progress', async () => {
    port.add(5)
    await start(() => null)
    const stopped = worker!.stop()
    await pass(50)
    await stopped
    expect(port.outcomes()).toEqual(Array(5).fill('released'))
  })

  it('aborts after the grace period, then reports those that ignore it as shut down', async () => {
    await start((n, ctx) =>
      n === 1
        ? new Promise(() => undefined)
        : new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('bye')))),
    )
    port.inbox.deliver([delivery(1), delivery(2)])
    await pass(5)
    const stopped = worker!.stop({ graceMs: 3_000 })
    await pass(2_900)
    expect(port.outcomes()).toEqual([])
    await pass(200)
    expect(port.outcomes()).toEqual(['shutdown'])
    await pass(1_000)
    await stopped
    expect(port.outcomes()).toEqual(['shutdown', 'shutdown'])
    expect(port.reports.map((r) => r.delivery.runId)).toEqual(['run-2', 'run-1'])
  })

  it('a second stop can only shorten the first', async () => {
    await start(() => new Promise(() => undefined))
    port.inbox.deliver([delivery(1)])
    await pass(5)
    const stopped = worker!.stop({ graceMs: 60_000 })
    await pass(1_000)
    void worker!.stop({ graceMs: 90_000 })
    await pass(1_000)
    expect(worker!.state).toBe('draining')
    void worker!.stop({ graceMs: 0 })
    await pass(1_100)
    await stopped
    expect(port.outcomes()).toEqual(['shutdown'])
  })

  it('does not wait indefinitely for reports that get no answer', async () => {
    port.holdReplies = true
    await start(() => null)
    port.inbox.deliver([delivery(1)])
    await pass(5)
    const stopped = worker!.stop()
    await pass(5_100)
    await stopped
    expect(port.calls).toContain('close')
  })

  it('drains on a signal of the process', async () => {
    await start(() => null)
    const undo = worker!.stopOn(['SIGUSR2'])
    process.emit('SIGUSR2')
    await pass(10)
    undo()
    expect(worker!.state).toBe('stopped')
    expect(process.listenerCount('SIGUSR2')).toBe(0)
  })

  it('ignores calls after the end', async () => {
    let finish: (() => void) | null = null
    await start(() => new Promise<void>((resolve) => void (finish = resolve)))
    port.inbox.deliver([delivery(1)])
    await pass(5)
    const stopped = worker!.stop({ graceMs: 0 })
    await pass(1_100)
    await stopped
    finish!()
    port.inbox.deliver([delivery(2)])
    port.inbox.wake()
    await pass(3_000)
    expect(port.outcomes()).toEqual(['shutdown'])
  })
})

it('refuses invalid settings', async () => {
  await expect(start(() => 1, { concurrency: 0 })).rejects.toThrow('concurrency: a whole number of at least 1, not 0')
  await expect(start(() => 1, { queues: [] })).rejects.toThrow('queues: name at least one')
  await expect(start(() => 1, { maxResultBytes: 100 })).rejects.toThrow(
    'maxResultBytes: a whole number of at least 65536',
  )
})
