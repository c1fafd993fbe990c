/** Dependencies, failure actions, timeouts, gates and compensation. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_RETRY } from '../../../src/engine/fold/run/retry-policy.ts'
import { backoffMs } from '../../../src/net/retry/retry.ts'
import type { Delivery } from '../../../src/worker/port.ts'
import { type Drive, net, node, ONCE, PLACES, run, undoBy } from '../drive.ts'
import { begin, byType, events, open, row, runRow, TWICE, types } from './stage.ts'

describe.each(PLACES)('state machine on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const gate = { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' } as const

  it('steps without dependencies, or with the same ones, run in parallel', async () => {
    await d.start({ net: net([node('a', ['c', 'd']), node('b'), node('c'), node('d')], { entry: ['a', 'b'] }) })
    const roots = await d.claim()
    expect(types(roots)).toEqual(['a', 'b'])
    await d.succeed(byType(roots, 'a'))
    expect(types(await d.claim()).sort()).toEqual(['c', 'd'])
  })

  it.each([
    [
      'a cycle',
      [node('a', ['b'], { join: 'count' }), node('b', ['c'], { join: 'count' }), node('c', ['b'], { join: 'count' })],
      'cycle',
    ],
    ['an unknown dependant', [node('a', ['nowhere'])], "there is no node 'nowhere'"],
    ['a step nothing leads to', [node('a'), node('lost')], 'no path leads here'],
  ])('%s is refused when the net is built', async (_, nodes, message) => {
    await expect(d.start({ net: net(nodes) })).rejects.toThrow(message)
  })

  it('a net without a root is refused when it is built', async () => {
    await expect(d.start({ net: net([node('a', ['b']), node('b', ['a'])], { entry: [] }) })).rejects.toThrow(
      'at least one entry',
    )
  })

  it('abort stops pending steps, lets running steps end, and undoes nothing', async () => {
    const id = await d.start({
      net: net([
        node('a', ['b', 'c', 'e'], { undo: undoBy('undo.a') }),
        node('b', [], { retry: ONCE, onFailure: 'abort' }),
        node('c', ['f']),
        node('e'),
        node('f'),
      ]),
    })
    await d.succeed(await d.claimOne())
    const [b, c] = (await d.claim(2)) as [Delivery, Delivery]
    await begin(d, c)
    await d.fail(b)
    expect(await d.state(id)).toBe('running')
    await d.succeed(c)
    expect(await d.claim()).toEqual([])
    expect(await row(d, id)).toMatchObject({ state: 'failed', outcome: 'failed', succeeded: 2, failed: 1 })
    const statuses = (await d.engine.view(id))?.runs.map((r) => [r.node, r.status])
    expect(Object.fromEntries(statuses ?? [])).toEqual({
      a: 'succeeded',
      b: 'failed',
      c: 'succeeded',
      e: 'cancelled',
    })
  })

  it('a failing step waits for parallel ones before the undo begins, and a late success is undone too', async () => {
    const undo = (key: string) => ({ undo: undoBy(`undo.${key}`) })
    const id = await d.start({
      net: net([
        node('a', ['b', 'c', 'e'], undo('a')),
        node('b', [], { retry: ONCE, onFailure: 'compensate', ...undo('b') }),
        node('c', [], undo('c')),
        node('e', [], { retry: ONCE, onFailure: 'skip', ...undo('e') }),
      ]),
    })
    await d.succeed(await d.claimOne())
    const open = await d.claim()
    await d.fail(byType(open, 'e'))
    await begin(d, byType(open, 'c'))
    await d.fail(byType(open, 'b'))
    expect(await d.state(id)).toBe('compensating')
    expect(await d.claim()).toEqual([])
    await d.succeed(byType(open, 'c'))
    expect(await d.work()).toEqual(['undo c', 'undo a'])
    expect(await row(d, id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
  })

  it('completed steps without an undo are skipped', async () => {
    const id = await d.start({
      net: net([node('a', ['read'], { undo: undoBy('undo.a') }), node('read', ['c']), node('c', [], { retry: ONCE })], {
        onFailure: 'compensate',
      }),
    })
    expect(await d.work((w) => (w.node === 'c' ? new Error('bad') : null))).toEqual(['a', 'read', 'c', 'undo a'])
    expect(await d.state(id)).toBe('compensated')
  })

  it('a failed undo ends it: nothing further is undone, and nothing starts again', async () => {
    const undo = { undo: { work: run('undo'), retry: ONCE, timeout: null } }
    const id = await d.start({
      net: net([
        node('a', ['b'], undo),
        node('b', ['c'], undo),
        node('c', [], { retry: ONCE, onFailure: 'compensate' }),
      ]),
    })
    expect(await d.work((w) => (w.node === 'c' || w.role === 'undo' ? new Error('bad') : null))).toEqual([
      'a',
      'b',
      'c',
      'undo b',
    ])
    expect(await row(d, id)).toMatchObject({ state: 'failed', outcome: 'rolled_back_partial' })
    await expect(d.engine.resumeInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('a second failure parallel to the first does not restart the undo', async () => {
    const fails = { retry: ONCE, onFailure: 'compensate' } as const
    const id = await d.start({
      net: net([node('a', ['b', 'c'], { undo: undoBy('undo.a') }), node('b', [], fails), node('c', [], fails)]),
    })
    await d.succeed(await d.claimOne())
    const both = await d.claim()
    for (const x of both) await begin(d, x)
    await d.fail(byType(both, 'b'), { code: 'first' })
    await d.fail(byType(both, 'c'), { code: 'second' })
    expect(await d.work()).toEqual(['undo a'])
    expect([await d.state(id), await d.error(id)]).toEqual(['compensated', 'first'])
  })

  it('an undo that is silent beyond its timeout has failed', async () => {
    const undo = { work: run('undo'), retry: ONCE, timeout: { ms: 1000, per: 'attempt' } } as const
    const id = await d.start({
      net: net([node('a', ['b'], { undo }), node('b', [], { retry: ONCE, onFailure: 'compensate' })]),
    })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne(), { code: 'first' })
    await begin(d, await d.claimOne())
    await d.pass(1001)
    expect(await row(d, id)).toMatchObject({ state: 'failed', outcome: 'rolled_back_partial' })
    expect((await d.engine.view(id))?.undoError?.code).toBe('timeout')
  })

  it('an undo is retried under one key, different from the key of its step', async () => {
    const id = await d.start({
      net: net([
        node('a', ['b'], { undo: { work: run('undo'), retry: TWICE, timeout: null } }),
        node('b', [], { retry: ONCE, onFailure: 'compensate' }),
      ]),
    })
    const a = await d.claimOne()
    await d.succeed(a)
    await d.fail(await d.claimOne())
    const first = await d.claimOne()
    await d.fail(first)
    await d.pass(1001)
    const second = await d.claimOne()
    expect([second.key, second.attempt]).toEqual([first.key, 2])
    expect(second.key).not.toBe(a.key)
    await d.succeed(second)
    expect(await d.state(id)).toBe('compensated')
  })

  it('the undo cannot be cancelled, and the deadline of the workflow does not interrupt it', async () => {
    const id = await d.start({
      net: net(
        [node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE, onFailure: 'compensate' })],
        { timeoutMs: 5000 },
      ),
    })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne())
    await d.pass(6000)
    await expect(d.engine.cancelInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    expect(await d.state(id)).toBe('compensating')
    expect(await d.work()).toEqual(['undo a'])
    expect(await d.state(id)).toBe('compensated')
  })

  it('the deadline of the workflow runs while it waits at a gate, and follows the failure policy', async () => {
    const gated = (onFailure: 'abort' | 'compensate') =>
      net([node('a', ['ok'], { undo: undoBy('undo.a') }), node('ok', [], { work: gate })], {
        timeoutMs: 60_000,
        onFailure,
      })
    const aborts = await d.start({ net: gated('abort') })
    const compensates = await d.start({ net: gated('compensate') })
    expect(await d.work()).toEqual(['a', 'a'])
    expect([await d.state(aborts), await d.state(compensates)]).toEqual(['waiting', 'waiting'])
    await d.pass(60_001)
    expect(await row(d, aborts)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
    expect(await d.state(compensates)).toBe('compensating')
    expect(await d.work()).toEqual(['undo a'])
    expect(await d.state(compensates)).toBe('compensated')
    expect(await d.store.read.openGates({ instanceId: null, limit: 10 })).toEqual([])
  })

  it('it is blocked only while nothing else can run; a rejected gate follows its failure action', async () => {
    const id = await d.start({
      net: net([node('ok', ['b'], { work: gate, onFailure: 'skip' }), node('other'), node('b')], {
        entry: ['ok', 'other'],
      }),
    })
    expect(await d.state(id)).toBe('running')
    await d.succeed(await d.claimOne())
    expect(await d.state(id)).toBe('waiting')
    const [open] = await d.store.read.openGates({ instanceId: id, limit: 10 })
    await d.engine.answerGate({ gateId: open?.id as string, approved: false, actor: 'ann', reason: 'too dear' })
    expect(await d.work()).toEqual(['b'])
    expect(await d.state(id)).toBe('completed')
    expect(await events(d, id)).toEqual(
      expect.arrayContaining(['instance.waiting', 'gate.rejected ok', 'node.skipped ok', 'instance.resumed']),
    )
  })

  it('a step that exceeds its timeout is not retried and follows its failure action', async () => {
    const id = await d.start({
      net: net([
        node('a', ['b'], {
          timeout: { ms: 1000, per: 'node' },
          retry: { ...TWICE, maxAttempts: 5 },
          onFailure: 'skip',
        }),
        node('b'),
      ]),
    })
    const a = await d.claimOne()
    await begin(d, a)
    await d.pass(1001)
    expect(await runRow(d, a.runId)).toMatchObject({ status: 'failed', attempt: 1 })
    expect(await d.work()).toEqual(['b'])
    expect(await d.state(id)).toBe('completed')
  })

  it('the timeout of a step is one clock over all its attempts', async () => {
    const id = await d.start({
      net: net([node('a', [], { timeout: { ms: 5000, per: 'node' }, retry: { ...TWICE, maxAttempts: 5 } })]),
    })
    const first = await d.claimOne()
    await begin(d, first)
    await d.pass(2000)
    await d.fail(first)
    await d.pass(1001)
    const second = await d.claimOne()
    await begin(d, second)
    await d.pass(2001)
    expect(await runRow(d, second.runId)).toMatchObject({ status: 'failed', attempt: 2 })
    expect(await d.error(id)).toBe('timeout')
  })

  it('errors are retried by category where the policy names categories', async () => {
    const retry = { ...TWICE, retryOn: ['transient'] }
    const id = await d.start({ net: net([node('a', [], { retry })]) })
    await d.fail(await d.claimOne(), { category: 'transient' })
    await d.pass(1001)
    expect((await d.claimOne()).attempt).toBe(2)
    const other = await d.start({ net: net([node('a', [], { retry })]) })
    await d.fail(await d.claimOne(), { category: 'validation' })
    expect([await d.state(id), await d.state(other)]).toEqual(['running', 'failed'])
  })
})

describe('delays between attempts', () => {
  const at = (retry: Partial<typeof INBOX_RETRY>, random = 0.5) =>
    [1, 2, 3, 4].map((n) => backoffMs({ ...INBOX_RETRY, jitter: 0, ...retry }, n, () => random))

  it('are constant, linear or exponential from the first, up to the maximum', () => {
    expect(at({ backoff: 'constant', initialMs: 5000 })).toEqual([5000, 5000, 5000, 5000])
    expect(at({ backoff: 'linear', initialMs: 5000 })).toEqual([5000, 10_000, 15_000, 20_000])
    expect(at({ backoff: 'exponential', initialMs: 1000, coefficient: 2 })).toEqual([1000, 2000, 4000, 8000])
    expect(at({ backoff: 'exponential', initialMs: 1000, coefficient: 2, maxMs: 3000 })).toEqual([
      1000, 2000, 3000, 3000,
    ])
  })
})
