/** Work that governance forbids: a gate asks people, and their decision determines whether it runs after all. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { GateRow, RunRow } from '../../src/model/rows.ts'
import type { Failure } from '../../src/net/marking.ts'
import type { GateWork, Json, Net, Node } from '../../src/net/net.ts'
import { SHARED } from '../inbox/foreign.ts'
import { Stage } from '../inbox/stage.ts'
import { type Drive, net, node, ONCE, undoBy } from './drive.ts'
import { events } from './specifications/stage.ts'

const FORBIDDEN: Partial<Failure> = { code: 'pii', message: 'personal data leaves the region', category: 'governance' }
const ASKED: GateWork = { kind: 'gate', options: { title: 'governance: send' }, timeoutMs: null, onTimeout: 'reject' }
const AGAIN = { ...ONCE, maxAttempts: 3, initialMs: 1000, maxMs: 1000 }

function governed(send: Partial<Node> = {}, rest: Partial<Net> = {}): Net {
  return net(
    [
      node('book', ['send'], { undo: undoBy('book.undo') }),
      node('send', ['after'], { appeal: ASKED, undo: undoBy('send.undo'), ...send }),
      node('after'),
    ],
    rest,
  )
}

describe.each(SHARED)('governance on $name', (place) => {
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

  /** Up to the gate that the forbidden step opened. */
  async function blocked(send: Partial<Node> = {}, rest: Partial<Net> = {}, initiator?: string) {
    const id = await d.start({ net: governed(send, rest), ...(initiator === undefined ? {} : { initiator }) })
    await d.succeed(await d.claimOne(), 'booked')
    const delivery = await d.claimOne()
    await d.fail(delivery, FORBIDDEN)
    return { id, runId: delivery.runId, delivery, gate: await gateOf(id) }
  }

  async function gateOf(id: string): Promise<GateRow> {
    const gates = await d.store.read.openGates({ instanceId: id, limit: 10 })
    expect(gates).toHaveLength(1)
    return gates[0] as GateRow
  }

  const decide = (gate: GateRow, approved: boolean, actor = 'ann', reason = 'looked at it') =>
    d.engine.answerGate({ gateId: gate.id, approved, actor, reason })

  async function recorded(id: string, type: string): Promise<Json[]> {
    const all = await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })
    return all.filter((e) => e.type === type).map((e) => (e.data === null ? null : JSON.parse(e.data)))
  }

  it('the instance waits, the gate shows which step and why, and no worker gets the run', async () => {
    const { id, runId, gate } = await blocked()
    expect(await d.state(id)).toBe('waiting')
    expect(gate).toMatchObject({ node: 'send', state: 'open', options: JSON.stringify(ASKED.options) })
    expect(JSON.parse(gate.args as string)).toMatchObject({ step: 'send', run: runId, error: FORBIDDEN })
    const why = { code: 'pii', message: 'personal data leaves the region', category: 'governance' }
    expect(await recorded(id, 'gate.opened')).toEqual([
      { gate: gate.id, appeal: true, step: 'send', run: runId, error: why },
    ])
    expect(await d.claim()).toEqual([])
    expect(await s.run(runId)).toMatchObject({ status: 'failed', attempt: 1 })
  })

  it('when approved, the same run is executed again under its id and key, from its first attempt, and the workflow continues', async () => {
    const { id, runId, delivery, gate } = await blocked()
    await decide(gate, true)
    expect(await d.state(id)).toBe('running')
    const again = await d.claimOne()
    expect(again).toMatchObject({ runId, attempt: 1, key: delivery.key })
    expect(again.epoch).toBeGreaterThan(delivery.epoch)
    await d.succeed(again, 'sent')
    expect(await d.work()).toEqual(['after'])
    expect(await d.state(id)).toBe('completed')
    expect(await d.results(id)).toMatchObject({ book: 'booked', send: 'sent' })
    expect(await s.history(runId)).toEqual(expect.arrayContaining(['failed', 'redriven', 'succeeded']))
    expect(await recorded(id, 'redriven')).toEqual([{ because: 'approved', gate: gate.id }])
    expect((await d.store.read.runHistory(runId)).find((e) => e.type === 'redriven')?.actor).toBe('ann')
  })

  it('when it is forbidden again, another gate opens', async () => {
    const { id, runId, gate } = await blocked()
    await decide(gate, true)
    await d.fail(await d.claimOne(), { ...FORBIDDEN, message: 'still personal' })
    const second = await gateOf(id)
    expect(second.id).not.toBe(gate.id)
    expect(JSON.parse(second.args as string).error.message).toBe('still personal')
    expect(await d.state(id)).toBe('waiting')
    await decide(second, true)
    const third = await d.claimOne()
    expect(third.runId).toBe(runId)
    await d.succeed(third)
    expect(await d.work()).toEqual(['after'])
    expect(await d.state(id)).toBe('completed')
  })

  it('when rejected with abort, the workflow fails with the governance error, and the voter is recorded', async () => {
    const { id, gate } = await blocked()
    await decide(gate, false, 'bob', 'too risky')
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.error).toMatchObject({
      ...FORBIDDEN,
      node: 'send',
      details: { rejected: { gate: gate.id, by: 'bob', reason: 'too risky' } },
    })
    expect(await d.claim()).toEqual([])
  })

  it('when rejected with skip, the next steps continue without its result', async () => {
    const { id, gate } = await blocked({ onFailure: 'skip' })
    await decide(gate, false)
    expect(await d.work()).toEqual(['after'])
    expect(await d.state(id)).toBe('completed')
    expect(await recorded(id, 'node.skipped')).toMatchObject([{ code: 'pii', category: 'governance' }])
  })

  it('when rejected with compensate, completed steps are undone, but not the forbidden step', async () => {
    const { id, gate } = await blocked({ onFailure: 'compensate' })
    await decide(gate, false)
    expect(await d.state(id)).toBe('compensating')
    expect(await d.work()).toEqual(['undo book'])
    expect(await d.state(id)).toBe('compensated')
  })

  it('details from governance are kept with the rejection', async () => {
    for (const details of [{ rule: 7 }, 'rule 7']) {
      const id = await d.start({ net: net([node('send', [], { appeal: ASKED })]) })
      await d.fail(await d.claimOne(), { ...FORBIDDEN, details })
      await decide(await gateOf(id), false)
      const kept = typeof details === 'string' ? { given: details } : details
      expect((await d.engine.view(id))?.error?.details).toMatchObject({ ...kept, rejected: { by: 'ann' } })
    }
  })

  it('the policy of the node does not retry forbidden work, and attempts start again when it is approved', async () => {
    const { gate, runId } = await blocked({ retry: AGAIN })
    await decide(gate, true)
    const first = await d.claimOne()
    expect(first.runId).toBe(runId)
    await d.fail(first, { category: 'transient' })
    await d.pass(1000)
    const second = await d.claimOne()
    expect(second).toMatchObject({ runId, attempt: 2 })
    await d.succeed(second)
    expect(await d.work()).toEqual(['after'])
  })

  it('another kind of error, and an error of a step without appeal, opens no gate', async () => {
    for (const [send, error] of [
      [{}, { category: 'validation' }],
      [{ appeal: undefined }, FORBIDDEN],
    ] as const) {
      const { appeal, ...rest } = { ...(governed().nodes[1] as Node), ...send }
      const one: Node = appeal === undefined ? (rest as Node) : { ...rest, appeal }
      const id = await d.start({ net: net([{ ...one, retry: ONCE, next: { mode: 'every', arcs: [], scope: null } }]) })
      await d.fail(await d.claimOne(), error)
      expect(await d.state(id)).toBe('failed')
      expect(await d.store.read.openGates({ instanceId: id, limit: 1 })).toEqual([])
    }
  })

  it('only people named by the gate may approve it, and not its initiator', async () => {
    const appeal = { ...ASKED, options: { roles: ['risk'], excludeInitiator: true } }
    const { id, gate } = await blocked({ appeal }, {}, 'zoe')
    const say = (actor: string, roles: string[]) =>
      d.engine.answerGate({ gateId: gate.id, approved: true, actor, roles })
    await expect(say('zoe', ['risk'])).rejects.toMatchObject({ code: 'denied' })
    await expect(say('bob', ['sales'])).rejects.toMatchObject({ code: 'denied' })
    expect(await d.claim()).toEqual([])
    await say('ann', ['risk'])
    expect(await d.work()).toEqual(['send', 'after'])
    expect(await d.state(id)).toBe('completed')
    await expect(say('cid', ['risk'])).rejects.toMatchObject({ code: 'conflict' })
  })

  it('parallel work continues while it is blocked, and then the instance waits', async () => {
    const parts = [node('fork', ['send', 'other'], { work: { kind: 'pass' } }), node('send', [], { appeal: ASKED })]
    const id = await d.start({ net: net([...parts, node('other')]) })
    const [send, other] = await d.claim(2)
    await d.fail(send!, FORBIDDEN)
    expect(await d.state(id)).toBe('running')
    await d.succeed(other!)
    expect(await d.state(id)).toBe('waiting')
    await decide(await gateOf(id), true)
    expect(await d.work()).toEqual(['send'])
    expect(await d.state(id)).toBe('completed')
  })

  it('without an answer the deadline of the gate decides by its option', async () => {
    const rejects = await blocked({ appeal: { ...ASKED, timeoutMs: 60_000 } })
    await d.pass(60_000)
    expect(await d.state(rejects.id)).toBe('failed')
    expect((await d.engine.view(rejects.id))?.error).toMatchObject({
      code: 'pii',
      details: { rejected: { by: null, reason: 'no answer before the deadline' } },
    })
    const approves = await blocked({ appeal: { ...ASKED, timeoutMs: 60_000, onTimeout: 'approve' } })
    await d.pass(60_000)
    expect(await d.work()).toEqual(['send', 'after'])
    expect(await d.state(approves.id)).toBe('completed')
  })

  it('when the workflow is cancelled, the gate is closed, the step counts as failed, and a late answer changes nothing', async () => {
    const { id, gate } = await blocked()
    await d.engine.cancelInstance({ id, actor: null })
    expect(await d.state(id)).toBe('cancelled')
    expect((await d.store.read.gate(gate.id))?.state).toBe('closed')
    expect(await d.store.read.instance(id)).toMatchObject({ failed: 1, succeeded: 1, open: 0, gates: 0 })
    const before = await events(d, id)
    await expect(decide(gate, true)).rejects.toMatchObject({ code: 'conflict' })
    expect(await events(d, id)).toEqual(before)
    expect(await d.claim()).toEqual([])
  })

  it('the deadline of the instance passes while it is blocked, and its policy applies', async () => {
    const { id, gate } = await blocked({}, { timeoutMs: 3_600_000, onFailure: 'compensate' })
    await d.pass(3_600_000)
    expect((await d.store.read.gate(gate.id))?.state).toBe('closed')
    expect(await d.work()).toEqual(['undo book'])
    expect(await d.state(id)).toBe('compensated')
  })

  it('a parallel failure closes the gate: the forbidden work is not executed', async () => {
    const id = await d.start({
      net: net([
        node('fork', ['send', 'other'], { work: { kind: 'pass' } }),
        node('send', [], { appeal: ASKED }),
        node('other', [], { retry: ONCE }),
      ]),
    })
    const [send, other] = await d.claim(2)
    await d.fail(send!, FORBIDDEN)
    const gate = await gateOf(id)
    await d.fail(other!, { code: 'broken' })
    expect(await d.state(id)).toBe('failed')
    expect(await d.error(id)).toBe('broken')
    expect((await d.store.read.gate(gate.id))?.state).toBe('closed')
    expect(await d.store.read.instance(id)).toMatchObject({ failed: 2, open: 0, gates: 0 })
  })

  it('a step that is forbidden while the instance drains has failed, and no gate opens', async () => {
    const id = await d.start({
      net: net([
        node('fork', ['send', 'other'], { work: { kind: 'pass' } }),
        node('send', [], { appeal: ASKED }),
        node('other', [], { retry: ONCE }),
      ]),
    })
    const [send, other] = await d.claim(2)
    await d.fail(other!, { code: 'broken' })
    await d.fail(send!, FORBIDDEN)
    expect(await d.state(id)).toBe('failed')
    expect(await recorded(id, 'gate.opened')).toEqual([])
  })

  it('late and repeated reports of the forbidden execution change nothing, before and after the decision', async () => {
    const { id, runId, delivery, gate } = await blocked()
    const picture = async () => [await s.run(runId), await events(d, id)]
    const before = await picture()
    expect((await d.succeed(delivery, 'forged')).status).toBe('stale')
    expect(await picture()).toEqual(before)
    await decide(gate, true)
    const after = await picture()
    expect((await d.succeed(delivery, 'forged')).status).toBe('stale')
    expect((await d.fail(delivery, FORBIDDEN)).status).toBe('stale')
    expect(await picture()).toEqual(after)
    const again = await d.claimOne()
    expect((await d.succeed(delivery, 'forged')).status).toBe('stale')
    await d.succeed(again, 'true')
    expect(await d.results(id)).toMatchObject({ send: 'true' })
  })

  it('the forbidden report is answered as recorded when it is sent again', async () => {
    await d.start({ net: net([node('send', [], { appeal: ASKED })]) })
    const delivery = await d.claimOne()
    const error = { code: 'pii', message: 'no', category: 'governance' }
    const report = {
      delivery,
      reportId: 'same',
      startedAt: 1,
      outcome: { kind: 'failed' as const, error },
      wantNext: false,
    }
    expect((await d.session.settle(report)).status).toBe('recorded')
    expect((await d.session.settle(report)).status).toBe('recorded')
  })

  it('an operator cannot redrive the run while the gate is open', async () => {
    const { runId } = await blocked()
    await expect(d.engine.redrive({ runId, actor: 'op' })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('a run that was deleted in the meantime is handed out again when it is approved', async () => {
    const { runId, gate } = await blocked()
    await d.engine.deleteRun({ id: runId, actor: null })
    await decide(gate, true)
    expect((await d.claimOne()).runId).toBe(runId)
  })

  it('an undo that governance forbids has failed: no gate opens', async () => {
    const id = await d.start({
      net: net([
        node('send', ['last'], { appeal: ASKED, undo: { ...undoBy('send.undo')!, retry: ONCE } }),
        node('last', [], { retry: ONCE, onFailure: 'compensate' }),
      ]),
    })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne())
    const undo = await d.claimOne()
    expect(undo.role).toBe('undo')
    await d.fail(undo, FORBIDDEN)
    expect(await d.state(id)).toBe('failed')
    expect(await d.store.read.instance(id)).toMatchObject({ outcome: 'rolled_back_partial' })
    expect(await recorded(id, 'gate.opened')).toEqual([])
  })

  it('a retry of the failed workflow executes the forbidden step again, and may ask again', async () => {
    const { id, gate } = await blocked()
    await decide(gate, false)
    const again = await d.engine.retryInstance({ id, actor: null })
    await d.fail(await d.claimOne(), FORBIDDEN)
    expect(await d.state(again.id)).toBe('waiting')
    await decide(await gateOf(again.id), true)
    expect(await d.work()).toEqual(['send', 'after'])
    expect(await d.state(again.id)).toBe('completed')
  })

  it('in a nested workflow the gate belongs to the nested one, and the parent waits', async () => {
    const inner = net([node('send', [], { appeal: ASKED })], { name: 'inner' })
    const child = { kind: 'child', net: netHash(inner), mode: 'attached', input: null } as const
    const id = await d.start({ net: net([node('part', ['after'], { work: child }), node('after')]), nets: [inner] })
    await d.fail(await d.claimOne(), FORBIDDEN)
    const [gate] = await d.store.read.openGates({ instanceId: null, limit: 10 })
    expect(gate?.rootId).toBe(id)
    await decide(gate as GateRow, false)
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.error).toMatchObject({ code: 'pii', category: 'governance' })
  })

  it('two firings of one step are forbidden and decided separately', async () => {
    const arcs = ['l', 'r'].map((key) => node(key, ['send'], { work: { kind: 'pass' } }))
    const forked = net([
      node('fork', ['l', 'r'], { work: { kind: 'pass' } }),
      ...arcs,
      node('send', [], { appeal: ASKED, onFailure: 'skip' }),
    ])
    const id = await d.start({ net: forked })
    const [first, second] = await d.claim(2)
    await d.fail(first!, { ...FORBIDDEN, message: 'first' })
    await d.fail(second!, { ...FORBIDDEN, message: 'second' })
    const gates = await d.store.read.openGates({ instanceId: id, limit: 10 })
    const about = (text: string) => gates.find((g) => JSON.parse(g.args as string).error.message === text) as GateRow
    await decide(about('first'), true)
    await decide(about('second'), false)
    const again = await d.claim()
    expect(again.map((x) => x.runId)).toEqual([first!.runId])
    await d.succeed(again[0]!)
    expect(await d.state(id)).toBe('completed')
  })

  it('a step ended by plain SQL, with the kind of its error in last_error, opens a gate and is executed again by plain SQL', async () => {
    const go = await s.foreign()
    const id = await d.start({ net: net([node('send', [], { appeal: ASKED, retry: ONCE })]) })
    const claimed = await go.claimed()
    await go.fail(claimed, JSON.stringify({ ...FORBIDDEN, details: { rule: 7 } }))
    await d.engine.sweep()
    expect(await d.state(id)).toBe('waiting')
    expect(await s.run(claimed.id)).toMatchObject({ status: 'failed', lastError: FORBIDDEN.message })
    const gate = await gateOf(id)
    expect(JSON.parse(gate.args as string).error).toEqual({ ...FORBIDDEN, details: { rule: 7 } })
    await decide(gate, true)
    const again = await go.claimed()
    expect(again).toMatchObject({ id: claimed.id, attempt: 0 })
    await go.succeed(again.id, 'sent')
    await d.engine.sweep()
    expect(await d.state(id)).toBe('completed')
    expect(await d.results(id)).toEqual({ send: 'sent' })
  })

  it('last_error written by plain SQL is read as an error only if it can be stored as one', async () => {
    const go = await s.foreign()
    for (const text of [
      '{ not json',
      '{"category":"governance"}',
      '{"message":"a\\u0000b","category":"governance"}',
      '[1]',
    ]) {
      const id = await d.start({ net: net([node('send', [], { appeal: ASKED, retry: ONCE })]) })
      await go.fail(await go.claimed(), text)
      await d.engine.sweep()
      expect(await d.state(id)).toBe('failed')
      expect((await d.engine.view(id))?.error).toMatchObject({ code: 'handler_error', message: text })
    }
  })

  it('plain SQL cannot set a run to succeeded while a decision is pending', async () => {
    const { id, runId } = await blocked()
    const go = await s.foreign()
    await go.succeed(runId, 'forged').catch(() => null)
    await d.engine.sweep()
    expect(await s.run(runId)).toMatchObject({ status: 'failed', result: null })
    expect(await d.state(id)).toBe('waiting')
  })

  it('the engine is restarted in between, and another one carries out the decision', async () => {
    const { id, runId, gate } = await blocked()
    await d.engine.close()
    const other = await s.second()
    await other.answerGate({ gateId: gate.id, approved: true, actor: 'ann' })
    const [run] = await other.leases.fetch({
      queues: ['default'],
      types: null,
      limit: 10,
      holder: 'w1',
      runtime: null,
      tenant: null,
      leaseMs: () => 30_000,
      waitMs: 0,
    })
    expect((run as RunRow).id).toBe(runId)
    await other.leases.settle([{ runId, holder: null, attempt: null, outcome: { kind: 'succeeded', result: 'sent' } }])
    expect(await d.state(id)).toBe('running')
    expect(JSON.parse((await s.run(runId)).result as string)).toBe('sent')
  })

  it('a worker over HTTP that reports it gets the ended run as answer, and the same run again once it is approved', async () => {
    const id = await d.start({ net: net([node('send', [], { appeal: ASKED, retry: AGAIN })]) })
    const fetch = () =>
      d.engine.leases.fetch({
        queues: ['default'],
        types: null,
        limit: 1,
        holder: 'w1',
        runtime: null,
        tenant: null,
        leaseMs: () => 30_000,
        waitMs: 0,
      })
    const [run] = await fetch()
    const error = { code: 'pii', message: 'no', category: 'governance' }
    // Even for a worker that requests another attempt.
    const outcome = { kind: 'failed' as const, error, how: 'retry' as const }
    const [settled] = await d.engine.leases.settle([{ runId: run!.id, holder: 'w1', attempt: 1, outcome }])
    expect(settled).toMatchObject({ run: { id: run!.id, status: 'failed' }, retryDelayMs: null })
    await decide(await gateOf(id), true)
    const [again] = await fetch()
    expect(again).toMatchObject({ id: run!.id, attempt: 0 })
  })

  it('a net with an invalid appeal is refused, with its path', async () => {
    const options = { quorum: 3, of: 2 }
    await expect(d.start({ net: net([node('send', [], { appeal: { ...ASKED, options } })]) })).rejects.toThrow(
      /nodes\.send\.appeal\.options\.quorum/,
    )
    const gate: GateWork = ASKED
    await expect(d.start({ net: net([node('ok', [], { work: gate, appeal: gate })]) })).rejects.toThrow(
      /nodes\.ok\.appeal: only a run is appealed/,
    )
    const finals = [{ node: 'last', when: 'always', onFailure: 'fail' }] as const
    await expect(d.start({ net: net([node('a'), node('last', [], { appeal: gate })], { finals }) })).rejects.toThrow(
      /a final is not appealed/,
    )
  })
})
