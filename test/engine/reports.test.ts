/** The parts of a report besides its outcome: context entries and notes; and what a run receives from its net. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LeaseReport } from '../../src/model/leases.ts'
import type { RunRow } from '../../src/model/rows.ts'
import type { Json } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import type { Delivery, Reply, Report } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'
import { TwoEngines } from './two-engines.ts'

const RETRY = { ...ONCE, maxAttempts: 3 }
let reports = 0

describe.each(PLACES)('reports on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 10_000, heartbeatMs: 3_600_000, maxPayloadBytes: 65_536 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const settle = (delivery: Delivery, outcome: Report['outcome'], more: Partial<Report> = {}): Promise<Reply> =>
    d.session.settle({
      delivery,
      reportId: `report ${++reports}`,
      startedAt: Date.now(),
      outcome,
      wantNext: false,
      ...more,
    })
  const succeeded = (result: Json = null) => ({ kind: 'succeeded', result: JSON.stringify(result) }) as const
  const failed = (more: object = {}) =>
    ({ kind: 'failed', error: { code: 'boom', message: 'it broke', ...more } }) as const
  const context = async (id: string): Promise<Record<string, Json>> => {
    const slots = await d.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })
    return Object.fromEntries(slots.map(({ key, value }) => [key.slice(2), JSON.parse(value) as Json]))
  }
  const recorded = async (runId: string): Promise<[string, Json][]> =>
    (await d.store.read.runHistory(runId)).flatMap(({ type, data }) => {
      const { notes, set } = JSON.parse(data ?? '{}')
      return notes === undefined && set === undefined ? [] : [[type, { notes, set }]]
    })

  describe('context entries', () => {
    /** The arc to `then` depends on the context. */
    const guarded = (more: object = {}) =>
      net([
        node('a', [], {
          ...more,
          next: {
            mode: 'first',
            scope: null,
            arcs: [
              { to: 'then', when: 'ctx.go == true', args: null, set: null },
              { to: 'else', when: null, args: null, set: null },
            ],
          },
        }),
        node('then'),
        node('else'),
      ])

    it('of a success are written before the arcs are evaluated', async () => {
      const id = await d.start({ net: guarded() })
      const a = await d.claimOne()
      await settle(a, succeeded(), { set: '{"go":true,"page":{"n":3}}' })
      expect((await d.claimOne()).node).toBe('then')
      expect(await context(id)).toEqual({ go: true, page: { n: 3 } })
      expect(await recorded(a.runId)).toEqual([['succeeded', { set: ['go', 'page'] }]])
    })

    it('of a failure for good as well', async () => {
      const id = await d.start({ net: guarded({ onFailure: 'route', retry: ONCE }) })
      await settle(await d.claimOne(), failed(), { set: '{"go":true}' })
      expect((await d.claimOne()).node).toBe('then')
      expect(await context(id)).toEqual({ go: true })
    })

    it('of an execution that is retried are not written', async () => {
      const id = await d.start({ net: guarded({ retry: RETRY }) })
      const first = await d.claimOne()
      await settle(first, failed(), { set: '{"go":true}', notes: '["no luck"]' })
      expect(await context(id)).toEqual({})
      expect(await recorded(first.runId)).toEqual([['retried', { notes: ['no luck'] }]])
      await settle(await d.claimOne(), succeeded(), { set: '{"page":1}' })
      expect((await d.claimOne()).node).toBe('else')
      expect(await context(id)).toEqual({ page: 1 })
    })

    it('null removes one, and the last write wins', async () => {
      const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
      await settle(await d.claimOne(), succeeded(), { set: '{"one":1,"two":2}' })
      await settle(await d.claimOne(), succeeded(), { set: '{"one":null,"two":3}' })
      expect(await context(id)).toEqual({ two: 3 })
    })

    it('of deferred or postponed work are written at once', async () => {
      const allow = { rules: [{ when: 'ctx.go == true', allow: true }], onDeny: 'hold' } as const
      const work = [node('a'), node('b', [], { admit: allow })]
      const id = await d.start({ net: net(work, { entry: ['a', 'b'] }) })
      const a = await d.claimOne()
      await settle(a, { kind: 'later', delayMs: 0 }, { set: '{"page":1}', notes: '["first"]' })
      expect(await context(id)).toEqual({ page: 1 })
      const again = (await d.claim()).find((x) => x.node === 'a') as Delivery
      await settle(again, { kind: 'deferred' }, { set: '{"go":true}', notes: '["second"]' })
      expect(await context(id)).toEqual({ page: 1, go: true })
      // The held token is admitted.
      expect((await d.claimOne()).node).toBe('b')
      expect(await recorded(a.runId)).toEqual([
        ['returned', { notes: ['first'], set: ['page'] }],
        ['deferred', { notes: ['second'], set: ['go'] }],
      ])
      await d.engine.complete({ runId: a.runId, outcome: { kind: 'succeeded', result: 1 } })
    })

    it('sent twice are written once, and never by a worker that lost the run', async () => {
      const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
      const a = await d.claimOne()
      const once = { reportId: 'the one', set: '{"by":"first"}', notes: '["first"]' }
      await settle(a, succeeded(), once)
      expect(await settle(a, succeeded(), { ...once, set: '{"by":"again"}' })).toMatchObject({ status: 'recorded' })
      const stale = await settle(a, succeeded(), { set: '{"by":"a stranger"}', notes: '["stranger"]' })
      expect(stale.status).toBe('stale')
      expect(await context(id)).toEqual({ by: 'first' })
      expect(await recorded(a.runId)).toHaveLength(1)
    })

    it('of an item and of an undo are entries like any other', async () => {
      const each = { kind: 'each', items: '[1]', body: run('x'), maxInFlight: 1, failFast: false } as const
      const work = [node('loop', ['a'], { work: each }), node('a', ['b'], { undo: undoBy('a.undo') }), node('b')]
      const id = await d.start({ net: net(work, { onFailure: 'compensate' }) })
      await settle(await d.claimOne(), succeeded(), { set: '{"item":1}' })
      await settle(await d.claimOne(), succeeded())
      await settle(await d.claimOne(), failed({ retryable: false }))
      const undo = await d.claimOne()
      expect(undo.role).toBe('undo')
      await settle(undo, succeeded(), { set: '{"undone":true}' })
      expect(await d.state(id)).toBe('compensated')
      expect(await context(id)).toEqual({ item: 1, undone: true })
    })

    it.each([
      ['names that are no names', '{"":1}', 'invalid_request'],
      ['names that are too long', `{"${'n'.repeat(129)}":1}`, 'invalid_request'],
      ['no object', '[1]', 'invalid_request'],
      ['no JSON', '{', 'invalid_request'],
      ['a NUL', '{"a":"x\\u0000"}', 'unstorable'],
      ['too much', JSON.stringify({ a: 'x'.repeat(70_000) }), 'payload_too_large'],
    ])('%s fail their run, not the batch', async (_, set, code) => {
      const [bad, good] = await Promise.all([1, 2].map(() => d.start({ net: net([node('a')]) })))
      const both = await d.claim()
      const of = (id: string) => both.find((x) => x.instanceId === id) as Delivery
      const wrong = settle(of(bad as string), succeeded(1), { set })
      const right = settle(of(good as string), succeeded(1), { set: '{"a":1}' })
      expect([await wrong, await right]).toMatchObject([{ status: 'recorded' }, { status: 'recorded' }])
      expect(await d.error(bad as string)).toBe(code)
      expect(await context(bad as string)).toEqual({})
      expect(await d.state(good as string)).toBe('completed')
      expect(await context(good as string)).toEqual({ a: 1 })
    })

    it('a run without a workflow has none', async () => {
      const [made] = await d.engine.enqueue([{ type: 'x', payload: null, maxAttempts: 5 }])
      await settle(await d.claimOne(), succeeded(), { set: '{"a":1}' })
      const row = await d.store.read.run(made?.id as string)
      expect([row?.status, row?.lastError]).toEqual(['failed', expect.stringContaining('no workflow')])
    })

    it('work under an HTTP lease as well', async () => {
      const id = await d.start({ net: guarded() })
      const asked = { queues: null, types: null, limit: 1, holder: 'http', runtime: null, tenant: null, waitMs: 0 }
      const [a] = await d.engine.leases.fetch({ ...asked, leaseMs: () => 60_000 })
      const report: LeaseReport = {
        runId: a?.id as string,
        holder: 'http',
        attempt: 1,
        outcome: { kind: 'succeeded', result: 1 },
      }
      const [refused] = await d.engine.leases.settle([{ ...report, set: { '': 1 } }])
      expect(refused).toMatchObject({ code: 'invalid_request', details: { field: 'set' } })
      const [settled] = await d.engine.leases.settle([{ ...report, set: { go: true }, notes: ['over http'] }])
      expect(settled).toMatchObject({ run: { status: 'succeeded' } })
      expect(await context(id)).toEqual({ go: true })
      expect(await recorded(a?.id as string)).toEqual([['succeeded', { notes: ['over http'], set: ['go'] }]])
      expect((await d.claimOne()).node).toBe('then')
    })
  })

  describe('notes', () => {
    it('are stored with the event that ends the execution', async () => {
      const [made] = await d.engine.enqueue([{ type: 'x', payload: null, retry: RETRY, maxAttempts: 3 }])
      const id = made?.id as string
      await settle(await d.claimOne(), failed(), { notes: '[1]' })
      await settle(await d.claimOne(), { kind: 'later', delayMs: 0 }, { notes: '[2]' })
      await settle(await d.claimOne(), failed({ retryable: false }), { notes: '[3]' })
      expect(await recorded(id)).toEqual([
        ['retried', { notes: [1] }],
        ['returned', { notes: [2] }],
        ['failed', { notes: [3] }],
      ])
    })

    it('beyond the limit are counted, and never fail a run', async () => {
      const [made] = await d.engine.enqueue([{ type: 'x', payload: null }])
      const notes = JSON.stringify(['first', 'x'.repeat(70_000), 'a\u0000', 'last'])
      await settle(await d.claimOne(), succeeded(), { notes, notesDropped: 4 })
      const [end] = (await d.store.read.runHistory(made?.id as string)).slice(-1)
      expect(JSON.parse(end?.data ?? '{}')).toMatchObject({ notes: ['first', 'last'], notes_dropped: 6 })
      expect(end?.type).toBe('succeeded')
    })
  })

  describe('programs', () => {
    it('are those of the node, of the body of a list, of an undo', async () => {
      const body = run('item', { program: ['item'] })
      const each = { kind: 'each', items: '[1]', body, maxInFlight: null, failFast: false } as const
      const work = [
        node('a', ['loop'], {
          work: run('a', { program: { do: 'a' } }),
          undo: { work: run('a.undo', { program: 'undo a' }), retry: null, timeout: null },
        }),
        node('loop', ['b'], { work: each }),
        node('b', [], { retry: ONCE }),
      ]
      await d.start({ net: net(work, { onFailure: 'compensate' }) })
      const seen: Json[] = []
      for (let i = 0; i < 4; i++) {
        const delivery = await d.claimOne()
        seen.push([delivery.type, await d.session.program(delivery)])
        await settle(delivery, delivery.node === 'b' ? failed() : succeeded())
      }
      expect(seen).toEqual([
        ['a', { do: 'a' }],
        ['item', ['item']],
        ['b', null],
        ['a.undo', 'undo a'],
      ])
      const [made] = await d.engine.enqueue([{ type: 'bare', payload: null }])
      expect(await d.session.program(await d.claimOne())).toBeNull()
      expect(made?.created).toBe(true)
    })
  })

  it('another process finds program and arguments in the store', async () => {
    const pair = await TwoEngines.open(place)
    try {
      const text = 'x'.repeat(5000)
      const work = run('a', { args: { text: '{{ input.text }}' }, program: { do: 'a' } })
      await pair.engines[0].start([{ net: net([node('a', [], { work })], { inlineBytes: 1024 }), input: { text } }])
      const [other] = await pair.fetch(pair.engines[1], 'other', 1, 0)
      expect(JSON.parse(other?.payload as string)).toEqual({ text })
      expect(await pair.engines[1].program(other as RunRow)).toEqual({ do: 'a' })
    } finally {
      await pair.stop()
      await pair.drop()
    }
  })

  describe('separately stored arguments', () => {
    const long = 'x'.repeat(5000)
    const separateNet = (more: object = {}) =>
      net([node('a', [], { work: run('a', { args: { text: '{{ input.text }}' } }) })], { inlineBytes: 1024, ...more })

    it('are complete, in a session and under an HTTP lease', async () => {
      await d.start({ net: separateNet(), input: { text: long } })
      const a = await d.claimOne()
      expect(a.payload.length).toBeLessThan(100)
      expect(await d.session.dereference(a)).toEqual({ text: long })
      await settle(a, { kind: 'released' })
      const asked = { queues: null, types: null, limit: 1, holder: 'http', runtime: null, tenant: null, waitMs: 0 }
      const [over] = await d.engine.leases.fetch({ ...asked, leaseMs: () => 60_000 })
      expect(JSON.parse(over?.payload as string)).toEqual({ text: long })
      // The row itself stays short.
      expect((await d.store.read.run(a.runId))?.payload.length).toBeLessThan(100)
    })

    it("of a list are shared, in addition to each item's own", async () => {
      const body = run('item', { args: { n: '{{ item }}' } })
      const each = { kind: 'each', items: '[1, 2]', body, maxInFlight: null, failFast: false } as const
      const loop = node('loop', [], { work: { ...each, shared: { text: '{{ input.text }}' } } })
      await d.start({ net: net([loop], { inlineBytes: 1024 }), input: { text: long } })
      const items = await d.claim()
      expect(await Promise.all(items.map((item) => d.session.dereference(item)))).toEqual([
        { text: long, n: 1 },
        { text: long, n: 2 },
      ])
    })

    it('that are missing fail the run that refers to them', async () => {
      const id = await d.start({ net: separateNet(), input: { text: long } })
      const a = await d.claimOne()
      const { $ref: key } = JSON.parse(a.payload)
      const delta = { slots: { remove: [{ instanceId: id, key }] } }
      await d.store.transact({ roots: [id], wait: true, need: {}, decide: () => ({ delta, result: null }) })
      expect(await d.session.dereference(a)).toBeUndefined()
      await settle(a, { kind: 'released' })
      const asked = { queues: null, types: null, limit: 1, holder: 'http', runtime: null, tenant: null, waitMs: 0 }
      expect(await d.engine.leases.fetch({ ...asked, leaseMs: () => 60_000 })).toEqual([])
      expect(await d.error(id)).toBe('reference_not_available')
    })
  })
})
