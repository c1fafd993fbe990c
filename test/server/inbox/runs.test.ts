/** /v1/runs: the requests of a producer, and their answers. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'

const NOBODY = '01900000-0000-7000-8000-000000000000'

onBothStores('runs of the inbox', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const submit = (type: string, more: object = {}) => s.post('/v1/runs', { type, payload: {}, ...more })

  it('a submit is answered with 201, the stored run and its location', async () => {
    const payload = { order: 7, lines: [{ sku: 'a' }], note: 'naïve ✓' }
    const made = await s.post('/v1/runs', {
      type: 'billing.invoice.v1',
      payload,
      idempotency_key: 'invoice:7',
      priority: 5,
      run_at: '2031-01-31T09:00:00+02:00',
      max_attempts: 7,
      queue: 'billing',
    })
    expect(made.status).toBe(201)
    expect(made.body.created).toBe(true)
    expect(made.headers.get('location')).toBe(`/v1/runs/${made.body.id}`)
    const { run } = (await s.get(`/v1/runs/${made.body.id}`)).body
    expect(run).toEqual(made.body.run)
    expect(run).toEqual({
      id: made.body.id,
      type: 'billing.invoice.v1',
      payload,
      status: 'pending',
      priority: 5,
      run_at: '2031-01-31T07:00:00.000Z',
      idempotency_key: 'invoice:7',
      attempt: 0,
      max_attempts: 7,
      leased_by: null,
      lease_until: null,
      last_error: null,
      result: null,
      created_at: expect.stringMatching(/^20.*Z$/),
      deleted_at: null,
      queue: 'billing',
      fair_key: null,
      tenant: null,
      instance_id: null,
      node: null,
      item: null,
      role: 'work',
      deferred: false,
      unknown: false,
      dead_letter: false,
      started_at: null,
      finished_at: null,
      cancel_requested: false,
      paused: false,
      error: null,
    })
  })

  it('says what a run waits for, and of one that has ended nothing', async () => {
    const { id } = (await submit('nobody.takes.v1')).body
    const why = (await s.get(`/v1/runs/${id}/why`)).body
    expect(why).toMatchObject({ run: { id, status: 'pending' }, now: expect.stringMatching(/Z$/) })
    expect(why.reasons[0]).toMatchObject({
      kind: 'worker',
      type: 'nobody.takes.v1',
      text: expect.stringContaining('no live worker'),
    })
    await s.post(`/v1/runs/${id}/cancel`)
    expect((await s.get(`/v1/runs/${id}/why`)).body).toMatchObject({ run: { status: 'cancelled' }, reasons: [] })
  })

  it('defaults are those of the table: priority 100, three executions, due now, queue default', async () => {
    const { run } = (await submit('defaults.a.v1')).body
    expect(run).toMatchObject({ priority: 100, max_attempts: 3, queue: 'default', idempotency_key: null })
    expect(run.run_at).toBe(run.created_at)
  })

  it('any JSON is a payload: null, a number, a text, a list', async () => {
    for (const payload of [null, 0, '', 'text', [], [1, { a: null }], false]) {
      const { status, body } = await s.post('/v1/runs', { type: 'any.json.v1', payload })
      expect([status, body.run?.payload]).toEqual([201, payload])
    }
  })

  it('a second submit with the same key gets 200 and the first run, whatever else it contains except the type', async () => {
    const first = await submit('key.a.v1', { idempotency_key: 'once' })
    const second = await submit('key.a.v1', { idempotency_key: 'once', payload: { other: true } })
    expect([first.status, second.status]).toEqual([201, 200])
    expect(second.body).toMatchObject({ id: first.body.id, created: false, run: { type: 'key.a.v1', payload: {} } })
    expect(second.headers.get('location')).toBeNull()
  })

  it('ten submits with one key at the same time write one run', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => submit('key.race.v1', { idempotency_key: 'race' })))
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1)
    expect(made.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1)
  })

  it('the key of a run that retention removed stays used: 200 with its id and no run', async () => {
    const { id } = (await submit('key.kept.v1', { idempotency_key: 'kept' })).body
    await s.post(`/v1/runs/${id}/cancel`)
    const later = (await s.store.now()) + 1000
    await s.store.moveClock(2000)
    await s.store.sweep.prune({ endedBefore: later, eventsBefore: 0, limit: 100 })
    await s.store.moveClock(0)
    expect((await s.get(`/v1/runs/${id}`)).status).toBe(404)
    const again = await submit('key.kept.v1', { idempotency_key: 'kept' })
    expect([again.status, again.body]).toEqual([200, { id, created: false, run: null }])
  })

  it('a key may have 512 characters of any kind', async () => {
    const key = '鍵🗝'.repeat(256)
    expect([...key]).toHaveLength(512)
    const { status, body } = await submit('key.long.v1', { idempotency_key: key })
    expect([status, body.run?.idempotency_key]).toEqual([201, key])
    const found = await s.get(`/v1/runs?idempotency_key=${encodeURIComponent(key)}`)
    expect(found.body.runs.map((run: any) => run.id)).toEqual([body.id])
  })

  it('a bounded queue refuses runs beyond its bound: 429, and nothing is written', async () => {
    const body = { backpressure: { max_depth: 1, strategy: 'reject' } }
    expect((await s.ask('PUT', '/ojs/v1/admin/queues/narrow/config', { body })).status).toBe(200)
    expect((await submit('full.a.v1', { queue: 'narrow' })).status).toBe(201)
    const refused = await submit('full.a.v1', { queue: 'narrow' })
    expect([refused.status, refused.body.error.code, refused.body.error.retryable]).toEqual([429, 'QUEUE_FULL', true])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await s.get('/v1/runs?type=full.a.v1')).body.runs).toHaveLength(1)
  })

  it('a run of a job or a step is shown by its id, too', async () => {
    const job = (await s.post('/ojs/v1/jobs', { type: 'email.send', args: [1] })).body.job
    expect((await s.get(`/v1/runs/${job.id}`)).body.run).toMatchObject({ type: 'email.send', status: 'pending' })
    const list = (await s.get('/v1/runs?type=email.%25')).body.runs
    expect(list).toEqual([])
  })

  it('events list the whole history, oldest first, with the actors', async () => {
    const by = { 'x-petrel-actor': 'grace' }
    const { id } = (await s.post('/v1/runs', { type: 'events.a.v1', payload: {} }, by)).body
    const claimed = (await s.post('/v1/runs/claim', { worker_id: 'w', types: ['events.a.v1'] })).body.runs[0]
    await s.post(`/v1/runs/${id}/fail`, { worker_id: 'w', epoch: claimed.epoch, error: { message: 'no', code: 'c' } })
    await s.post(`/v1/runs/${id}/cancel`, undefined, { 'x-petrel-actor': 'ada' })
    const { events } = (await s.get(`/v1/runs/${id}/events`)).body
    expect(events.map((e: any) => e.type)).toEqual(['created', 'leased', 'started', 'retried', 'cancelled'])
    expect(events[0]).toMatchObject({ type: 'created', actor: 'grace (unverified)' })
    expect(events[1]).toEqual({ type: 'leased', at: expect.any(String), actor: 'w', data: { worker_id: 'w' } })
    expect(events[3].data).toMatchObject({ attempt: 1, error: { code: 'c', message: 'no' } })
    expect(JSON.stringify(events[4])).toContain('ada')
  })

  it('a cancel is final: pending and leased runs are cancelled, ended ones are a conflict with their status', async () => {
    const waiting = (await submit('cancel.a.v1')).body.id
    const cancelled = await s.post(`/v1/runs/${waiting}/cancel`)
    expect([cancelled.status, cancelled.body.run.status]).toEqual([200, 'cancelled'])
    const again = await s.post(`/v1/runs/${waiting}/cancel`)
    expect([again.status, again.body.error.code, again.body.error.details]).toEqual([
      409,
      'conflict',
      { run_id: waiting, status: 'cancelled' },
    ])
    const { id } = (await submit('cancel.b.v1')).body
    const { epoch } = (await s.post('/v1/runs/claim', { worker_id: 'w', types: ['cancel.b.v1'] })).body.runs[0]
    expect((await s.post(`/v1/runs/${id}/cancel`)).body.run).toMatchObject({ status: 'cancelled', leased_by: null })
    const late = await s.post(`/v1/runs/${id}/complete`, { worker_id: 'w', epoch, result: 1 })
    expect([late.status, late.body.error.details.status]).toEqual([409, 'cancelled'])
    expect((await s.get(`/v1/runs/${id}`)).body.run).toMatchObject({ status: 'cancelled', result: null })
  })

  it('a deleted run is not listed or claimed, and can still be read by its id', async () => {
    const { id } = (await submit('delete.a.v1', { idempotency_key: 'gone' })).body
    const deleted = await s.ask('DELETE', `/v1/runs/${id}`)
    expect([deleted.status, deleted.body.run.id]).toEqual([200, id])
    expect(deleted.body.run.deleted_at).toMatch(/Z$/)
    const listed = async (query: string) =>
      (await s.get(`/v1/runs?type=delete.a.v1${query}`)).body.runs.map((run: any) => run.id)
    expect(await listed('')).toEqual([])
    expect(await listed('&deleted=true')).toEqual([id])
    expect(await listed('&deleted=all')).toEqual([id])
    expect((await s.post('/v1/runs/claim', { worker_id: 'w', types: ['delete.a.v1'] })).body.runs).toEqual([])
    expect((await s.get(`/v1/runs/${id}`)).body.run.deleted_at).toBe(deleted.body.run.deleted_at)
    expect((await submit('delete.a.v1', { idempotency_key: 'gone' })).body).toMatchObject({ id, created: false })
  })

  it('a held run cannot be deleted: 409, and nothing changes', async () => {
    const { id } = (await submit('delete.b.v1')).body
    const { epoch } = (await s.post('/v1/runs/claim', { worker_id: 'w', types: ['delete.b.v1'] })).body.runs[0]
    const refused = await s.ask('DELETE', `/v1/runs/${id}`)
    expect([refused.status, refused.body.error.details.status]).toEqual([409, 'leased'])
    expect(refused.body.error.hint).toBe('Cancel it first.')
    expect((await s.get(`/v1/runs/${id}`)).body.run).toMatchObject({ status: 'leased', deleted_at: null })
    expect((await s.post(`/v1/runs/${id}/complete`, { worker_id: 'w', epoch })).status).toBe(200)
    expect((await s.ask('DELETE', `/v1/runs/${id}`)).body.run.status).toBe('succeeded')
  })

  it.each([NOBODY, 'nonsense', '%00', '1', NOBODY.toUpperCase()])('%s is not a run: 404 on every route', async (id) => {
    const held = { worker_id: 'w', epoch: 0 }
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['GET', '/events', undefined],
      ['POST', '/cancel', {}],
      ['POST', '/heartbeat', held],
      ['POST', '/complete', held],
      ['POST', '/fail', { ...held, error: { message: 'x' } }],
      ['POST', '/later', { ...held, delay_seconds: 1 }],
      ['POST', '/release', held],
    ] as const) {
      const { status, body: answer } = await s.ask(method, `/v1/runs/${id}${path}`, { body })
      expect([method, path, status, answer.error?.code]).toEqual([method, path, 404, 'not_found'])
      expect(answer.error.details.resource_type).toBe('run')
    }
  })
})
