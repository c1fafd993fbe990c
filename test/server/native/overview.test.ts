/** GET /v1/overview: what an operator wants to know first, and what a caller of a tenant sees of it. */
import { beforeAll, expect, it } from 'vitest'
import { checkReply } from '../documented.ts'
import { keyOf } from '../keys.ts'
import { onBothStores, type Serving, until } from '../serving.ts'
import { workflow, YAML } from './stage.ts'

onBothStores('the overview', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ engine: { retention: { endedMs: 86_400_000, eventsMs: null } } })
  })

  const overview = async (headers: Record<string, string> = {}) =>
    checkReply('GET', '/v1/overview', await s.get('/v1/overview', headers))

  it('of an empty store is empty, and its invariants are checked beside it', async () => {
    const { status, body } = await overview()
    expect(status).toBe(200)
    expect(body).toMatchObject({
      gates: { open: 0, oldest_at: null, due_soonest: null },
      errors: { open: 0, new: 0, more: false, top: [] },
      pauses: [],
      operations: [],
      shared: {
        minutes: [],
        waits: { count: 0, p50_seconds: null, p95_seconds: null },
        run_time: { count: 0, mean_seconds: null },
        queues: [],
        workers: [],
        store: { ended_kept_seconds: 86_400, events_kept_seconds: null },
      },
    })
    expect(body.shared.store.bytes).toBeGreaterThan(10_000)
    const checked = await until(
      async () => (await overview()).body.shared.doctor,
      (doctor) => doctor !== null,
    )
    expect(checked).toMatchObject({ ok: true, findings: [], count: 0 })
  })

  it('shows gates, failures, pauses, queues and what passed', async () => {
    await s.post('/v1/definitions', workflow('review', { steps: ['ask'] }), YAML)
    const first = (await s.post('/v1/instances', { workflow: 'review' })).body.id
    await s.post('/v1/instances', { workflow: 'review' })
    const submit = (queue: string, type: string) => s.post('/v1/runs', { type, payload: {}, queue, max_attempts: 1 })
    for (let i = 0; i < 3; i++) await submit('mail', 'a.v1')
    await submit('print', 'b.v1')
    // Nothing waits in this queue afterwards: what has passed through it counts all the same.
    await submit('emptied', 'a.v1')
    for (const [report, queue] of [
      ['complete', 'mail'],
      ['fail', 'mail'],
      ['complete', 'emptied'],
    ] as const) {
      const claim = { worker_id: 'w', types: ['a.v1'], queues: [queue] }
      const { id, epoch } = (await s.post('/v1/runs/claim', claim)).body.runs[0]
      const how = report === 'fail' ? { error: { message: 'no', code: 'nope' }, retryable: false } : { result: 1 }
      await s.post(`/v1/runs/${id}/${report}`, { worker_id: 'w', epoch, ...how })
    }
    await s.post('/ojs/v1/queues/print/pause')
    const { body } = await until(overview, ({ body }) => {
      const done = body.shared.minutes.reduce((sum: number, one: any) => sum + one.succeeded + one.failed, 0)
      return done === 3 && body.errors.open === 1
    })
    expect(body.gates).toMatchObject({ open: 2, due_soonest: { instance_id: first, node: 'ask' } })
    expect(body.errors).toMatchObject({ open: 1, new: 1, top: [{ code: 'nope', count: 1 }] })
    expect(body.pauses).toMatchObject([{ kind: 'queue', name: 'print' }])
    expect(body.shared.queues.map((queue: any) => [queue.queue, queue.pending, queue.paused, queue.more])).toEqual([
      ['mail', 1, false, false],
      ['print', 1, true, false],
    ])
    expect(body.shared.waits).toMatchObject({ count: 3, p95_seconds: expect.any(Number) })
    expect(body.shared.run_time).toMatchObject({ count: 3, mean_seconds: expect.any(Number) })
  })

  it('counts a long queue up to a bound', async () => {
    const runs = Array.from({ length: 1_200 }, () => ({ type: 'long.v1', queue: 'a-long-one', payload: {} }))
    await s.engine.enqueue(runs as never)
    const { body } = await until(overview, ({ body }) => body.shared.queues.length === 3)
    expect(body.shared.queues.find(({ queue }: any) => queue === 'a-long-one')).toMatchObject({
      pending: 1_000,
      more: true,
    })
  })
})

onBothStores('the overview of a tenant', (stage) => {
  it('has what is its own, and nothing of what all share', async () => {
    const s = await stage.serve()
    const [acme, umbrella] = [await keyOf(s, 'ann', 'acme'), await keyOf(s, 'bob', 'umbrella')]
    for (const key of [acme, umbrella]) {
      await s.post('/v1/definitions', workflow('review', { steps: ['ask'] }), { ...YAML, ...key })
      await s.post('/v1/instances', { workflow: 'review' }, key)
    }
    await s.post('/v1/instances', { workflow: 'review' }, acme)
    const of = async (key: Record<string, string>) => (await s.get('/v1/overview', key)).body
    expect([(await of(acme)).gates.open, (await of(umbrella)).gates.open, (await of({})).gates.open]).toEqual([2, 1, 3])
    expect([(await of(acme)).shared, (await of({})).shared === null]).toEqual([null, false])
    const worker = await keyOf(s, 'w', null, ['work'])
    expect((await s.get('/v1/overview', worker)).status).toBe(403)
  })
})
