import { expect, it } from 'vitest'
import type { GateQuery, InstanceQuery, RunQuery } from '../../src/model/queries/queries.ts'
import { aGate, aLeasedRun, aLimit, anEndedInstance, anInstance, aRun, aStep, newId, T0 } from './rows.ts'
import { ids, put } from './subject.ts'
import type { Current } from './suite.ts'

const INSTANCES: InstanceQuery = {
  states: null,
  name: null,
  dialect: null,
  tenant: null,
  rootsOnly: false,
  limit: 100,
  before: null,
}
const RUNS: RunQuery = {
  status: null,
  queue: null,
  type: null,
  deadLetter: null,
  tenant: null,
  limit: 100,
  before: null,
}

export function readTopic(current: Current): void {
  it('reads single rows, null for an unknown one, and several at once', async () => {
    const { store } = current()
    const [a, b] = [aRun(), aRun()]
    const net = { hash: 'h1', name: 'order', dialect: 'dag', net: '{"version":1}' }
    await put(store, { runs: { insert: [a, b] }, nets: [net] })
    expect(await store.read.run(a.id)).toEqual(a)
    expect(ids(await store.read.runs({ ids: [b.id, newId(), a.id] })).sort()).toEqual(ids([a, b]).sort())
    expect(await store.read.runs({ ids: [] })).toEqual([])
    expect((await store.read.net('h1'))!.name).toBe('order')
    expect([await store.read.run(newId()), await store.read.instance(newId()), await store.read.net('h2')]).toEqual([
      null,
      null,
      null,
    ])
  })

  it('lists instances newest first, filtered and in pages', async () => {
    const { store } = current()
    const a = anInstance({ name: 'order', tenant: 'acme' })
    const b = anInstance({ name: 'order', dialect: 'saga', state: 'waiting' })
    const c = anEndedInstance({ name: 'refund', rootId: a.id, parentId: a.id, parentNode: 'sub' })
    await put(store, { instances: { insert: [a, b, c] } })
    const list = async (query: Partial<InstanceQuery>) =>
      ids(await store.read.listInstances({ ...INSTANCES, ...query }))
    expect(await list({})).toEqual(ids([c, b, a]))
    expect(await list({ limit: 1 })).toEqual([c.id])
    expect(await list({ limit: 1, before: c.id })).toEqual([b.id])
    expect(await list({ states: ['running', 'waiting'] })).toEqual(ids([b, a]))
    expect(await list({ states: [] })).toEqual([])
    expect(await list({ name: 'order', dialect: 'saga' })).toEqual([b.id])
    expect(await list({ tenant: 'acme' })).toEqual([a.id])
    expect(await list({ rootsOnly: true })).toEqual(ids([b, a]))
    const d = anInstance({ startKey: 'order:7', retryOf: b.id, createdAt: T0 + 3_600_001 })
    await put(store, { instances: { insert: [d] } })
    expect([await list({ startKey: 'order:7' }), await list({ startKey: 'order:8' })]).toEqual([[d.id], []])
    expect([await list({ retryOf: b.id }), await list({ retryOf: a.id })]).toEqual([[d.id], []])
    expect(await list({ createdAfter: T0 + 3_600_001 })).toEqual([d.id])
    expect(await list({ createdAfter: T0 + 3_600_002 })).toEqual([])
    expect(await list({ createdBefore: T0 + 3_600_001 })).toEqual(ids([c, b, a]))
    expect(await store.read.countInstances()).toEqual(
      new Map([
        ['running', 2],
        ['waiting', 1],
        ['completed', 1],
      ]),
    )
    expect(ids(await store.read.children(a.id))).toEqual([c.id])
  })

  it('lists runs newest first, filtered and in pages', async () => {
    const { store } = current()
    const a = aRun({ queue: 'mail' })
    const b = aRun({ status: 'failed', deadLetter: true, tenant: 'acme', settledAt: T0, finishedAt: T0 })
    const c = aRun({ type: 'bill', status: 'succeeded', settledAt: T0, finishedAt: T0 })
    await put(store, { runs: { insert: [a, b, c, aRun({ deletedAt: T0 })] } })
    const list = async (query: Partial<RunQuery>) => ids(await store.read.listRuns({ ...RUNS, ...query }))
    expect(await list({})).toEqual(ids([c, b, a]))
    expect(await list({ limit: 2 })).toEqual(ids([c, b]))
    expect(await list({ before: b.id })).toEqual([a.id])
    expect(await list({ status: ['failed', 'succeeded'] })).toEqual(ids([c, b]))
    expect(await list({ queue: 'mail' })).toEqual([a.id])
    expect(await list({ type: 'bill' })).toEqual([c.id])
    expect(await list({ deadLetter: true })).toEqual([b.id])
    expect(await list({ deadLetter: false })).toEqual(ids([c, a]))
    expect(await list({ tenant: 'acme' })).toEqual([b.id])
    expect(await store.read.countRuns({ queue: null })).toEqual(
      new Map([
        ['pending', 1],
        ['failed', 1],
        ['succeeded', 1],
      ]),
    )
    expect(await store.read.countRuns({ queue: 'mail' })).toEqual(new Map([['pending', 1]]))
  })

  it("returns an instance's runs in the order they were created, in pages", async () => {
    const { store } = current()
    const instance = anInstance()
    const steps = ['z', 'a', 'm', 'b'].map((node) => aStep(instance, node))
    await put(store, { instances: { insert: [instance] }, runs: { insert: [...steps.toReversed(), aRun()] } })
    const page = async (limit: number, after: string | null) =>
      ids(await store.read.instanceRuns({ instanceId: instance.id, limit, after }))
    expect(await page(10, null)).toEqual(ids(steps))
    expect(await page(2, steps[0]!.id)).toEqual(ids(steps.slice(1, 3)))
  })

  it('returns open gates of one instance or of all', async () => {
    const { store } = current()
    const [a, b] = [anInstance(), anInstance()]
    const gates = [aGate(a), aGate(b)]
    await put(store, {
      instances: { insert: [a, b] },
      gates: { insert: [...gates, aGate(a, { node: 'x', state: 'rejected' })] },
    })
    expect((await store.read.gate(gates[0]!.id))!.node).toBe('approve')
    expect(await store.read.gate(newId())).toBeNull()
    expect(ids(await store.read.openGates({ instanceId: null, limit: 10 }))).toEqual(ids(gates))
    expect(ids(await store.read.openGates({ instanceId: b.id, limit: 10 }))).toEqual([gates[1]!.id])
  })

  it('lists gates newest first, by state, instance and tenant, page by page', async () => {
    const { store } = current()
    const [a, b] = [anInstance({ tenant: 'acme' }), anInstance()]
    const gates = [aGate(a), aGate(b), aGate(a, { node: 'x', state: 'rejected' }), aGate(b, { node: 'y' })]
    await put(store, { instances: { insert: [a, b] }, gates: { insert: gates } })
    const list = async (given: Partial<GateQuery>) =>
      ids(
        await store.read.listGates({ states: null, instanceId: null, tenant: null, limit: 10, before: null, ...given }),
      )
    const [first, second, third, fourth] = ids(gates)
    expect(await list({})).toEqual([fourth, third, second, first])
    expect(await list({ limit: 2, before: fourth as string })).toEqual([third, second])
    expect(await list({ states: ['open'] })).toEqual([fourth, second, first])
    expect(await list({ states: ['open', 'rejected'], instanceId: a.id })).toEqual([third, first])
    expect(await list({ tenant: 'acme' })).toEqual([third, first])
    expect(await list({ states: ['open'], tenant: 'nobody' })).toEqual([])
  })

  it('keeps the first secret offered for signing, whichever process offers it', async () => {
    const { store } = current()
    const offered = await Promise.all(['one', 'two', 'three'].map((secret) => store.keys.signing(secret)))
    expect(new Set(offered).size).toBe(1)
    expect(await store.keys.signing('late')).toBe(offered[0])
  })

  it('counts pending and held runs in queues, configured or not', async () => {
    const { store } = current()
    await put(store, {
      queues: [{ name: 'idle', paused: true }],
      limits: [aLimit('queue:mail')],
      runs: {
        insert: [
          aRun({ queue: 'mail' }),
          aRun({ queue: 'mail' }),
          aLeasedRun({ queue: 'mail', sessionId: newId() }),
          aRun({ queue: 'mail', status: 'leased', leasedBy: 'go', leaseUntil: T0 }),
          aRun({ queue: 'bills', status: 'succeeded', settledAt: T0, finishedAt: T0 }),
          aRun({ queue: 'bills' }),
        ],
      },
    })
    expect([...(await store.read.queuesPaused())]).toEqual([['idle', true]])
    expect(await store.read.queueing.names({ limit: 10 })).toEqual(['bills', 'idle', 'mail'])
    expect((await store.read.limits()).map((limit) => limit.key)).toEqual(['queue:mail'])
  })
}
