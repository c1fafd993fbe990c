/** The policy `retry` of a net: a step that fails for good is repeated once, and then the workflow fails. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { GateRow } from '../../src/model/rows.ts'
import type { GateWork, Json, Net, Node } from '../../src/net/net.ts'
import { SHARED } from '../inbox/foreign.ts'
import { Stage } from '../inbox/stage.ts'
import { type Drive, net, node, ONCE, run, undoBy } from './drive.ts'
import { events } from './specifications/stage.ts'

const TWO_TRIES = { ...ONCE, maxAttempts: 2 }
const GATE: GateWork = { kind: 'gate', options: {}, timeoutMs: null, onTimeout: 'reject' }

describe.each(SHARED)('the policy retry on $name', (place) => {
  let s: Stage
  let d: Drive
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })

  const retried = (one: Partial<Node> = {}, rest: Partial<Net> = {}): Net =>
    net([node('one', ['two'], { retry: ONCE, ...one }), node('two', [], { retry: ONCE })], {
      onFailure: 'retry',
      ...rest,
    })

  async function rerunsOf(id: string): Promise<Json[]> {
    const all = await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })
    return all.filter((e) => e.type === 'node.rerun').map((e) => JSON.parse(e.data as string))
  }

  it('a step that failed for good is repeated, under its id, with all its attempts, and the workflow continues', async () => {
    const id = await d.start({ net: retried({ retry: TWO_TRIES }) })
    const first = await d.claimOne()
    await d.fail(first, { code: 'no_route' })
    await d.fail(await d.claimOne(), { code: 'no_route' })
    expect(await d.state(id)).toBe('running')
    const third = await d.claimOne()
    expect(third).toMatchObject({ runId: first.runId, key: first.key, attempt: 1 })
    await d.fail(third)
    const fourth = await d.claimOne()
    expect(fourth).toMatchObject({ runId: first.runId, attempt: 2 })
    await d.succeed(fourth, 'late but good')
    expect(await d.work()).toEqual(['two'])
    expect(await d.state(id)).toBe('completed')
    expect(await d.store.read.instance(id)).toMatchObject({ succeeded: 2, failed: 0 })
    expect(await rerunsOf(id)).toMatchObject([{ because: 'policy', error: { code: 'no_route', node: 'one' } }])
    expect(await events(d, id)).toEqual(
      expect.arrayContaining(['failed one', 'node.rerun one', 'redriven one', 'succeeded one']),
    )
  })

  it('fails again: the workflow fails, and nothing is undone', async () => {
    const id = await d.start({ net: retried({ undo: undoBy('undo.one') }) })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne(), { code: 'first' })
    await d.fail(await d.claimOne(), { code: 'second' })
    expect(await d.state(id)).toBe('failed')
    expect(await d.error(id)).toBe('second')
    expect(await rerunsOf(id)).toHaveLength(1)
    expect(await d.claim()).toEqual([])
    expect(await d.store.read.instance(id)).toMatchObject({ succeeded: 1, failed: 1 })
  })

  it('each step can be repeated once', async () => {
    const id = await d.start({ net: retried() })
    for (const _ of ['one', 'two']) {
      await d.fail(await d.claimOne())
      await d.succeed(await d.claimOne())
    }
    expect(await d.state(id)).toBe('completed')
    expect(await rerunsOf(id)).toHaveLength(2)
  })

  it.each([
    ['a timeout', { code: 'timeout', category: 'timeout' }],
    ['a validation error', { category: 'validation' }],
    ['a governance error', { category: 'governance' }],
    ['an error that excludes a retry', { retryable: false }],
  ])('%s is not repeated', async (_, error) => {
    const id = await d.start({ net: retried() })
    await d.fail(await d.claimOne(), error)
    expect(await d.state(id)).toBe('failed')
    expect(await rerunsOf(id)).toEqual([])
  })

  it('a cancelled run, an input that does not fit and an expired run are not', async () => {
    const cancelled = await d.start({ net: retried() })
    await d.engine.cancelRun({ id: (await d.claimOne()).runId, actor: null })
    expect(await d.state(cancelled)).toBe('failed')
    const schema = { input: { path: [], schema: { type: 'string' } }, output: null }
    const invalid = await d.start({ net: retried({ schema }) })
    expect(await d.error(invalid)).toBe('invalid_input')
    const late = await d.start({ net: retried({ timeout: { ms: 1000, per: 'attempt' } }) })
    const x = await d.claimOne()
    await d.session.started([{ runId: x.runId, epoch: x.epoch, at: await d.store.now() }])
    await d.pass(2000)
    expect(await d.error(late)).toBe('timeout')
    for (const id of [cancelled, invalid, late]) expect(await rerunsOf(id)).toEqual([])
  })

  it('a step with its own failure action is not', async () => {
    for (const onFailure of ['abort', 'skip', 'compensate'] as const) {
      const id = await d.start({ net: retried({ onFailure }) })
      await d.fail(await d.claimOne())
      expect(await rerunsOf(id)).toEqual([])
      await d.work()
    }
  })

  it('a lost worker causes a repetition', async () => {
    const id = await d.start({ net: retried() })
    const { id: runId } = await fetched()
    await d.pass(60_000)
    expect(await rerunsOf(id)).toMatchObject([{ error: { code: 'visibility_timeout' } }])
    expect(await d.work()).toEqual(['one', 'two'])
    expect((await s.run(runId)).status).toBe('succeeded')
  })

  async function fetched() {
    const [one] = await d.engine.leases.fetch({
      queues: ['default'],
      types: null,
      limit: 1,
      holder: 'w1',
      runtime: null,
      tenant: null,
      leaseMs: () => 30_000,
      waitMs: 0,
    })
    return one!
  }

  it('a report sent again gets the same answer, and a late success of the first time changes nothing', async () => {
    const id = await d.start({ net: retried() })
    const delivery = await d.claimOne()
    const error = { code: 'boom', message: 'it broke' }
    const report = {
      delivery,
      reportId: 'same',
      startedAt: 1,
      outcome: { kind: 'failed' as const, error },
      wantNext: false,
    }
    expect((await d.session.settle(report)).status).toBe('recorded')
    expect((await d.session.settle(report)).status).toBe('recorded')
    const before = await s.run(delivery.runId)
    expect((await d.succeed(delivery)).status).toBe('stale')
    expect(await s.run(delivery.runId)).toEqual(before)
    expect(await rerunsOf(id)).toHaveLength(1)
    expect(await d.work()).toEqual(['one', 'two'])
  })

  it('a step ended by plain SQL is repeated as well', async () => {
    const go = await s.foreign()
    const id = await d.start({ net: retried() })
    const claimed = await go.claimed()
    await go.fail(claimed, 'no luck')
    await d.engine.sweep()
    const again = await go.claimed()
    expect(again).toMatchObject({ id: claimed.id, attempt: 0 })
    await go.fail(again, 'none at all')
    await d.engine.sweep()
    expect(await d.state(id)).toBe('failed')
  })

  it('a rejected gate is opened again', async () => {
    const id = await d.start({ net: retried({ work: GATE }) })
    const open = async (): Promise<GateRow> =>
      (await d.store.read.openGates({ instanceId: id, limit: 2 }))[0] as GateRow
    const first = await open()
    await d.engine.answerGate({ gateId: first.id, approved: false, actor: 'ann' })
    const second = await open()
    expect(second.id).not.toBe(first.id)
    expect(await d.state(id)).toBe('waiting')
    await d.engine.answerGate({ gateId: second.id, approved: true, actor: 'bob' })
    expect(await d.work()).toEqual(['two'])
    expect(await d.state(id)).toBe('completed')

    const arcs = [{ to: 'ok', when: null, args: { amount: 5 }, set: null }]
    const asking = node('ask', [], { work: { kind: 'pass' }, next: { mode: 'every', arcs, scope: null } })
    const given = await d.start({ net: net([asking, node('ok', [], { work: GATE })], { onFailure: 'retry' }) })
    for (const approved of [false, true]) {
      const [gate] = await d.store.read.openGates({ instanceId: given, limit: 2 })
      expect(JSON.parse(gate!.args as string)).toEqual({ amount: 5 })
      await d.engine.answerGate({ gateId: gate!.id, approved, actor: 'ann' })
    }
    expect(await d.state(given)).toBe('completed')

    const other = await d.start({ net: retried({ work: GATE }) })
    for (const _ of [1, 2]) {
      const [gate] = await d.store.read.openGates({ instanceId: other, limit: 2 })
      await d.engine.answerGate({ gateId: gate!.id, approved: false, actor: 'ann' })
    }
    expect(await d.state(other)).toBe('failed')
    expect(await d.store.read.instance(other)).toMatchObject({ open: 0, gates: 0, failed: 1 })
  })

  it('a nested workflow that failed is started again', async () => {
    const inner = net([node('deep', [], { retry: ONCE })], { name: 'inner' })
    const child = { kind: 'child', net: netHash(inner), mode: 'attached', input: { n: '{{ input.n }}' } } as const
    const id = await d.start({ net: retried({ work: child }), nets: [inner], input: { n: 4 } })
    await d.fail(await d.claimOne())
    const again = await d.claimOne()
    expect(again.node).toBe('deep')
    await d.succeed(again)
    expect(await d.work()).toEqual(['two'])
    expect(await d.state(id)).toBe('completed')
    expect(await rerunsOf(id)).toHaveLength(1)
  })

  it('an item of a list can be repeated once; a list of which one fails twice fails', async () => {
    const each = {
      kind: 'each',
      items: 'input',
      body: run('item', { args: '{{ item }}' }),
      maxInFlight: 1,
      failFast: false,
    } as const
    const id = await d.start({ net: retried({ work: each }), input: [1, 2] })
    const order: Json[] = []
    let failures = 0
    for (let x = (await d.claim(1))[0]; x !== undefined && x.node === 'one'; x = (await d.claim(1))[0]) {
      const item = JSON.parse(x.payload)
      order.push(item)
      if (item === 1 && failures++ === 0) await d.fail(x)
      else await d.succeed(x)
    }
    expect(order).toEqual([1, 1, 2])
    const other = await d.start({ net: retried({ work: each }), input: [1] })
    for (const x of await d.claim()) if (x.node === 'one') await d.fail(x)
    await d.fail((await d.claim()).find((x) => x.node === 'one')!)
    expect(await d.error(other)).toBe('items_failed')
    expect(await d.store.read.instance(id)).toMatchObject({ failed: 0 })
  })

  it('the deadline of the instance fails it as abort does', async () => {
    const id = await d.start({ net: retried({ undo: undoBy('undo.one') }, { timeoutMs: 60_000 }) })
    await d.succeed(await d.claimOne())
    await d.pass(60_000)
    expect(await d.work()).toEqual([])
    expect(await d.store.read.instance(id)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
  })

  it('a repetition that is pending when another step fails is not executed', async () => {
    const id = await d.start({
      net: net(
        [
          node('fork', ['one', 'other'], { work: { kind: 'pass' } }),
          node('one', [], { retry: ONCE }),
          node('other', [], { retry: ONCE, onFailure: 'abort' }),
        ],
        { onFailure: 'retry' },
      ),
    })
    const [one, other] = await d.claim(2)
    await Promise.all([d.fail(one!), d.fail(other!, { code: 'broken' })])
    expect(await d.state(id)).toBe('failed')
    expect(await d.claim()).toEqual([])
  })
})

describe('nets that use neither appeal nor schema', () => {
  it('keep the hash under which they were stored before those features existed', () => {
    expect(netHash(net([node('one')]))).toBe('73831a64c043b03859e71618c7121cc4c58a39b3d5629449d2719dc5f73eea5e')
  })
})
