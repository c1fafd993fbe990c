/** Why: the reason for which each node that has not ended waits. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { GateWork, Json, Net } from '../../src/net/net.ts'
import type { Why } from '../../src/views/why.ts'
import type { Reason, Wait } from '../../src/views/why-reasons.ts'
import { SHARED } from '../inbox/foreign.ts'
import { Stage } from '../inbox/stage.ts'
import { type Drive, net, node, ONCE, run, undoBy } from './drive.ts'
import { arc, begin, byType, routed } from './specifications/stage.ts'

const gate = (options: Json = null, rest: Partial<GateWork> = {}): GateWork => ({
  kind: 'gate',
  options,
  timeoutMs: null,
  onTimeout: 'reject',
  ...rest,
})
const TWICE = { ...ONCE, maxAttempts: 2, initialMs: 60_000, maxMs: 60_000 }
const childOf = (inner: Net) => ({ kind: 'child', net: netHash(inner), mode: 'attached', input: null }) as const

describe.each(SHARED)('why on $name', (place) => {
  let s: Stage
  let d: Drive
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
  })
  afterEach(() => s.close())

  const why = async (instanceId: string, page: { after?: string; limit?: number } = {}): Promise<Why> =>
    (await d.engine.why({ instanceId, ...page })) as Why
  const waitAt = async (id: string, key: string): Promise<Wait> =>
    (await why(id)).waits.find((wait) => wait.node === key) as Wait
  const reasons = async (id: string, key: string): Promise<readonly Reason[]> => (await waitAt(id, key)).reasons
  const kinds = async (id: string, key: string): Promise<string[]> => (await reasons(id, key)).map(({ kind }) => kind)

  it('an unmet dependency: which nodes, and their states; unreachable ones are not listed', async () => {
    const nodes = [node('a', ['c']), node('b', ['c']), node('c', ['e'], { join: 'count' }), node('e')]
    const id = await d.start({ net: net(nodes, { entry: ['a', 'b'] }) })
    const both = await d.claim()
    await d.succeed(byType(both, 'a'))
    const { waits, about } = await why(id)
    expect(about).toEqual([])
    expect(waits.map(({ node, state }) => [node, state])).toEqual([
      ['b', 'running'],
      ['c', 'pending'],
      ['e', 'pending'],
    ])
    expect(await reasons(id, 'c')).toEqual([{ kind: 'dependency', nodes: [{ node: 'b', state: 'running' }], more: 0 }])
    expect(await reasons(id, 'e')).toEqual([{ kind: 'dependency', nodes: [{ node: 'c', state: 'pending' }], more: 0 }])
  })

  it('dependencies excluded by the routing are not listed', async () => {
    const arcs = [arc('x', 'false'), arc('y')]
    const id = await d.start({ net: net([routed('s', 'first', arcs), node('x', ['z']), node('y'), node('z')]) })
    expect((await why(id)).waits.map((wait) => wait.node)).toEqual(['s', 'x', 'y', 'z'])
    await d.succeed(await d.claimOne())
    expect((await why(id)).waits.map((wait) => wait.node)).toEqual(['y'])
  })

  it('a full limit: its key, its use and its size', async () => {
    await d.engine.setLimit({ key: 'key:stripe', maxConcurrent: 1 })
    const id = await d.start({ net: net([node('pay', [], { work: run('pay', { limitKey: 'stripe' }) })]) })
    const other = await d.start({ net: net([node('pay', [], { work: run('pay', { limitKey: 'stripe' }) })]) })
    expect(await kinds(id, 'pay')).toEqual(['queue'])
    await d.claim()
    expect((await reasons(other, 'pay'))[0]).toEqual({ kind: 'limit', key: 'key:stripe', inUse: 1, max: 1 })
  })

  it('a used-up rate: its size, its use, and the time of the next place', async () => {
    await d.engine.setLimit({ key: 'queue:mail', ratePer: 1, periodMs: 60_000 })
    const mail = net([node('m', [], { work: run('m', { queue: 'mail' }) })])
    await d.start({ net: mail })
    const id = await d.start({ net: mail })
    await d.claim()
    const [rate] = await reasons(id, 'm')
    expect(rate).toMatchObject({ kind: 'rate', key: 'queue:mail', used: 1, per: 1, periodMs: 60_000 })
    const now = await d.store.now()
    expect((rate as { opensAt: number }).opensAt - now).toBeGreaterThan(50_000)
    await d.pass(60_001)
    expect(await kinds(id, 'm')).toEqual(['queue'])
  })

  it('a paused queue, and also the position in it', async () => {
    const id = await d.start({ net: net([node('a', [], { work: run('a', { queue: 'slow' }) })]) })
    await d.engine.pauseQueue({ queue: 'slow', paused: true, actor: null })
    expect(await kinds(id, 'a')).toEqual(['paused', 'queue'])
    expect((await reasons(id, 'a'))[0]).toMatchObject({ kind: 'paused', what: 'queue', queue: 'slow', by: null })
  })

  it('the position in its queue: by priority, time and id over all types, due ones only, counted up to a bound', async () => {
    await d.engine.enqueue([
      { type: 'x', payload: null },
      { type: 'y', payload: null, priority: 50 },
      { type: 'y', payload: null, priority: 200 },
      { type: 'z', payload: null, delayMs: 60_000, priority: 1 },
      { type: 'x', payload: null, queue: 'elsewhere' },
    ])
    const id = await d.start({ net: net([node('a')]) })
    await d.engine.enqueue([{ type: 'x', payload: null }])
    const place = { kind: 'queue', queue: 'default', ahead: { count: 2, more: false }, workers: 1 }
    expect(await reasons(id, 'a')).toEqual([place])
    await d.engine.enqueue(Array.from({ length: 1_001 }, () => ({ type: 'w', payload: null, priority: 10 })))
    expect(await reasons(id, 'a')).toEqual([{ ...place, ahead: { count: 1_000, more: true } }])
  })

  it('runs that are due at the same moment are ordered by id', async () => {
    const at = (await d.store.now()) - 1_000
    await d.engine.enqueue(Array.from({ length: 5 }, () => ({ type: 'x', payload: null, runAt: at })))
    const rows = await d.store.read.listRuns({
      status: ['pending'],
      queue: 'default',
      type: null,
      deadLetter: null,
      tenant: null,
      limit: 10,
      before: null,
    })
    const ahead = await Promise.all(rows.map(async (row) => (await d.engine.whyRun(row)).reasons.at(-1)))
    expect(ahead.map((reason) => (reason as { ahead: { count: number } }).ahead.count)).toEqual([4, 3, 2, 1, 0])
  })

  it('no live worker for its type, its queue, or its runtime', async () => {
    const id = await d.start({ net: net([node('a', [], { work: run('mail.send', { queue: 'mail' }) })]) })
    await d.session.close()
    const worker = { kind: 'worker', type: 'mail.send', queue: 'mail', tools: [], runtime: null }
    expect(await reasons(id, 'a')).toContainEqual(worker)
    const wrongQueue = await d.newSession({ queues: ['other'] })
    const wrongType = await d.newSession({ types: ['sms.%'] })
    expect(await reasons(id, 'a')).toContainEqual(worker)
    const right = await d.newSession({ queues: ['mail'], types: ['mail.%'] })
    expect(await kinds(id, 'a')).toEqual(['queue'])
    await d.engine.registry.put({ workflowName: 'mail.send', runtime: 'go', actor: null })
    expect(await reasons(id, 'a')).toContainEqual({ ...worker, runtime: 'go' })
    await d.engine.registry.put({ workflowName: 'mail.send', isEnabled: false, actor: null })
    expect(await kinds(id, 'a')).toContain('disabled')
    for (const session of [wrongQueue, wrongType, right]) await session.close()
  })

  it('a lease: its holder, its start, its attempt, and its timeout', async () => {
    const id = await d.start({ net: net([node('a', [], { timeout: { ms: 300_000, per: 'node' } })]) })
    const a = await d.claimOne()
    expect(await reasons(id, 'a')).toMatchObject([
      { kind: 'lease', by: 'session', holder: 'driver', startedAt: null, until: null, timeoutAt: null, attempt: 1 },
    ])
    await begin(d, a)
    const [lease] = await reasons(id, 'a')
    const { startedAt, timeoutAt, worker } = lease as { startedAt: number; timeoutAt: number; worker: { pid: number } }
    expect(timeoutAt - startedAt).toBe(300_000)
    expect(worker.pid).toBe(process.pid)
    expect((await waitAt(id, 'a')).run).toBe(a.runId)
  })

  it('a lease over HTTP has its own end, and so has one by plain SQL', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
    const asked = { queues: null, types: null, limit: 1, runtime: null, tenant: null, waitMs: 0 }
    const [held] = await d.engine.leases.fetch({ ...asked, holder: 'curl-1', leaseMs: () => 30_000 })
    const now = await d.store.now()
    const [lease] = (await reasons(id, 'a')) as readonly { until: number }[]
    expect(lease).toMatchObject({ kind: 'lease', by: 'lease', holder: 'curl-1', worker: null })
    expect((lease?.until ?? 0) - now).toBeGreaterThan(25_000)
    const outcome = { kind: 'succeeded', result: null } as const
    await d.engine.leases.settle([{ runId: held?.id ?? '', holder: null, attempt: null, outcome }])
    const sql = await s.foreign()
    await sql.claimed('py-1', 'b', 60)
    expect(await reasons(id, 'b')).toMatchObject([
      { kind: 'lease', by: 'sql', holder: 'py-1', worker: null, attempt: 1 },
    ])
  })

  it('a retry: when, which attempt of how many, and the error', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: TWICE })]) })
    await d.fail(await d.claimOne(), { code: 'busy', message: 'try later' })
    const now = await d.store.now()
    const wait = await waitAt(id, 'a')
    expect(wait.state).toBe('running')
    expect(wait.reasons).toMatchObject([
      { kind: 'retry', attempt: 2, maxAttempts: 2, error: { code: 'busy', message: 'try later' } },
    ])
    expect((wait.reasons[0] as { at: number }).at - now).toBeGreaterThan(50_000)
  })

  it('work that is due later, and work held until it is activated', async () => {
    const id = await d.start({ net: net([node('a', [], { work: run('a', { delayMs: 60_000 }) })]) })
    expect(await kinds(id, 'a')).toEqual(['scheduled'])
    const [held] = await d.engine.enqueue([{ type: 'x', payload: null, runAt: Date.UTC(9999, 0, 1) }])
    const row = await s.run(held?.id ?? '')
    expect((await d.engine.whyRun(row)).reasons).toEqual([{ kind: 'activation', run: row.id }])
  })

  it('a gate: approvals, missing votes, roles, excluded voters, the deadline and the next escalation', async () => {
    const options = { title: 'Pay?', quorum: 2, of: ['ann', 'bob', 'zoe'], roles: ['finance'], excludeInitiator: true }
    const work = gate({ ...options, escalate: [{ after: 1_000_000 }] }, { timeoutMs: 3_600_000 })
    const id = await d.start({ net: net([node('ok', [], { work })]), initiator: 'zoe' })
    const [open] = await d.store.read.openGates({ instanceId: id, limit: 1 })
    await d.engine.answerGate({ gateId: open?.id ?? '', approved: true, actor: 'ann', roles: ['finance'] })
    const [reason] = await reasons(id, 'ok')
    expect(reason).toMatchObject({
      kind: 'gate',
      gate: open?.id,
      title: 'Pay?',
      approvals: 1,
      quorum: 2,
      missing: ['bob'],
      roles: ['finance'],
      excluded: ['zoe'],
      onTimeout: 'reject',
      appeal: null,
    })
    const { dueAt, since, escalatesAt } = reason as { dueAt: number; since: number; escalatesAt: number }
    expect([dueAt - since, escalatesAt - since]).toEqual([3_600_000, 1_000_000])
    expect((await waitAt(id, 'ok')).state).toBe('running')
  })

  it('work that governance forbids: who decides, and its error', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: ONCE, appeal: gate({ roles: ['security'] }) })]) })
    const a = await d.claimOne()
    await d.fail(a, { code: 'pii', message: 'holds personal data', category: 'governance' })
    const wait = await waitAt(id, 'a')
    expect([wait.state, wait.run]).toEqual(['running', a.runId])
    expect(wait.reasons).toMatchObject([
      { kind: 'gate', roles: ['security'], appeal: { code: 'pii', message: 'holds personal data' } },
    ])
  })

  it('a nested workflow: its own reasons, down through the levels', async () => {
    const inner = net([node('ok', [], { work: gate({ of: ['ann'] }) })], { name: 'inner' })
    const middle = net([node('deep', [], { work: childOf(inner) })], { name: 'middle' })
    const nodes = [node('sub', ['after'], { work: childOf(middle) }), node('after')]
    const id = await d.start({ net: net(nodes), nets: [middle, inner] })
    expect(await reasons(id, 'sub')).toMatchObject([
      {
        kind: 'child',
        child: { name: 'middle', state: 'running' },
        waits: [
          {
            node: 'deep',
            reasons: [
              {
                kind: 'child',
                child: { name: 'inner', state: 'waiting' },
                waits: [{ node: 'ok', reasons: [{ kind: 'gate', missing: ['ann'] }] }],
                more: false,
              },
            ],
          },
        ],
      },
    ])
  })

  it('of a large nested workflow only the beginning, marked as truncated', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `n${i}`)
    const inner = net(
      names.map((name) => node(name)),
      { name: 'inner', entry: names },
    )
    const id = await d.start({ net: net([node('sub', [], { work: childOf(inner) })]), nets: [inner] })
    const [child] = (await reasons(id, 'sub')) as readonly { waits: readonly Wait[]; more: boolean }[]
    expect([child?.waits.length, child?.more]).toEqual([3, true])
  })

  it('deferred work: which run has to be completed', async () => {
    const id = await d.start({ net: net([node('a', [], { timeout: { ms: 60_000, per: 'node' } })]) })
    const delivery = await d.claimOne()
    await d.session.settle({
      delivery,
      reportId: 'deferred',
      startedAt: Date.now(),
      outcome: { kind: 'deferred' },
      wantNext: false,
    })
    const [reason] = await reasons(id, 'a')
    expect(reason).toMatchObject({ kind: 'completion', run: delivery.runId })
    expect((reason as { timeoutAt: number | null }).timeoutAt).not.toBeNull()
  })

  it('an idle instance waits to be started, a queued one for a slot', async () => {
    const idle = await d.start({ net: net([node('a')], { name: 'idle' }), start: false })
    expect(await why(idle)).toMatchObject({ about: [{ kind: 'idle' }], waits: [], next: null })
    const start = { net: net([node('a')], { name: 'slotted' }), slots: 1 }
    await d.start(start)
    const [second, third] = [await d.start(start), await d.start(start)]
    const slot = { kind: 'slot', key: 'workflow::slotted', inUse: 1, max: 1 }
    expect((await why(second)).about).toEqual([{ ...slot, ahead: { count: 0, more: false } }])
    expect((await why(third)).about).toEqual([{ ...slot, ahead: { count: 1, more: false } }])
  })

  it('a rollback: the current undo, the next ones in order, and the cause', async () => {
    const undo = (key: string) => ({ undo: undoBy(`undo.${key}`) })
    const nodes = [
      node('a', ['b'], undo('a')),
      node('b', ['c'], undo('b')),
      node('c', ['e'], undo('c')),
      node('e', [], { retry: ONCE, onFailure: 'compensate' }),
    ]
    const id = await d.start({ net: net(nodes) })
    for (const _ of 'abc') await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne(), { message: 'no stock' })
    const { about, waits } = await why(id)
    expect(about).toMatchObject([
      { kind: 'undo', running: 'c', next: ['b', 'a'], more: 0, error: { node: 'e', message: 'no stock' } },
    ])
    expect(waits.map(({ node, role }) => [node, role])).toEqual([['c', 'undo']])
    await d.claimOne()
    expect(await kinds(id, 'c')).toEqual(['lease'])
  })

  it('a drain: its cause, and what it waits for; no steps that will never begin', async () => {
    const nodes = [node('a', ['z'], { retry: ONCE }), node('b', ['z']), node('z', [], { join: 'count' })]
    const id = await d.start({ net: net(nodes, { entry: ['a', 'b'] }) })
    const both = await d.claim()
    await begin(d, byType(both, 'b'))
    await d.fail(byType(both, 'a'), { message: 'broken' })
    const after = await why(id)
    expect(after.about).toMatchObject([
      { kind: 'drain', reason: 'failure', active: 1, undo: false, error: { node: 'a' } },
    ])
    expect(after.waits.map(({ node, reasons }) => [node, reasons[0]?.kind])).toEqual([['b', 'lease']])
    const other = await d.start({ net: net([node('x')]) })
    const x = await d.claimOne()
    await begin(d, x)
    await d.engine.cancelInstance({ id: other, actor: 'ann' })
    const cancelled = await why(other)
    expect(cancelled.about).toMatchObject([{ kind: 'drain', reason: 'cancel', active: 1 }])
    expect(cancelled.waits[0]?.reasons[0]).toMatchObject({ kind: 'lease', stopAskedAt: expect.any(Number) })
  })

  it('held tokens: the node whose admission rule denied them', async () => {
    const admit = { rules: [{ when: 'context.go', allow: true }], onDeny: 'hold' } as const
    const id = await d.start({ net: net([node('a', ['b'], { admit }), node('b')]) })
    const { waits } = await why(id)
    expect(waits.map(({ node, reasons }) => [node, reasons[0]?.kind])).toEqual([
      ['a', 'admission'],
      ['b', 'dependency'],
    ])
  })

  it('items of a list, each with its own reasons', async () => {
    const work = { kind: 'each', items: null, body: run('item'), maxInFlight: 2, failFast: false } as const
    const id = await d.start({ net: net([node('list', [], { work })]), items: { list: [1, 2, 3] } })
    await d.claim(1)
    const { waits } = await why(id)
    expect(waits.map(({ node, item, reasons }) => [node, item, reasons[0]?.kind])).toEqual([
      ['list', 0, 'lease'],
      ['list', 1, 'queue'],
    ])
  })

  it('an ended instance shows how and why it ended; an unknown one is null', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: ONCE })]) })
    await d.fail(await d.claimOne(), { message: 'no such table' })
    const { about, waits } = await why(id)
    expect(about).toMatchObject([{ kind: 'ended', state: 'failed', error: { node: 'a', message: 'no such table' } }])
    expect(waits).toEqual([])
    expect(await d.engine.why({ instanceId: '01900000-0000-7000-8000-000000000000' })).toBeNull()
  })

  it('pages of ten thousand steps in sequence, active steps first, none twice', async () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `s${i}`)
    const nodes = names.map((name, i) => node(name, i + 1 < names.length ? [names[i + 1] as string] : []))
    const id = await d.start({ net: net(nodes) })
    const seen: (string | null)[] = []
    let after: string | null = null
    for (let pages = 0; pages < 3; pages++) {
      const page: Why = await why(id, { limit: 200, ...(after === null ? {} : { after }) })
      seen.push(...page.waits.map((wait) => wait.node))
      after = page.next
    }
    expect(seen).toEqual(names.slice(0, 600))
    const last = await why(id, { limit: 200, after: '1.9899.-1' })
    expect([last.waits.length, last.waits.at(-1)?.node, last.next]).toEqual([100, 's9999', null])
  }, 60_000)
})
