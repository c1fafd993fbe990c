/** Rules of the five specifications that no other test is about; docs/conformance names each with its section. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readDefinition } from '../../src/dialects/definition.ts'
import { buildWorkflow } from '../../src/dialects/ojs/builder.ts'
import type { JobTree, Tree } from '../../src/dialects/ojs/tree.ts'
import { backoffMs, INBOX_RETRY } from '../../src/engine/backoff.ts'
import { netHash } from '../../src/engine/hash.ts'
import type { Json, Net, Node } from '../../src/net/net.ts'
import type { InstanceRow, RunRow } from '../../src/store/rows.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { postgresUrl } from '../services.ts'
import { type PostgresSubject, postgresSubject } from '../store/postgres-subject.ts'
import { aRun, T0 } from '../store/rows.ts'
import { put, setClock } from '../store/subject.ts'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'

const TWICE = { ...ONCE, maxAttempts: 2, initialMs: 1000, maxMs: 1000 }
const arc = (to: string, when: string | null = null, rest: object = {}) => ({
  to,
  when,
  args: null,
  set: null,
  ...rest,
})
const routed = (
  key: string,
  mode: 'first' | 'every',
  arcs: readonly ReturnType<typeof arc>[],
  rest: Partial<Node> = {},
) => node(key, [], { next: { mode, arcs, scope: null }, ...rest })

const job = (type: string, args: Json = null, maxAttempts = 1): JobTree => ({
  kind: 'job',
  type,
  args,
  options: { retry: { maxAttempts } },
})
const chain = (...steps: Tree[]): Tree => ({ kind: 'chain', steps })
const group = (...jobs: Tree[]): Tree => ({ kind: 'group', jobs })
const batch = (jobs: Tree[], maxAttempts = 1): Tree => ({
  kind: 'batch',
  jobs,
  onComplete: job('on.complete', null, maxAttempts),
  onSuccess: job('on.success'),
  onFailure: job('on.failure'),
})

describe.each(PLACES)('seeds on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 3_600_000 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const workflow = (tree: Tree): Promise<string> => d.start(buildWorkflow(tree).start)
  const row = async (id: string): Promise<InstanceRow> => (await d.store.read.instance(id)) as InstanceRow
  const runRow = async (id: string): Promise<RunRow> => (await d.store.read.run(id)) as RunRow
  const types = (deliveries: readonly Delivery[]): string[] => deliveries.map((x) => x.type)
  const begin = async (x: Delivery): Promise<void> =>
    d.session.started([{ runId: x.runId, epoch: x.epoch, at: await d.store.now() }])
  const events = async (id: string): Promise<string[]> =>
    (await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })).map((e) =>
      e.node === null ? e.type : `${e.type} ${e.node}`,
    )
  const byType = (deliveries: readonly Delivery[], type: string): Delivery =>
    deliveries.find((x) => x.type === type) as Delivery

  describe('chain, group, batch', () => {
    it('a first step is given no results, a later one all before it by index', async () => {
      await workflow(chain(job('a'), job('b'), job('c')))
      const seen: Record<string, unknown>[] = []
      for (const result of [{ x: 1 }, null, 'last']) {
        const step = await d.claimOne()
        const { byNode } = await d.session.results(step)
        seen.push(Object.fromEntries([...byNode].map(([k, v]) => [k, v === null ? null : JSON.parse(v)])))
        await d.succeed(step, result)
      }
      expect(seen).toEqual([{}, { 0: { x: 1 } }, { 0: { x: 1 }, 1: null }])
    })

    it('the step after a group is given its results by index of the job', async () => {
      await workflow(chain(job('a'), group(job('b'), job('c')), job('d')))
      await d.succeed(await d.claimOne(), 'A')
      for (const inner of await d.claim()) await d.succeed(inner, { did: inner.type })
      const { byNode } = await d.session.results(await d.claimOne())
      expect(JSON.parse(byNode.get('1') as string)).toEqual({ 0: { did: 'b' }, 1: { did: 'c' } })
      expect(JSON.parse(byNode.get('0') as string)).toBe('A')
    })

    it('a failure with attempts left fails nothing yet', async () => {
      const id = await workflow(group(job('flaky', null, 2), job('other')))
      const open = await d.claim()
      await d.fail(byType(open, 'flaky'))
      await d.succeed(byType(open, 'other'))
      expect(await row(id)).toMatchObject({ state: 'running', failed: 0, succeeded: 1 })
      await d.pass(60_000)
      await d.succeed(await d.claimOne())
      expect(await row(id)).toMatchObject({ state: 'completed', failed: 0, succeeded: 2 })
    })

    it('a group stays running after a failure until its last job has ended', async () => {
      const id = await workflow(group(job('a'), job('b'), job('c')))
      const [a, b, c] = (await d.claim()) as [Delivery, Delivery, Delivery]
      await d.fail(a)
      expect(await d.state(id)).toBe('running')
      await d.succeed(b)
      expect(await d.state(id)).toBe('running')
      await d.succeed(c)
      expect(await row(id)).toMatchObject({ state: 'failed', failed: 1, succeeded: 2 })
    })

    it('a chain counts and dates what it did, and keeps which step failed, why and when', async () => {
      const id = await workflow(chain(job('a'), job('b', null, 2), job('c')))
      expect(await row(id)).toMatchObject({
        state: 'running',
        startedAt: null,
        endedAt: null,
        createdAt: expect.any(Number),
      })
      await d.succeed(await d.claimOne())
      expect((await row(id)).startedAt).toBeTypeOf('number')
      const b = await d.claimOne()
      await d.fail(b)
      await d.pass(60_000)
      await d.fail(await d.claimOne(), { code: 'declined', message: 'no money' })
      expect(await row(id)).toMatchObject({ state: 'failed', succeeded: 1, failed: 1, endedAt: expect.any(Number) })
      expect((await d.engine.view(id))?.error).toMatchObject({ node: '1', code: 'declined', message: 'no money' })
      const failed = await runRow(b.runId)
      expect(failed).toMatchObject({ status: 'failed', attempt: 2, node: '1' })
      expect(JSON.parse(failed.error as string)).toMatchObject({ code: 'declined', message: 'no money' })
    })

    it('callbacks are tried again by their own policy before the batch fails', async () => {
      const id = await workflow(batch([job('a')], 2))
      await d.succeed(await d.claimOne())
      const finals = await d.claim()
      expect(types(finals).sort()).toEqual(['on.complete', 'on.success'])
      await d.succeed(byType(finals, 'on.success'))
      await d.fail(byType(finals, 'on.complete'))
      expect(await d.state(id)).toBe('running')
      await d.pass(60_000)
      await d.fail(await d.claimOne(), { code: 'no_report' })
      expect(await d.state(id)).toBe('failed')
      expect((await d.engine.view(id))?.error).toMatchObject({ node: 'on_complete', code: 'no_report' })
    })

    it('a cancelled batch fires no callback; what ran ends by itself and its result is kept', async () => {
      const id = await workflow(batch([job('a'), job('b')]))
      const active = await d.claimOne()
      await begin(active)
      await d.engine.cancelInstance({ id, actor: 'me' })
      expect((await d.succeed(active, 'kept')).status).toBe('recorded')
      expect(await d.claim()).toEqual([])
      expect(await row(id)).toMatchObject({ state: 'cancelled', succeeded: 1, failed: 0 })
      expect((await runRow(active.runId)).result).toBe('"kept"')
      expect((await d.engine.view(id))?.runs.map((r) => r.status).sort()).toEqual(['cancelled', 'succeeded'])
    })

    it('after a cancel the failure of an active job is final', async () => {
      const id = await workflow(group(job('a', null, 5)))
      const active = await d.claimOne()
      await begin(active)
      await d.engine.cancelInstance({ id, actor: null })
      await d.fail(active)
      expect(await d.state(id)).toBe('cancelled')
      expect((await runRow(active.runId)).status).toBe('failed')
    })

    it('a job cancelled alone, and one that times out for good, count as failed and the batch goes on', async () => {
      const slow: Tree = {
        kind: 'job',
        type: 'slow',
        args: null,
        options: { timeoutMs: 1000, retry: { maxAttempts: 1 } },
      }
      const id = await workflow(batch([job('a'), slow, job('c')]))
      const open = await d.claim()
      await begin(byType(open, 'slow'))
      await d.engine.cancelRun({ id: byType(open, 'a').runId, actor: 'me' })
      await d.pass(1001)
      await d.succeed(byType(open, 'c'))
      const finals = await d.claim()
      expect(types(finals).sort()).toEqual(['on.complete', 'on.failure'])
      for (const f of finals) await d.succeed(f)
      expect(await row(id)).toMatchObject({ state: 'completed', succeeded: 1, failed: 2 })
    })

    it.each([
      ['chain in group', group(chain(job('a'), job('b')), job('c'))],
      ['batch in group', group(batch([job('a')]), job('c'))],
      ['group in chain', chain(group(job('a'), job('b')), job('c'))],
      ['batch in chain', chain(batch([job('a')]), job('c'))],
      ['chain in batch', batch([chain(job('a'), job('b'))])],
      ['group in batch', batch([group(job('a'), job('b'))])],
    ])('%s: its end and its failure are those of the place it stands in', async (_, tree) => {
      const good = await workflow(tree)
      await d.work()
      expect(await d.state(good)).toBe('completed')
      const bad = await workflow(tree)
      const done = await d.work((w) => (w.type === 'a' || w.type === 'on.failure' ? new Error('bad') : null))
      expect(await d.state(bad)).toBe('failed')
      const [inner] = await d.store.read.children(bad)
      expect((inner as InstanceRow).state).toBe('failed')
      // A chain goes no further than its failed step; members of a group or batch do not mind.
      expect(done.includes('1')).toBe(false)
    })

    it('ids of workflows and jobs are UUIDs of version 7, in order of creation', async () => {
      const first = await workflow(chain(job('a')))
      const second = await workflow(chain(job('a')))
      const ids = [first, second, ...(await d.claim()).map((x) => x.runId)]
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(first < second).toBe(true)
    })

    it('every change of a workflow is told', async () => {
      const good = await workflow(batch([job('a'), job('b')]))
      await d.work((w) => (w.type === 'b' ? new Error('bad') : null))
      expect(await events(good)).toEqual([
        'instance.created',
        'created jobs',
        'created jobs',
        'instance.started',
        'succeeded jobs',
        'failed jobs',
        'created on_complete',
        'created on_failure',
        'succeeded on_complete',
        'succeeded on_failure',
        'instance.completed',
      ])
      const bad = await workflow(chain(job('a'), job('b')))
      await d.work(() => new Error('bad'))
      expect(await events(bad)).toEqual([
        'instance.created',
        'created 0',
        'instance.started',
        'failed 0',
        'instance.draining 0',
        'instance.failed',
      ])
      const cancelled = await workflow(chain(job('a')))
      await d.engine.cancelInstance({ id: cancelled, actor: 'me' })
      expect(await events(cancelled)).toEqual([
        'instance.created',
        'created 0',
        'instance.cancel_requested',
        'instance.draining',
        'cancelled 0',
        'instance.cancelled',
      ])
    })

    it('an ended workflow takes no further turn', async () => {
      const id = await workflow(chain(job('a')))
      await d.work()
      const before = await row(id)
      await expect(d.engine.cancelInstance({ id, actor: null })).rejects.toMatchObject({
        code: 'conflict',
        details: { state: 'completed' },
      })
      await expect(d.engine.retryInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
      await expect(d.engine.resumeInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
      await expect(d.engine.patchContext({ instanceId: id, set: { x: 1 }, actor: null })).rejects.toMatchObject({
        code: 'conflict',
      })
      await d.pass(10_000)
      expect(await row(id)).toEqual(before)
    })
  })

  describe('entry, routing, termination', () => {
    it('one token starts at the entry, whatever the node is called or where it stands', async () => {
      const id = await d.start({ net: net([node('end'), node('middle', ['end'])], { entry: ['middle'] }) })
      expect(await row(id)).toMatchObject({ live: 1, open: 1 })
      expect(await d.work()).toEqual(['middle', 'end'])
    })

    it.each([
      ['first', ['big']],
      ['every', ['big', 'any', 'also']],
    ] as const)('mode %s sends a token to %j', async (mode, expected) => {
      const arcs = [arc('never', 'input.n > 100'), arc('big', 'input.n > 10'), arc('any'), arc('also', 'results.a.ok')]
      const id = await d.start({
        net: net([routed('a', mode, arcs), node('never'), node('big'), node('any'), node('also')]),
        input: { n: 50 },
      })
      expect((await d.work((w) => (w.node === 'a' ? { ok: true } : null))).slice(1).sort()).toEqual(
        [...expected].sort(),
      )
      expect(await d.state(id)).toBe('completed')
    })

    it('a node fires once for every token that reaches it', async () => {
      const id = await d.start({ net: net([routed('a', 'every', [arc('b'), arc('b')]), node('b')]) })
      expect(await d.work()).toEqual(['a', 'b', 'b'])
      expect(await d.state(id)).toBe('completed')
    })

    it('the args of an arc belong to the run they were sent to', async () => {
      const arcs = [arc('b', null, { args: { n: '{{ input.n }}' } }), arc('b', null, { args: { n: 2 } })]
      await d.start({
        net: net([
          routed('a', 'every', arcs),
          routed('b', 'first', [arc('c', 'args.n == 2', { args: { from: '{{ args.n }}' } })]),
          node('c'),
        ]),
        input: { n: 1 },
      })
      await d.succeed(await d.claimOne())
      const both = await d.claim()
      expect(both.map((b) => b.payload)).toEqual(
        ['{"n":1}', '{"n":2}'].map((t) => expect.stringMatching(t.replace(':', ': ?'))),
      )
      await d.engine.patchContext({ instanceId: both[0]?.instanceId as string, set: { n: 9 }, actor: null })
      for (const b of both) await d.succeed(b)
      const c = await d.claim()
      expect(c.map((x) => JSON.parse(x.payload))).toEqual([{ from: 2 }])
      await d.succeed(c[0] as Delivery)
    })

    it.each([
      ['end', 'completed', null],
      ['fail', 'failed', 'no_match'],
    ] as const)('with noMatch %s a branch without a matching arc ends it %s', async (noMatch, state, code) => {
      const id = await d.start({
        net: net([routed('a', 'first', [arc('b', 'input.go')]), node('b')], { noMatch }),
        input: { go: false },
      })
      expect(await d.work()).toEqual(['a'])
      expect([await d.state(id), await d.error(id)]).toEqual([state, code])
    })

    it('arcs are tried after a failure too; a guarded one handles it, an open one does not', async () => {
      const handled = await d.start({
        net: net([
          routed('a', 'first', [arc('repair', "event.status == 'failed'"), arc('b')], {
            onFailure: 'route',
            retry: ONCE,
          }),
          node('repair'),
          node('b'),
        ]),
      })
      expect(await d.work((w) => (w.node === 'a' ? new Error('bad') : null))).toEqual(['a', 'repair'])
      expect(await d.state(handled)).toBe('completed')
      const open = await d.start({
        net: net([routed('a', 'first', [arc('b')], { onFailure: 'route', retry: ONCE }), node('b')]),
      })
      expect(await d.work((w) => (w.node === 'a' ? new Error('bad') : null))).toEqual(['a', 'b'])
      expect(await d.state(open)).toBe('failed')
    })

    it('the first admission rule that holds decides; a denied token can be thrown away', async () => {
      const admit = (onDeny: 'hold' | 'discard') => ({
        rules: [
          { when: 'input.n > 10', allow: false },
          { when: null, allow: true },
        ],
        onDeny,
      })
      const gated = (onDeny: 'hold' | 'discard') => net([node('a', ['b']), node('b', [], { admit: admit(onDeny) })])
      const open = await d.start({ net: gated('discard'), input: { n: 5 } })
      expect(await d.work()).toEqual(['a', 'b'])
      const denied = await d.start({ net: gated('discard'), input: { n: 50 } })
      expect(await d.work()).toEqual(['a'])
      expect(await events(denied)).toContain('node.discarded b')
      expect([await d.state(open), await d.state(denied)]).toEqual(['completed', 'completed'])
    })

    it('only held tokens left: it waits, or completes without them', async () => {
      const gated = (held: 'wait' | 'complete') =>
        net(
          [node('a', ['b']), node('b', [], { admit: { rules: [{ when: 'ctx.open', allow: true }], onDeny: 'hold' } })],
          { held },
        )
      const waits = await d.start({ net: gated('wait') })
      const completes = await d.start({ net: gated('complete') })
      expect(await d.work()).toEqual(['a', 'a'])
      expect([await d.state(waits), await d.state(completes)]).toEqual(['waiting', 'completed'])
      expect(await row(waits)).toMatchObject({ held: 1, open: 0 })
      await d.engine.cancelInstance({ id: waits, actor: null })
    })

    it('it is not complete while a retry is due or a join waits', async () => {
      const fork = {
        ...node('a', ['b', 'c']),
        next: { mode: 'every', arcs: [arc('b'), arc('c')], scope: 'join' },
      } as Node
      const id = await d.start({
        net: net([
          fork,
          node('b', ['join'], { retry: TWICE }),
          node('c', ['join']),
          node('join', [], { join: 'scope' }),
        ]),
      })
      await d.succeed(await d.claimOne())
      const both = await d.claim()
      await d.succeed(byType(both, 'c'))
      expect(await d.claim()).toEqual([])
      await d.fail(byType(both, 'b'))
      await d.pass(500)
      expect(await d.state(id)).toBe('running')
      await d.pass(600)
      expect(await d.work()).toEqual(['b', 'join'])
      expect(await d.state(id)).toBe('completed')
    })

    it.each([
      ['fail', 'failed', 'failed'],
      ['partial', 'completed', 'partial'],
    ] as const)(
      'a final runs once after the last branch, also after a failure, and its own failure means %s',
      async (onFailure, state, outcome) => {
        const ended = (finals: Net['finals']) =>
          net(
            [node('a', ['b', 'c'], {}), node('b'), node('c', [], { retry: ONCE }), node('last', [], { retry: ONCE })],
            { finals },
          )
        const finals = [{ node: 'last', when: 'always', onFailure }] as const
        const good = await d.start({ net: ended(finals) })
        const order = await d.work((w) => (w.node === 'last' ? new Error('bad') : null))
        expect([order.at(-1), order.filter((n) => n === 'last').length]).toEqual(['last', 1])
        expect(await row(good)).toMatchObject({ state, outcome })
        const bad = await d.start({ net: ended(finals) })
        expect((await d.work((w) => (w.node === 'c' ? new Error('bad') : null))).at(-1)).toBe('last')
        expect(await d.state(bad)).toBe('failed')
      },
    )

    it.each([
      [{ failedOn: 'unhandled', partial: false }, 'failed', 'failed'],
      [{ failedOn: 'unhandled', partial: true }, 'completed', 'partial'],
      [{ failedOn: 'finals', partial: false }, 'completed', 'success'],
    ] as const)('the verdict over a failed branch follows the policy %j', async (verdict, state, outcome) => {
      const id = await d.start({
        net: net([node('a', ['b', 'c']), node('b', [], { retry: ONCE, onFailure: 'route' }), node('c')], { verdict }),
      })
      await d.work((w) => (w.node === 'b' ? new Error('bad') : null))
      expect(await row(id)).toMatchObject({ state, outcome, failed: 1, succeeded: 2 })
    })

    it('a pass node routes and sets the context without a worker', async () => {
      const id = await d.start({
        net: net([
          routed('route', 'first', [arc('b', null, { set: { colour: '{{ input.colour }}' } })], {
            work: { kind: 'pass' },
          }),
          node('b', [], { work: run('b', { args: { c: '{{ ctx.colour }}' } }) }),
        ]),
        input: { colour: 'red' },
      })
      const b = await d.claimOne()
      expect(JSON.parse(b.payload)).toEqual({ c: 'red' })
      await d.succeed(b)
      expect(await d.state(id)).toBe('completed')
    })
  })

  describe('inbox', () => {
    it('a run without a policy is tried after 1 and 4 minutes, up to a tenth later, then fails for good', async () => {
      const delays = [0, 0.5, 0.999].map((r) => [1, 2].map((n) => backoffMs(INBOX_RETRY, n, () => r) / 60_000))
      for (const [first = 0, second = 0] of delays) {
        expect([first >= 1, first < 1.1, second >= 4, second < 4.4]).toEqual([true, true, true, true])
      }
      const [made] = await d.engine.enqueue([{ type: 'x', payload: null }])
      const id = (made as { id: string }).id
      for (const [attempt, minutes] of [
        [1, 1.1],
        [2, 4.4],
      ] as const) {
        await d.fail(await d.claimOne())
        expect(await runRow(id)).toMatchObject({ status: 'pending', attempt })
        await d.pass(minutes * 60_000 * 0.9)
        expect(await d.claim()).toEqual([])
        await d.pass(minutes * 60_000 * 0.1)
      }
      await d.fail(await d.claimOne())
      expect(await runRow(id)).toMatchObject({ status: 'failed', attempt: 3, maxAttempts: 3, lastError: 'it broke' })
      expect(await d.claim()).toEqual([])
      const told = await d.store.read.runHistory(id)
      expect(told.map((e) => e.type).filter((t) => t === 'retried' || t === 'failed')).toEqual([
        'retried',
        'retried',
        'failed',
      ])
      expect(JSON.parse(told.at(-1)?.data as string)).toMatchObject({ attempt: 3, error: { message: 'it broke' } })
    })

    it('work is accepted and waits though no worker lives', async () => {
      await d.session.close()
      const [made] = await d.engine.enqueue([{ type: 'x', payload: { n: 1 } }])
      await d.pass(30 * 24 * 3_600_000)
      expect(await runRow((made as { id: string }).id)).toMatchObject({ status: 'pending', attempt: 0 })
      d.session = await d.newSession({ name: 'at last' })
      expect(JSON.parse((await d.claimOne()).payload)).toEqual({ n: 1 })
    })

    it('a foreign lease that ran out is claimable at once, for one attempt; the third loss is final', async () => {
      const now = await d.store.now()
      const lease = { status: 'leased', leasedBy: 'go-1', createdAt: now, runAt: now } as const
      const lost = aRun({ ...lease, leaseUntil: now + 30_000 })
      const poison = aRun({ ...lease, leaseUntil: now + 30_000, attempt: 2 })
      await put(d.store, { runs: { insert: [lost, poison] } })
      await d.pass(29_000)
      expect((await runRow(lost.id)).status).toBe('leased')
      await d.pass(2_000)
      expect(await runRow(lost.id)).toMatchObject({ status: 'pending', attempt: 1, leasedBy: null, leaseUntil: null })
      expect(await runRow(poison.id)).toMatchObject({ status: 'failed', attempt: 3 })
      expect((await d.claim()).map((x) => [x.runId, x.attempt])).toEqual([[lost.id, 2]])
    })

    it('an outcome that a foreign worker wrote into the row moves the workflow on', async () => {
      const id = await d.start({ net: net([node('a', ['b']), node('b', ['c'], { retry: ONCE }), node('c')]) })
      const finish = async (node: string, given: Partial<RunRow>): Promise<void> => {
        const view = await d.engine.view(id)
        const found = view?.runs.find((r) => r.node === node) as RunRow
        await put(d.store, { runs: { update: [{ ...found, ...given }] } })
        await d.engine.sweep()
      }
      await finish('a', { status: 'succeeded', result: '{"from":"go"}' })
      expect((await d.results(id)).a).toEqual({ from: 'go' })
      await finish('b', { status: 'failed', attempt: 1, lastError: 'go said no' })
      expect(await d.state(id)).toBe('failed')
      expect((await d.engine.view(id))?.error).toMatchObject({ node: 'b', message: 'go said no' })
    })

    it('a cancelled run stays cancelled, whatever its worker says later', async () => {
      const [made] = await d.engine.enqueue([{ type: 'x', payload: null, maxAttempts: 5 }])
      const id = (made as { id: string }).id
      const delivery = await d.claimOne()
      await d.engine.cancelRun({ id, actor: 'ann' })
      expect([(await d.fail(delivery)).status, (await d.succeed(delivery)).status]).toEqual(['stale', 'stale'])
      await d.pass(3_600_000)
      expect(await runRow(id)).toMatchObject({ status: 'cancelled', result: null, leasedBy: null })
      expect((await d.store.read.runHistory(id)).map((e) => e.type)).toEqual(['created', 'leased', 'cancelled'])
    })
  })

  describe('state machine', () => {
    const gate = { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' } as const

    it('steps without dependencies, and with the same, run side by side', async () => {
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

    it('abort stops what has not begun, lets what runs end, and undoes nothing', async () => {
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
      await begin(c)
      await d.fail(b)
      expect(await d.state(id)).toBe('running')
      await d.succeed(c)
      expect(await d.claim()).toEqual([])
      expect(await row(id)).toMatchObject({ state: 'failed', outcome: 'failed', succeeded: 2, failed: 1 })
      const statuses = (await d.engine.view(id))?.runs.map((r) => [r.node, r.status])
      expect(Object.fromEntries(statuses ?? [])).toEqual({
        a: 'succeeded',
        b: 'failed',
        c: 'succeeded',
        e: 'cancelled',
      })
    })

    it('a failing sibling waits for the others before the undo begins, and a late success is undone too', async () => {
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
      await begin(byType(open, 'c'))
      await d.fail(byType(open, 'b'))
      expect(await d.state(id)).toBe('compensating')
      expect(await d.claim()).toEqual([])
      await d.succeed(byType(open, 'c'))
      expect(await d.work()).toEqual(['undo c', 'undo a'])
      expect(await row(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
    })

    it('completed steps without an undo are passed over', async () => {
      const id = await d.start({
        net: net(
          [node('a', ['read'], { undo: undoBy('undo.a') }), node('read', ['c']), node('c', [], { retry: ONCE })],
          { onFailure: 'compensate' },
        ),
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
      expect(await row(id)).toMatchObject({ state: 'failed', outcome: 'rolled_back_partial' })
      await expect(d.engine.resumeInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    })

    it('an undo is tried again under one key that is not the key of its step', async () => {
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

    it('the deadline of the workflow counts while it waits at a gate, and follows the failure policy', async () => {
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
      expect(await row(aborts)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
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
      expect(await events(id)).toEqual(
        expect.arrayContaining(['instance.waiting', 'gate.rejected ok', 'node.skipped ok', 'instance.resumed']),
      )
    })

    it('a step past its timeout is not tried again and takes its failure action', async () => {
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
      await begin(a)
      await d.pass(1001)
      expect(await runRow(a.runId)).toMatchObject({ status: 'failed', attempt: 1 })
      expect(await d.work()).toEqual(['b'])
      expect(await d.state(id)).toBe('completed')
    })

    it('the timeout of a step is one clock over all its attempts', async () => {
      const id = await d.start({
        net: net([node('a', [], { timeout: { ms: 5000, per: 'node' }, retry: { ...TWICE, maxAttempts: 5 } })]),
      })
      const first = await d.claimOne()
      await begin(first)
      await d.pass(2000)
      await d.fail(first)
      await d.pass(1001)
      const second = await d.claimOne()
      await begin(second)
      await d.pass(2001)
      expect(await runRow(second.runId)).toMatchObject({ status: 'failed', attempt: 2 })
      expect(await d.error(id)).toBe('timeout')
    })

    it('errors are tried again by category where the policy names categories', async () => {
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

  describe('saga', () => {
    it('a start with a known key is the instance already there', async () => {
      const start = { net: net([node('a')]), startKey: 'order-1' }
      const id = await d.start(start)
      expect(await d.engine.start([start])).toEqual([{ id, created: false }])
      expect(await d.claim()).toHaveLength(1)
      const own = '01920000-0000-7000-8000-00000000abcd'
      expect(await d.start({ net: net([node('a')]), id: own })).toBe(own)
    })

    it('a step whose answer comes later goes on with the completion, and a second completion changes nothing', async () => {
      const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
      const a = await d.claimOne()
      await d.session.settle({
        delivery: a,
        reportId: 'deferred',
        startedAt: await d.store.now(),
        outcome: { kind: 'deferred' },
        wantNext: false,
      })
      await d.pass(48 * 3_600_000)
      expect(await d.state(id)).toBe('running')
      await d.engine.complete({ runId: a.runId, outcome: { kind: 'succeeded', result: { ok: 1 } } })
      await expect(
        d.engine.complete({ runId: a.runId, outcome: { kind: 'failed', error: { code: 'x', message: 'x' } } }),
      ).rejects.toMatchObject({ code: 'conflict' })
      expect(await d.work()).toEqual(['b'])
      expect(await d.state(id)).toBe('completed')
      expect(await d.results(id)).toMatchObject({ a: { ok: 1 } })
    })

    it('a failed completion of a later answer undoes what was done before', async () => {
      const id = await d.start({
        net: net([node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE })], {
          onFailure: 'compensate',
        }),
      })
      await d.succeed(await d.claimOne())
      const b = await d.claimOne()
      await d.session.settle({
        delivery: b,
        reportId: 'deferred b',
        startedAt: null,
        outcome: { kind: 'deferred' },
        wantNext: false,
      })
      await d.engine.complete({
        runId: b.runId,
        outcome: { kind: 'failed', error: { code: 'refused', message: 'no' } },
      })
      expect(await d.work()).toEqual(['undo a'])
      expect(await d.state(id)).toBe('compensated')
      expect(await d.error(id)).toBe('refused')
    })

    it('results of undos never count as results of steps', async () => {
      const id = await d.start({
        net: net([
          node('a', ['b'], { undo: undoBy('undo.a') }),
          node('b', [], { retry: ONCE, onFailure: 'compensate' }),
        ]),
      })
      await d.work((w) => (w.role === 'undo' ? 'undone' : w.node === 'b' ? new Error('bad') : 'done'))
      expect((await d.results(id)).a).toBe('done')
    })

    it.each([
      ['stop', 'failed', []],
      ['ignore', 'compensated', ['undo a']],
      ['undo', 'compensated', ['undo b', 'undo a']],
    ] as const)('a step that stays silent is treated as the policy %s says', async (unknown, state, undone) => {
      const undo = { undo: undoBy('undo') }
      const id = await d.start({
        net: net(
          [node('a', ['b'], undo), node('b', [], { ...undo, retry: ONCE, timeout: { ms: 1000, per: 'node' } })],
          { unknown, onFailure: 'compensate' },
        ),
      })
      await d.succeed(await d.claimOne())
      const b = await d.claimOne()
      await d.session.settle({
        delivery: b,
        reportId: `silent ${unknown}`,
        startedAt: await d.store.now(),
        outcome: { kind: 'deferred' },
        wantNext: false,
      })
      await d.pass(1001)
      expect(await d.work()).toEqual(undone)
      expect(await d.state(id)).toBe(state)
    })

    it('the state in which a process died is all another one needs', async () => {
      const id = await d.start({
        net: net([node('a', ['b']), node('b', ['c']), node('c')]),
        literals: { b: { args: ['from', 'the', 'start'] } },
      })
      await d.succeed(await d.claimOne(), 'A')
      await d.claimOne()
      const { Engine } = await import('../../src/engine/engine.ts')
      const other = await Engine.open({ store: d.store, sweep: false, sessionTtlMs: 1000 })
      // The session of the first process beats no more; nobody told its run to come back.
      const gone = await d.store.read.workers()
      await put(d.store, { workers: { put: gone.map((w) => ({ ...w, expiresAt: 0 })) } })
      await other.sweep()
      const inbox = { room: () => 0, deliver: () => {}, wake: () => {}, holding: () => [], stop: () => {} }
      const session = await other.workers.open(
        { name: 'second', runtime: 'node', queues: null, types: null, concurrency: 1, tenant: null },
        inbox,
      )
      const order: (string | null)[] = []
      for (let [next] = await session.claim(1); next !== undefined; [next] = await session.claim(1)) {
        order.push(`${next.node} ${next.payload} after ${[...(await session.results(next)).byNode.keys()].sort()}`)
        await session.settle({
          delivery: next,
          reportId: `second ${next.node}`,
          startedAt: null,
          outcome: { kind: 'succeeded', result: null },
          wantNext: false,
        })
      }
      expect(order.map((o) => o?.replaceAll(', ', ','))).toEqual([
        'b ["from","the","start"] after a',
        'c null after a,b',
      ])
      expect(await d.state(id)).toBe('completed')
      await session.close()
      await other.close()
    })

    it('a definition of one instance does not change with a later one of the same name', async () => {
      const before = net([node('a', ['old']), node('old')])
      const after = net([node('a', ['new']), node('new')])
      expect(netHash(before)).not.toBe(netHash(after))
      await d.start({ net: before })
      const a = await d.claimOne()
      await d.start({ net: after })
      await d.succeed(a)
      expect((await d.work()).sort()).toEqual(['a', 'new', 'old'])
    })
  })
})

describe('a workflow of jobs as a file', () => {
  it('takes queue, timeout and retry of each job in the words of OJS', async () => {
    const { start } = await readDefinition(
      'order.json',
      JSON.stringify({
        type: 'chain',
        id: 'wf_order',
        name: 'order',
        steps: [
          {
            type: 'order.check',
            args: [{ id: 'o1' }],
            options: { queue: 'orders', retry: { max_attempts: 4, backoff: 'exponential', base_delay_ms: 500 } },
          },
          { type: 'card.charge', args: [], options: { timeout_ms: 30_000, retry: { max_attempts: 5 } } },
        ],
      }),
    )
    expect(start.net).toMatchObject({ name: 'order', dialect: 'ojs', entry: ['0'] })
    expect(start.net.nodes).toMatchObject([
      {
        work: { type: 'order.check', queue: 'orders' },
        retry: { maxAttempts: 4, backoff: 'exponential', initialMs: 500 },
      },
      {
        work: { type: 'card.charge', queue: 'default' },
        retry: { maxAttempts: 5 },
        timeout: { ms: 30_000, per: 'attempt' },
      },
    ])
    expect(start.literals).toMatchObject({ 0: { args: [{ id: 'o1' }] }, 1: { args: [] } })
  })

  it('takes the jobs and callbacks of a batch', async () => {
    const { start } = await readDefinition(
      'mail.json',
      JSON.stringify({
        type: 'batch',
        jobs: [
          { type: 'mail.send', args: ['a'] },
          { type: 'mail.send', args: ['b'] },
        ],
        callbacks: {
          on_complete: { type: 'mail.report', args: [] },
          on_failure: { type: 'mail.alert', args: [], options: { queue: 'alerts' } },
        },
      }),
    )
    expect(start.items?.['jobs']).toMatchObject([{ run: { args: ['a'] } }, { run: { args: ['b'] } }])
    expect(start.net.finals).toMatchObject([
      { node: 'on_complete', when: 'always' },
      { node: 'on_failure', when: 'failure' },
    ])
    expect(start.net.nodes.find((n) => n.key === 'on_failure')?.work).toMatchObject({
      type: 'mail.alert',
      queue: 'alerts',
    })
  })
})

describe.skipIf(postgresUrl() === null)('the tables of the inbox', () => {
  let subject: PostgresSubject
  beforeAll(async () => {
    subject = await postgresSubject()
  })
  afterAll(() => subject.close())

  const sql = async (text: string): Promise<Record<string, unknown>[]> => (await subject.foreign.query(text)).rows
  /** `type`, `type!` where NULL is refused, and the default behind a colon. */
  const columns = async (table: string): Promise<Record<string, string>> => {
    const rows = await sql(`SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns
      WHERE table_schema = 'workflow' AND table_name = '${table}'`)
    return Object.fromEntries(
      rows.map((r) => {
        const given =
          r['column_default'] === null ? '' : `: ${String(r['column_default']).replace(/::\w+( \w+)*/g, '')}`
        return [r['column_name'], `${r['data_type']}${r['is_nullable'] === 'NO' ? '!' : ''}${given}`]
      }),
    )
  }
  const time = 'timestamp with time zone'

  it('workflow_run has the columns, types and defaults that clients expect', async () => {
    expect(await columns('workflow_run')).toMatchObject({
      id: 'uuid!: gen_random_uuid()',
      type: 'text!',
      payload: 'jsonb!',
      status: "text!: 'pending'",
      priority: 'integer!: 100',
      run_at: `${time}!: now()`,
      idempotency_key: 'text',
      attempt: 'integer!: 0',
      max_attempts: 'integer!: 3',
      leased_by: 'text',
      lease_until: time,
      last_error: 'text',
      result: 'jsonb',
      created_at: `${time}!: now()`,
      updated_at: `${time}!: now()`,
      deleted_at: time,
    })
  })

  it('whatever we added to workflow_run may be left out of an INSERT', async () => {
    const needed = Object.entries(await columns('workflow_run')).filter(([, c]) => c.endsWith('!'))
    expect(needed.map(([name]) => name).sort()).toEqual(['payload', 'type'])
  })

  it('workflow_event numbers its rows and dates them by itself', async () => {
    expect(await columns('workflow_event')).toMatchObject({
      id: expect.stringMatching(/^bigint!: nextval/),
      workflow_id: 'uuid',
      event_type: 'text!',
      data: 'jsonb',
      created_at: `${time}!: now()`,
    })
  })

  it('workflow_registry has one runtime per name, enabled by default', async () => {
    expect(await columns('workflow_registry')).toMatchObject({
      workflow_name: 'text!',
      intent_type: "text!: 'workflow'",
      runtime: 'text!',
      is_enabled: 'boolean!: true',
      description: 'text',
      created_at: `${time}!: now()`,
      updated_at: `${time}!: now()`,
    })
    const register = (runtime: string) =>
      sql(`INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('media.cut.v1', '${runtime}')`)
    await register('go')
    await expect(register('python')).rejects.toThrow(/unique/)
  })

  it('updated_at follows every change', async () => {
    const run = aRun({ createdAt: T0 })
    await put(subject.store, { runs: { insert: [run] } })
    const at = async () =>
      (await sql(`SELECT updated_at FROM workflow_run WHERE id = '${run.id}'`))[0]?.['updated_at'] as Date
    const before = await at()
    await setClock(subject.store, 60_000)
    await put(subject.store, { runs: { update: [{ ...run, status: 'cancelled', settledAt: T0, finishedAt: T0 }] } })
    expect((await at()).getTime()).toBeGreaterThan(before.getTime())
  })
})

describe('delays between attempts', () => {
  const at = (retry: Partial<typeof INBOX_RETRY>, random = 0.5) =>
    [1, 2, 3, 4].map((n) => backoffMs({ ...INBOX_RETRY, jitter: 0, ...retry }, n, () => random))

  it('are constant, linear or exponential from the first, up to the greatest', () => {
    expect(at({ backoff: 'constant', initialMs: 5000 })).toEqual([5000, 5000, 5000, 5000])
    expect(at({ backoff: 'linear', initialMs: 5000 })).toEqual([5000, 10_000, 15_000, 20_000])
    expect(at({ backoff: 'exponential', initialMs: 1000, coefficient: 2 })).toEqual([1000, 2000, 4000, 8000])
    expect(at({ backoff: 'exponential', initialMs: 1000, coefficient: 2, maxMs: 3000 })).toEqual([
      1000, 2000, 3000, 3000,
    ])
  })
})
