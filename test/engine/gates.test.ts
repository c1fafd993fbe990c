/** Gates for people: who may vote, the quorum, the form of the answer, and deadlines. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { netHash } from '../../src/kernel/hash.ts'
import type { GateAnswer, GateOptions } from '../../src/model/gates.ts'
import { votesOf } from '../../src/model/gates.ts'
import type { GateRow } from '../../src/model/rows.ts'
import type { GateWork, Json, Node } from '../../src/net/net.ts'
import { Drive, net, node, PLACES } from './drive.ts'

type Rest = Partial<Pick<GateWork, 'timeoutMs' | 'onTimeout'>>

function gated(options: GateOptions, rest: Rest = {}, more: Partial<Node> = {}) {
  const work: GateWork = { kind: 'gate', options: options as Json, timeoutMs: null, onTimeout: 'reject', ...rest }
  return net([node('ok', ['after'], { work, ...more }), node('after')])
}

const AMOUNT = {
  type: 'object',
  required: ['amount'],
  properties: { amount: { type: 'number', maximum: 100 }, lines: { type: 'array', items: { type: 'string' } } },
}

for (const place of PLACES) {
  describe(`gates with people on '${place.name}'`, () => {
    let d: Drive
    beforeEach(async () => {
      // Sweeps only when a test requests it.
      d = await Drive.open(place, { pollMs: 3_600_000 })
    })
    afterEach(() => d.close())

    async function open(options: GateOptions, rest: Rest = {}, initiator?: string) {
      const id = await d.start({ net: gated(options, rest), ...(initiator === undefined ? {} : { initiator }) })
      const [gate] = await d.store.read.openGates({ instanceId: id, limit: 1 })
      const gateId = (gate as GateRow).id
      const say =
        (approved: boolean) =>
        (actor: string | null, more: Partial<GateAnswer> = {}) =>
          d.engine.answerGate({ gateId, approved, actor, ...more })
      return { id, gateId, approve: say(true), reject: say(false), look: async () => await found(gateId) }
    }

    async function found(gateId: string): Promise<GateRow> {
      return (await d.store.read.gate(gateId)) as GateRow
    }

    async function events(id: string): Promise<readonly { type: string; actor: string | null; data: any }[]> {
      const all = await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })
      return all
        .filter(({ type }) => type.startsWith('gate.'))
        .map(({ type, actor, data }) => ({ type, actor, data: data === null ? null : JSON.parse(data) }))
    }

    it('a gate without requirements is decided by the first vote, named or anonymous', async () => {
      const gate = await open({})
      await gate.approve(null, { answer: 7, reason: 'fine' })
      expect(await gate.look()).toMatchObject({ state: 'approved', answer: '7', answeredBy: null, reason: 'fine' })
      const other = await open({})
      await other.reject('bob', { reason: 'too dear' })
      expect(await d.error(other.id)).toBe('rejected')
    })

    it('approvals count towards the quorum, and the one that reaches it decides with its answer', async () => {
      const gate = await open({ quorum: 2, of: 3 })
      await gate.approve('ann', { answer: 1, roles: ['ops'] })
      expect(await gate.look()).toMatchObject({ state: 'open', answer: null })
      expect(await d.state(gate.id)).toBe('waiting')
      await gate.reject('bob', { reason: 'no' })
      expect(await d.state(gate.id)).toBe('waiting')
      await gate.approve('cid', { answer: 3, reason: 'go' })
      expect(await gate.look()).toMatchObject({ state: 'approved', answer: '3', answeredBy: 'cid', reason: 'go' })
      expect(votesOf(await gate.look()).map(({ by, approved, answer }) => [by, approved, answer])).toEqual([
        ['ann', true, 1],
        ['bob', false, undefined],
        ['cid', true, 3],
      ])
      expect(await d.work()).toEqual(['after'])
      expect(await d.results(gate.id)).toMatchObject({ ok: 3 })
    })

    it('is rejected as soon as the quorum cannot be reached any more, and by the first rejection if the number of voters is not given', async () => {
      const gate = await open({ quorum: 2, of: 3 })
      await gate.reject('ann')
      expect(await d.state(gate.id)).toBe('waiting')
      await gate.reject('bob', { reason: 'unsafe' })
      expect(await gate.look()).toMatchObject({ state: 'rejected', answeredBy: 'bob', reason: 'unsafe' })
      expect(await d.state(gate.id)).toBe('failed')
      const bare = await open({ quorum: 2 })
      await bare.approve('ann')
      await bare.reject('bob')
      expect(await d.state(bare.id)).toBe('failed')
    })

    it('a voter votes once, whether the name is verified or not', async () => {
      const gate = await open({ quorum: 2, of: 3 })
      await gate.approve('ann')
      const before = await gate.look()
      for (const again of ['ann', 'ann (unverified)']) {
        await expect(gate.approve(again)).rejects.toMatchObject({
          code: 'conflict',
          message: expect.stringContaining('has approved'),
        })
        await expect(gate.reject(again)).rejects.toMatchObject({ code: 'conflict' })
      }
      await expect(gate.approve(null)).rejects.toMatchObject({ code: 'denied' })
      expect(await gate.look()).toEqual(before)
    })

    it('only named voters, and only voters with one of the roles, may vote', async () => {
      const named = await open({ of: ['ann', 'bob'], quorum: 2, roles: ['ops', 'dev'] })
      await expect(named.approve('cid', { roles: ['ops'] })).rejects.toMatchObject({
        code: 'denied',
        message: expect.stringContaining('cid is not one of those who decide'),
      })
      await expect(named.approve('ann (unverified)', { roles: ['ops'] })).rejects.toMatchObject({ code: 'denied' })
      await expect(named.approve('ann', { roles: ['sales'] })).rejects.toMatchObject({
        code: 'denied',
        details: { required_roles: ['ops', 'dev'], roles: ['sales'] },
      })
      await expect(named.reject(null)).rejects.toMatchObject({ code: 'denied' })
      expect(await named.look()).toMatchObject({ state: 'open', votes: '[]' })
      expect((await d.engine.gate(named.gateId))?.standing.missing).toEqual(['ann', 'bob'])
      await named.approve('bob', { roles: ['x', 'dev'] })
      expect((await d.engine.gate(named.gateId))?.standing).toMatchObject({ missing: ['ann'], approvals: 1, quorum: 2 })
    })

    it('the initiator may not approve their own gate, nor may the person who retried the workflow', async () => {
      const gate = await open({ excludeInitiator: true }, {}, 'ann')
      for (const name of ['ann', 'ann (unverified)']) {
        await expect(gate.approve(name)).rejects.toMatchObject({
          code: 'denied',
          message: expect.stringContaining('started this workflow'),
        })
      }
      await gate.reject('bob')
      const again = await d.engine.retryInstance({ id: gate.id, actor: 'cid' })
      const [second] = await d.store.read.openGates({ instanceId: again.id, limit: 1 })
      for (const actor of ['ann', 'cid']) {
        const answer = d.engine.answerGate({ gateId: (second as GateRow).id, approved: true, actor })
        await expect(answer).rejects.toMatchObject({ code: 'denied' })
      }
      await d.engine.answerGate({ gateId: (second as GateRow).id, approved: true, actor: 'bob' })
      expect(await d.work()).toEqual(['after'])
    })

    it('nested workflows, attached or detached, have the initiator of the outermost one', async () => {
      for (const mode of ['attached', 'detached'] as const) {
        const inner = gated({ excludeInitiator: true })
        const work = { kind: 'child', net: netHash(inner), mode, input: null } as const
        await d.start({ net: net([node('sub', [], { work })]), nets: [inner], initiator: 'ann' })
        const [gate] = await d.store.read.listGates({
          states: ['open'],
          instanceId: null,
          tenant: null,
          limit: 1,
          before: null,
        })
        const answer = (actor: string) => d.engine.answerGate({ gateId: (gate as GateRow).id, approved: true, actor })
        await expect(answer('ann')).rejects.toMatchObject({ code: 'denied' })
        await answer('bob')
      }
    })

    it('the excluded initiator does not count as a possible voter', async () => {
      const gate = await open({ excludeInitiator: true, of: ['ann', 'bob', 'cid'], quorum: 2 }, {}, 'ann')
      const standing = (await d.engine.gate(gate.gateId))?.standing
      expect(standing).toMatchObject({ seats: 2, missing: ['bob', 'cid'], excluded: ['ann'] })
      await gate.reject('bob')
      expect(await d.state(gate.id)).toBe('failed')
    })

    it('the answer must satisfy the form, and the error names the path in the answer', async () => {
      const gate = await open({ form: AMOUNT })
      const wrong = async (answer: Json | undefined, path: string) =>
        expect(gate.approve('ann', answer === undefined ? {} : { answer })).rejects.toMatchObject({
          code: 'invalid_request',
          message: expect.stringContaining(path),
        })
      await wrong({ amount: 101 }, 'answer.amount: must be <= 100')
      await wrong({ amount: 1, lines: ['a', 2] }, 'answer.lines.1: must be string')
      await wrong({}, "answer: must have required property 'amount'")
      await wrong(undefined, 'answer: must be object')
      await expect(gate.reject('ann', { answer: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
      expect(await gate.look()).toMatchObject({ state: 'open', votes: '[]' })
      await gate.approve('ann', { answer: { amount: 5 } })
      expect((await d.results(gate.id))['ok']).toEqual({ amount: 5 })
      const refused = await open({ form: AMOUNT })
      await refused.reject('ann', { reason: 'no answer is needed to refuse' })
      expect(await d.state(refused.id)).toBe('failed')
    })

    it('a vote on a decided or closed gate changes nothing', async () => {
      const gate = await open({ roles: ['ops'] })
      await gate.approve('ann', { roles: ['ops'] })
      const before = await gate.look()
      await expect(gate.reject('bob', { roles: ['ops'] })).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('already approved'),
      })
      expect(await gate.look()).toEqual(before)
      const closed = await open({})
      await d.engine.cancelInstance({ id: closed.id, actor: null })
      await expect(closed.approve('ann')).rejects.toMatchObject({ code: 'conflict' })
      await expect(d.engine.answerGate({ gateId: closed.id, approved: true, actor: null })).rejects.toMatchObject({
        code: 'not_found',
      })
    })

    it('a vote after the deadline is refused, also before a sweep; then the default decides', async () => {
      const gate = await open({ quorum: 2, of: 2 }, { timeoutMs: 60_000, onTimeout: 'approve' })
      await gate.approve('ann', { answer: 'mine' })
      await d.store.moveClock(60_001)
      await expect(gate.approve('bob')).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('could be decided until'),
      })
      expect(await gate.look()).toMatchObject({ state: 'open' })
      await d.engine.sweep()
      expect(await gate.look()).toMatchObject({
        state: 'approved',
        answer: null,
        answeredBy: null,
        reason: 'not enough votes in time',
      })
    })

    it('records who voted with which roles, when and why', async () => {
      const gate = await open({ quorum: 2, of: 2, roles: ['ops'] })
      await gate.approve('ann', { roles: ['ops', 'dev'], reason: 'checked' })
      await gate.approve('bob', { roles: ['ops'], link: 'l-1' })
      const [opened, first, second, decided] = await events(gate.id)
      expect(opened?.type).toBe('gate.opened')
      const { gateId } = gate
      expect(first).toEqual({
        type: 'gate.voted',
        actor: 'ann',
        data: { gate: gateId, approved: true, actor: 'ann', roles: ['ops', 'dev'], reason: 'checked' },
      })
      expect(second).toMatchObject({ type: 'gate.voted', actor: 'bob', data: { link: 'l-1', reason: null } })
      expect(decided).toEqual({
        type: 'gate.approved',
        actor: 'bob',
        data: { gate: gateId, actor: 'bob', roles: ['ops'], reason: null },
      })
    })

    it('escalates without a running worker: the roles widen at each stage and an event records it', async () => {
      const escalate = [{ after: 10_000, roles: ['lead'] }, { after: 20_000 }, { after: 30_000, roles: ['cto', 'ceo'] }]
      const gate = await open({ roles: ['ops'], of: ['ann'], escalate }, { timeoutMs: 60_000 })
      await expect(gate.approve('lea', { roles: ['lead'] })).rejects.toMatchObject({ code: 'denied' })
      await d.pass(10_001)
      await d.engine.sweep()
      expect(await gate.look()).toMatchObject({ state: 'open', escalated: 1 })
      expect((await d.engine.gate(gate.gateId))?.standing.roles).toEqual(['ops', 'lead'])
      await d.pass(20_000)
      expect(await gate.look()).toMatchObject({ state: 'open', escalated: 3, escalateAt: null })
      expect((await events(gate.id)).slice(1)).toEqual([
        { type: 'gate.escalated', actor: null, data: { gate: gate.gateId, stage: 1, roles: ['lead'] } },
        { type: 'gate.escalated', actor: null, data: { gate: gate.gateId, stage: 2 } },
        { type: 'gate.escalated', actor: null, data: { gate: gate.gateId, stage: 3, roles: ['cto', 'ceo'] } },
      ])
      await expect(gate.approve('bob', { roles: ['ops'] })).rejects.toMatchObject({ code: 'denied' })
      await gate.approve('eve', { roles: ['ceo'] })
      expect(await d.state(gate.id)).not.toBe('waiting')
    })

    it('a gate past its deadline is decided and does not escalate any more', async () => {
      const gate = await open({ escalate: [{ after: 1_000, roles: ['lead'] }] }, { timeoutMs: 5_000 })
      await d.pass(10_000)
      expect(await gate.look()).toMatchObject({ state: 'rejected', escalated: 0 })
      expect((await events(gate.id)).map(({ type }) => type)).toEqual(['gate.opened', 'gate.rejected'])
    })

    it('several engines that sweep at once escalate each stage once', async () => {
      const gates = await Promise.all(
        Array.from({ length: 5 }, () => open({ roles: ['a'], escalate: [{ after: 1_000, roles: ['b'] }] })),
      )
      const others = await Promise.all([1, 2].map(() => Engine.open({ store: d.store, sweep: false })))
      await d.store.moveClock(2_000)
      await Promise.all([d.engine, ...others].map((engine) => engine.sweep()))
      for (const gate of gates) {
        expect((await events(gate.id)).filter(({ type }) => type === 'gate.escalated')).toHaveLength(1)
      }
      for (const engine of others) await engine.close()
    })

    it('the engine wakes by itself when a stage is due', async () => {
      const sweeping = await Engine.open({ store: d.store, pollMs: 60_000 })
      const { id } = await open({ roles: ['a'], escalate: [{ after: 150, roles: ['b'] }] })
      await sweeping.start([{ net: gated({ escalate: [{ after: 100, roles: ['b'] }] }) }])
      const giveUp = Date.now() + 10_000
      const escalated = async () => (await events(id)).some(({ type }) => type === 'gate.escalated')
      while (!(await escalated()) && Date.now() < giveUp) await new Promise((resolve) => setTimeout(resolve, 20))
      expect(await escalated()).toBe(true)
      await sweeping.close()
    })

    it('two voters who reach the quorum at the same instant decide it once', async () => {
      const other = await Engine.open({ store: d.store, sweep: false })
      for (let round = 0; round < 10; round++) {
        const gate = await open({ quorum: 2, of: 4 })
        await gate.approve('first')
        const vote = (engine: Engine, actor: string, approved: boolean) =>
          engine.answerGate({ gateId: gate.gateId, approved, actor, answer: actor })
        const votes = await Promise.allSettled([
          vote(d.engine, 'ann', true),
          vote(other, 'bob', true),
          vote(d.engine, 'bob', true),
          vote(other, 'ann', true),
        ])
        const counted = votes.filter(({ status }) => status === 'fulfilled')
        expect(counted).toHaveLength(1)
        for (const vote of votes) {
          if (vote.status === 'rejected') expect(vote.reason).toMatchObject({ code: 'conflict' })
        }
        expect(votesOf(await gate.look())).toHaveLength(2)
        expect((await events(gate.id)).filter(({ type }) => type === 'gate.approved')).toHaveLength(1)
      }
      expect(await d.work()).toEqual(Array.from({ length: 10 }, () => 'after'))
      expect(await d.doctor()).toEqual([])
      await other.close()
    })

    it('invalid options are reported, all of them, when the net is started', async () => {
      const wrong = {
        title: 1,
        form: { type: 'nothing' },
        roles: [],
        quorum: 3,
        of: ['ann', 'bob'],
        excludeInitiator: 'yes',
        escalate: [{ after: 5 }, { after: 5, roles: 'lead' }, { after: 99_000 }],
        ours: { kept: true },
      }
      const start = d.start({ net: gated(wrong as unknown as GateOptions, { timeoutMs: 60_000 }) })
      const error = await start.then(
        () => null,
        (failure: unknown) => failure as { code: string; problems: readonly { path: string }[] },
      )
      expect(error?.code).toBe('invalid_net')
      expect(error?.problems.map(({ path }) => path.replace('nodes.ok.work.options.', '')).sort()).toEqual([
        'escalate[1].after',
        'escalate[1].roles',
        'escalate[2].after',
        'excludeInitiator',
        'form',
        'quorum',
        'roles',
        'title',
      ])
      const kept = await open({ title: 'Ship?', ours: { kept: true } } as GateOptions)
      expect(JSON.parse((await kept.look()).options)).toEqual({ title: 'Ship?', ours: { kept: true } })
    })

    it('invalid names and reasons are refused', async () => {
      const gate = await open({})
      await expect(gate.approve('a\nb')).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(gate.approve('')).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(gate.approve('ann', { roles: ['x'.repeat(300)] })).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(gate.approve('ann', { reason: 'nul\u0000' })).rejects.toMatchObject({ code: 'unstorable' })
      expect(await gate.look()).toMatchObject({ state: 'open', votes: '[]' })
    })
  })
}
