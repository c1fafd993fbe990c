/** Single runs through the public API: outcomes, retries, cancel, timeouts, deferral, stopping. On both stores. */

import { expect, it, vi } from 'vitest'
import { Cancelled, type Context, job, Retryable, Terminal, TimedOut, task, WorkflowFailed } from '../../src/index.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from './stores.ts'

const quick = { retry: { maxAttempts: 3, initialMs: 5, jitter: 0 } }
const once = { retry: { maxAttempts: 1 } }

/** A promise with its resolve function. */
function gate<T = void>() {
  let open!: (value: T) => void
  const passed = new Promise<T>((resolve) => void (open = resolve))
  return { open, passed }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

onBothStores('runs', (stage) => {
  it('returns the result of a handler', async () => {
    const petrel = await stage.open()
    const greet = task('greet', async (name: string) => ({ text: `hello ${name}`, at: new Date(0) }))
    petrel.handle(greet)
    await petrel.work()
    const handle = await petrel.enqueue(greet, 'ada')
    expect(await handle.result()).toEqual({ text: 'hello ada', at: '1970-01-01T00:00:00.000Z' })
    expect(await handle.status()).toBe('succeeded')
    const named = await petrel.enqueue<{ text: string }>('greet', 'eve')
    expect((await named.result()).text).toBe('hello eve')
  })

  it('executes many, each once', async () => {
    const petrel = await stage.open()
    const seen: number[] = []
    petrel.handle('count', (n: number) => void seen.push(n))
    await petrel.work()
    const numbers = Array.from({ length: 3_000 }, (_, i) => i)
    const handles = await petrel.enqueueMany(numbers.map((n) => job<null>('count', n)))
    await Promise.all(handles.map((handle) => handle.result()))
    expect(seen.sort((a, b) => a - b)).toEqual(numbers)
  })

  it('pattern handlers take every type with their prefix', async () => {
    const petrel = await stage.open()
    petrel.handle('billing.%', (_, ctx) => ctx.type)
    await petrel.work()
    const handles = await petrel.enqueueMany([job<string>('billing.pay'), job<string>('billing.refund.all')])
    expect(await Promise.all(handles.map((h) => h.result()))).toEqual(['billing.pay', 'billing.refund.all'])
  })

  it('a worker takes only its own queues and types', async () => {
    const petrel = await stage.open()
    petrel.handle('a', () => 'a').handle('b', () => 'b')
    await petrel.work({ types: ['a'], queues: ['mine'] })
    const [mine, other, otherType] = await petrel.enqueueMany([
      job('a', null, { queue: 'mine' }),
      job('a', null, { queue: 'yours' }),
      job('b', null, { queue: 'mine' }),
    ])
    expect(await mine.result()).toBe('a')
    expect(await other.status()).toBe('pending')
    expect(await otherType.status()).toBe('pending')
    await petrel.work()
    expect(await Promise.all([other.result(), otherType.result()])).toEqual(['a', 'b'])
  })

  it('tries again until it succeeds, and reports the attempt', async () => {
    const petrel = await stage.open()
    const attempts: number[] = []
    petrel.handle('flaky', (_, ctx) => {
      attempts.push(ctx.attempt)
      if (ctx.attempt < ctx.maxAttempts) throw new Error('not yet')
      return 'at last'
    })
    await petrel.work()
    expect(await (await petrel.enqueue('flaky', null, quick)).result()).toBe('at last')
    expect(attempts).toEqual([1, 2, 3])
  })

  it('fails after the last attempt, with the last error', async () => {
    const petrel = await stage.open()
    let attempts = 0
    petrel.handle('broken', () => {
      throw Object.assign(new RangeError(`attempt ${++attempts}`), { code: 'out_of_range' })
    })
    await petrel.work()
    const error = await (await petrel.enqueue('broken', null, quick)).result().catch((e: unknown) => e)
    expect(error).toBeInstanceOf(WorkflowFailed)
    expect(error).toMatchObject({
      code: 'out_of_range',
      state: 'failed',
      error: { message: 'attempt 3', type: 'RangeError' },
    })
    expect(attempts).toBe(3)
  })

  it('the class of an error is the policy: Terminal ends it, Retryable may set the delay', async () => {
    const petrel = await stage.open()
    const times: number[] = []
    petrel.handle('final', () => {
      times.push(0)
      throw new Terminal('never again')
    })
    petrel.handle('later', (_, ctx) => {
      times.push(Date.now())
      if (ctx.attempt === 1) throw new Retryable('soon', { delayMs: 1 })
    })
    await petrel.work()
    await expect((await petrel.enqueue('final')).result()).rejects.toMatchObject({
      message: expect.stringContaining('never again'),
    })
    expect(times).toEqual([0])
    const began = Date.now()
    await (await petrel.enqueue('later', null, { retry: { initialMs: 60_000, jitter: 0 } })).result()
    expect(Date.now() - began).toBeLessThan(20_000)
  })

  it.each([
    ['a string', 'boom', 'handler threw a string: boom'],
    ['undefined', undefined, 'handler threw undefined'],
    ['null', null, 'handler threw null'],
    ['an object', { reason: 'why' }, 'handler threw an object: {"reason":"why"}'],
  ])('a handler that throws %s is reported clearly', async (_, thrown, message) => {
    const petrel = await stage.open()
    petrel.handle('stray', () => Promise.reject(thrown))
    await petrel.work()
    await expect((await petrel.enqueue('stray', null, once)).result()).rejects.toMatchObject({
      code: 'handler_error',
      error: { message },
    })
  })

  it.each([
    ['a function', () => ({ f: () => 1 }), 'unstorable', '$.f is a function'],
    ['a bigint', () => 10n, 'unstorable', 'bigint'],
    [
      'a circle',
      () => {
        const a: unknown[] = []
        a.push(a)
        return a
      },
      'unstorable',
      'circular',
    ],
    ['a NUL', () => 'a\0b', 'unstorable', 'NUL'],
    ['half a surrogate pair', () => ['\udfff'], 'unstorable', 'surrogate'],
    [
      '10,000 levels',
      () => {
        let v: unknown = 1
        for (let i = 0; i < 10_000; i++) v = [v]
        return v
      },
      'unstorable',
      'levels',
    ],
    ['more than the limit', () => 'x'.repeat(70_000), 'payload_too_large', 'more than 65536 bytes'],
  ])('a result that is %s fails its run at once, and affects no other', async (_, make, code, message) => {
    const petrel = await stage.open({ maxPayloadBytes: 65_536 })
    let attempts = 0
    petrel.handle('bad', () => {
      attempts++
      return make()
    })
    petrel.handle('good', (n: number) => n)
    await petrel.work()
    const [bad, ...good] = await petrel.enqueueMany([
      job('bad', null, quick),
      ...[1, 2, 3].map((n) => job<number>('good', n)),
    ])
    await expect(bad!.result()).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
    expect(await Promise.all(good.map((h) => h.result()))).toEqual([1, 2, 3])
    expect(attempts).toBe(1)
  })

  it('arguments that cannot be stored are refused before anything is written', async () => {
    const petrel = await stage.open({ maxPayloadBytes: 65_536 })
    await expect(petrel.enqueue('x', 'x'.repeat(70_000))).rejects.toMatchObject({ code: 'payload_too_large' })
    await expect(petrel.enqueue('x', 'a\0b')).rejects.toMatchObject({ code: 'unstorable' })
    await expect(petrel.enqueueMany([job('x', 1), job('x', { n: 1n })])).rejects.toMatchObject({ code: 'unstorable' })
    await expect(petrel.enqueue('')).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(petrel.enqueue('x', 1, { retry: { maxAttempts: 0 } })).rejects.toThrow('retry.maxAttempts')
    await expect(petrel.enqueue('x', 1, { timeoutMs: -1 })).rejects.toThrow('timeoutMs must be more than 0')
    expect(await engineOf(petrel).queries.countRuns({ queue: null })).toEqual(new Map())
  })

  it('a cancelled run is notified while it works', async () => {
    const petrel = await stage.open()
    const began = gate()
    let reason: unknown
    petrel.handle('long', async (_, ctx) => {
      began.open()
      await aborted(ctx.signal).catch((error: unknown) => {
        reason = error
        throw error
      })
    })
    await petrel.work()
    const handle = await petrel.enqueue('long')
    await began.passed
    await handle.cancel('ada')
    await expect(handle.result()).rejects.toMatchObject({ code: 'cancelled' })
    await vi.waitFor(() => expect(reason).toBeInstanceOf(Cancelled))
  })

  it('a run that had not begun is cancelled without being executed', async () => {
    const petrel = await stage.open()
    let executed = false
    petrel.handle('never', () => void (executed = true))
    const handle = await petrel.enqueue('never', null, { delayMs: 60_000 })
    await handle.cancel()
    expect(await handle.status()).toBe('cancelled')
    await petrel.work()
    await expect(handle.result()).rejects.toMatchObject({ state: 'cancelled' })
    expect(executed).toBe(false)
  })

  it('a run that takes longer than its timeout is aborted and counts as failed', async () => {
    const petrel = await stage.open()
    const reasons: unknown[] = []
    petrel.handle('slow', (_, ctx) =>
      aborted(ctx.signal).catch((error: unknown) => {
        reasons.push(error)
        throw error
      }),
    )
    await petrel.work()
    const handle = await petrel.enqueue('slow', null, { timeoutMs: 60, ...once })
    await expect(handle.result()).rejects.toMatchObject({ code: 'timeout', state: 'failed' })
    await vi.waitFor(() => expect(reasons[0]).toBeInstanceOf(TimedOut))
  })

  it('the timeout ends a run whose handler ignores the abort signal', async () => {
    const petrel = await stage.open()
    const end = gate()
    petrel.handle('deaf', () => end.passed)
    await petrel.work()
    const handle = await petrel.enqueue('deaf', null, { timeoutMs: 60, ...once })
    await expect(handle.result()).rejects.toMatchObject({ code: 'timeout' })
    end.open()
  })

  it('a deferred run is completed later by its id', async () => {
    const petrel = await stage.open()
    const ask = task('ask', (_: { question: string }, ctx) => ctx.defer<{ answer: number }>())
    petrel.handle(ask)
    const worker = await petrel.work()
    const [good, bad] = await petrel.enqueueMany([job(ask, { question: 'x' }), job(ask, { question: 'y' }, once)])
    await vi.waitFor(async () => expect((await good.row()).deferred && (await bad.row()).deferred).toBe(true), 5_000)
    await worker.stop()
    await petrel.complete(good.id, { answer: 42 })
    await petrel.fail(bad.id, new Terminal('nobody knows', { code: 'unanswered' }))
    expect(await good.result()).toEqual({ answer: 42 })
    await expect(bad.result()).rejects.toMatchObject({ code: 'unanswered' })
  })

  it('a later execution continues from the checkpoint, and progress can be read', async () => {
    const petrel = await stage.open()
    const pages: number[] = []
    petrel.handle('import', async (_, ctx: Context) => {
      const from = (await ctx.loadCheckpoint<{ page: number }>())?.page ?? 0
      for (let page = from; page < 4; page++) {
        pages.push(page)
        await ctx.progress({ page })
        await ctx.checkpoint({ page: page + 1 })
        if (page === 1 && ctx.attempt === 1) throw new Error('crash')
      }
      return pages.length
    })
    await petrel.work()
    const handle = await petrel.enqueue('import', null, quick)
    expect(await handle.result()).toBe(4)
    expect(pages).toEqual([0, 1, 2, 3])
    expect(await engineOf(petrel).queries.checkpoint(handle.id)).toMatchObject({ state: '{"page":4}' })
  })

  it('the key is the same for every execution', async () => {
    const petrel = await stage.open()
    const keys: string[] = []
    petrel.handle('keyed', (_, ctx) => {
      keys.push(ctx.key)
      if (ctx.attempt < 2) throw new Error('again')
    })
    await petrel.work()
    await (await petrel.enqueue('keyed', null, { ...quick, idempotencyKey: 'pay-7' })).result()
    expect(keys).toEqual(['pay-7', 'pay-7'])
  })

  it('an enqueue with a used key returns the first run', async () => {
    const petrel = await stage.open()
    const [first, second] = await Promise.all([
      petrel.enqueue('x', 1, { idempotencyKey: 'k' }),
      petrel.enqueue('x', 2, { idempotencyKey: 'k' }),
    ])
    expect(second.id).toBe(first.id)
    expect([first.created, second.created].sort()).toEqual([false, true])
  })

  it('unique runs: ignored, rejected or replaced while another is active', async () => {
    const petrel = await stage.open()
    const unique = (onConflict: 'ignore' | 'reject' | 'replace') => ({ unique: { key: 'u', onConflict } })
    const first = await petrel.enqueue('x', 1, unique('ignore'))
    expect((await petrel.enqueue('x', 2, unique('ignore'))).id).toBe(first.id)
    await expect(petrel.enqueue('x', 3, unique('reject'))).rejects.toMatchObject({ code: 'duplicate' })
    const last = await petrel.enqueue('x', 4, unique('replace'))
    expect(last.created).toBe(true)
    expect(await first.status()).toBe('cancelled')
  })

  it('smaller priorities run earlier', async () => {
    const petrel = await stage.open()
    const order: string[] = []
    petrel.handle('note', (name: string) => void order.push(name))
    const handles = await petrel.enqueueMany([
      job('note', 'last', { priority: 200 }),
      job('note', 'first', { priority: 1 }),
      job('note', 'normal'),
    ])
    await petrel.work({ concurrency: 1 })
    await Promise.all(handles.map((h) => h.result()))
    expect(order).toEqual(['first', 'normal', 'last'])
  })

  it('watch shows the whole history of a run', async () => {
    const petrel = await stage.open()
    petrel.handle('flaky', (_, ctx) => {
      if (ctx.attempt === 1) throw new Error('once')
    })
    const handle = await petrel.enqueue('flaky', null, quick)
    await petrel.work()
    const types: string[] = []
    for await (const event of handle.watch()) types.push(event.type)
    expect(types[0]).toBe('created')
    expect(types.at(-1)).toBe('succeeded')
    expect(types).toEqual(expect.arrayContaining(['leased', 'started', 'retried']))
  })

  it('a caller can stop waiting without affecting the run', async () => {
    const petrel = await stage.open()
    const handle = await petrel.enqueue('nobody')
    await expect(handle.result({ signal: AbortSignal.timeout(30) })).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(await handle.status()).toBe('pending')
  })
})
