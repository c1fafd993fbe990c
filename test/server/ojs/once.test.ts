/**
 * 6.4.4: callbacks are enqueued exactly once, whatever races for the end of a batch: twenty clients, two servers on one
 * store, repeated reports, failures, expiring leases, cancels.
 */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'
import { type Any, batch, Flow, group, job, once } from './flow.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const ROUNDS = full ? 100 : 10
const CLIENTS = 20
const timeout = full ? 600_000 : 60_000

onBothStores('6.4.4 exactly once', (stage) => {
  let servers: readonly [Serving, Serving]
  let f: Flow
  /** Client i uses server i modulo 2. */
  let clients: readonly Flow[]

  beforeAll(async () => {
    servers = [await stage.serve({ allowReset: true }), await stage.serve({ allowReset: true })]
    f = new Flow(servers[0])
    clients = Array.from({ length: CLIENTS }, (_, i) => new Flow(servers[i % 2] as Serving, ['default'], `worker-${i}`))
  })
  beforeEach(async () => {
    await servers[0].store.moveClock(0)
    expect((await servers[0].post('/ojs/v1/admin/reset')).status).toBe(200)
  })
  afterEach(async () => {
    expect(await servers[0].store.read.doctor()).toEqual([])
  })

  /** All at once, one request per client: returns their statuses. */
  const atOnce = async (requests: readonly (() => Promise<{ readonly status: number }>)[]): Promise<number[]> =>
    (await Promise.all(requests.map((request) => request()))).map((reply) => reply.status)
  const times = (statuses: readonly number[], status: number): number => statuses.filter((s) => s === status).length
  const nackOf = (flow: Flow, one: Any) => () =>
    flow.s.post('/ojs/v1/workers/nack', {
      job_id: one.id,
      worker_id: one.worker_id,
      error: { code: 'lost', message: 'the race', retryable: false },
    })
  const ackOf =
    (flow: Flow, one: Any, result: unknown = null) =>
    () =>
      flow.s.post('/ojs/v1/workers/ack', { job_id: one.id, worker_id: one.worker_id, result })

  /** The callbacks of a batch according to every record of them: the jobs handed out, the events, the rows. */
  const fired = async (id: string, expected: readonly string[]): Promise<void> => {
    const handedOut = await f.fetch()
    expect(handedOut.map((one) => [one.workflow_id, one.workflow.callback]).sort()).toEqual(
      [...expected].sort().map((name) => [id, name]),
    )
    for (const one of handedOut) await f.ack(one)
    expect(await f.fetch()).toEqual([])
    const workflow = await f.get(id)
    expect(workflow.state).toBe('completed')
    const events = (await f.events('workflow.callback_fired,workflow.completed')).filter((e) => e.workflow_id === id)
    expect(events.map((e) => e.data.callback ?? 'completed').sort()).toEqual(['completed', ...expected].sort())
    const rows = await servers[0].store.read.listRuns({
      status: null,
      queue: null,
      type: null,
      deadLetter: null,
      tenant: null,
      limit: 100,
      before: null,
    })
    const own = handedOut.map((one) => one.id)
    expect(rows.filter((row) => row.role === 'final' && own.includes(row.id))).toHaveLength(expected.length)
  }

  it(`the last acks of ${CLIENTS} clients at once: ${ROUNDS} rounds`, { timeout }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { id } = await f.create(batch(Array.from({ length: CLIENTS }, (_, i) => once(`job.n${i}`))))
      const held = await Promise.all(clients.map((client) => client.fetchOne()))
      expect(await atOnce(clients.map((client, i) => ackOf(client, held[i], i)))).toEqual(held.map(() => 200))
      const { metadata } = await f.get(id)
      expect(metadata).toMatchObject({ completed_count: CLIENTS, failed_count: 0 })
      await fired(id, ['on_complete', 'on_success'])
    }
  })

  it(`every one of ${CLIENTS} clients reports the same last job: ${ROUNDS} rounds`, { timeout }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { id } = await f.create(batch([once('a')]))
      const last = await f.fetchOne('a')
      const statuses = await atOnce(clients.map((client, i) => ackOf(client, last, i)))
      expect([times(statuses, 200), times(statuses, 409)]).toEqual([1, CLIENTS - 1])
      await fired(id, ['on_complete', 'on_success'])
    }
  })

  it('the same job many times in one request of many reports', async () => {
    const { id } = await f.create(batch([once('a'), once('b')]))
    const held = await f.fetch()
    const acks = [...held, ...held, ...held].map((one) => ({ job_id: one.id }))
    const replies = await Promise.all(clients.map((client) => client.s.post('/ojs/v1/workers/ack/batch', { acks })))
    const results = replies.flatMap((reply) => reply.body.results)
    expect(results.filter((one: Any) => one.state === 'completed')).toHaveLength(2)
    expect(results.filter((one: Any) => one.error?.code === 'conflict')).toHaveLength(results.length - 2)
    await fired(id, ['on_complete', 'on_success'])
  })

  it(`ack against nack of the last job: ${ROUNDS} rounds`, { timeout }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { id } = await f.create(batch([once('a'), once('b')]))
      const [a, last] = await f.fetch()
      await f.ack(a)
      const racing = clients.map((client, i) => (i % 2 === round % 2 ? ackOf(client, last) : nackOf(client, last)))
      const statuses = await atOnce(racing)
      expect(times(statuses, 200)).toBe(1)
      const acked = statuses.indexOf(200) % 2 === round % 2
      expect((await f.job(last.id)).state).toBe(acked ? 'completed' : 'discarded')
      await fired(id, ['on_complete', acked ? 'on_success' : 'on_failure'])
    }
  })

  it(`ack against the end of the lease: ${ROUNDS} rounds`, { timeout }, async () => {
    const { store } = servers[0]
    for (let round = 1; round <= ROUNDS; round++) {
      const { id } = await f.create(batch([once('a')]))
      const fetched = await f.s.post('/ojs/v1/workers/fetch', { queues: ['default'], visibility_timeout_ms: 5000 })
      const [last] = fetched.body.jobs
      const expiry = async () => {
        await store.moveClock(round * 6000)
        return { status: 0 }
      }
      const statuses = await atOnce([expiry, ...clients.slice(0, 6).map((client) => ackOf(client, last))])
      const acked = times(statuses, 200) === 1
      expect(times(statuses, 409)).toBe(acked ? 5 : 6)
      const ended = await until(
        () => f.job(last.id),
        (found) => found.state !== 'active',
      )
      expect(ended.state).toBe(acked ? 'completed' : 'discarded')
      if (!acked) expect(ended.error.code).toBe('visibility_timeout')
      await fired(id, ['on_complete', acked ? 'on_success' : 'on_failure'])
    }
  })

  it(`ack against the cancel of the job itself: ${ROUNDS} rounds`, { timeout }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { id } = await f.create(batch([once('a')]))
      const last = await f.fetchOne('a')
      const cancels = clients
        .slice(10)
        .map((client) => () => client.s.ask('DELETE', `/ojs/v1/jobs/${last.id}`, { headers: {} }))
      const statuses = await atOnce([...clients.slice(0, 10).map((client) => ackOf(client, last)), ...cancels])
      expect(times(statuses, 200)).toBe(1)
      const acked = statuses.indexOf(200) < 10
      await fired(id, ['on_complete', acked ? 'on_success' : 'on_failure'])
    }
  })

  it(`the last acks against the cancel of the batch: ${ROUNDS} rounds`, { timeout }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { id } = await f.create(batch(Array.from({ length: 10 }, () => once('a'))))
      const held = await f.fetch()
      const statuses = await atOnce([
        () => f.delete(id),
        ...held.map((one, i) => () => ackOf(clients[i] as Flow, one, i)()),
      ])
      // Jobs that were active at the cancel are recorded like earlier ones.
      expect(statuses).toEqual(statuses.map(() => 200))
      expect(await f.fetch()).toEqual([])
      const workflow = await f.get(id)
      expect(workflow.state).toBe('cancelled')
      expect(workflow.metadata).toMatchObject({ completed_count: 10, failed_count: 0 })
      for (const callback of Object.values<Any>(workflow.callbacks)) expect(callback.state).toBe('cancelled')
      const recorded = (await f.events('workflow.cancelled,workflow.completed')).filter((e) => e.workflow_id === id)
      expect(recorded.map((e) => e.type)).toEqual(['workflow.cancelled'])
    }
  })

  describe('10.4 inside another workflow', () => {
    it(`the last acks of jobs and of a nested group at once: ${ROUNDS} rounds`, { timeout }, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const inner = Array.from({ length: 10 }, (_, i) => once(`inner.n${i}`))
        const { id } = await f.create(batch([group(...inner), ...Array.from({ length: 10 }, () => job('outer'))]))
        const held = await Promise.all(clients.map((client) => client.fetchOne()))
        expect(await atOnce(clients.map((client, i) => ackOf(client, held[i], i)))).toEqual(held.map(() => 200))
        await fired(id, ['on_complete', 'on_success'])
      }
    })
  })
})
