/** GET /v1/queues/NAME/stats: depth, age, waits, rates and utilisation. */
import { beforeAll, expect, it } from 'vitest'
import { type As, keyOf } from '../keys.ts'
import { onBothStores, type Serving } from '../serving.ts'

onBothStores('the statistics of a queue over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('show what waits and what has passed', async () => {
    const submit = (queue: string, more: object = {}) =>
      s.post('/v1/runs', { type: 'a.v1', payload: {}, queue, ...more })
    for (let i = 0; i < 3; i++) await submit('mail')
    await submit('mail', { run_at: '2090-01-01T00:00:00Z' })
    const claim = { worker_id: 'w', types: ['a.v1'], queues: ['mail'] }
    const { id, epoch } = (await s.post('/v1/runs/claim', claim)).body.runs[0]
    await s.post(`/v1/runs/${id}/complete`, { worker_id: 'w', epoch, result: null })
    await s.post('/v1/runs/claim', claim)
    const { status, body } = await s.get('/v1/queues/mail/stats')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      queue: 'mail',
      paused: false,
      depth: { pending: 2, available: 1, scheduled: 1, retryable: 0, held: 0, active: 1, accuracy: 'exact' },
      waits: { count: 2, p95_seconds: expect.any(Number) },
      utilisation: { max_concurrent: null },
    })
    expect(body.oldest_age_seconds).toBeGreaterThanOrEqual(0)
    expect(body.waits.buckets).toHaveLength(10)
    const passed = (key: string) => body.minutes.reduce((sum: number, minute: any) => sum + minute[key], 0)
    expect([passed('arrived'), passed('started'), passed('succeeded')]).toEqual([4, 2, 1])
    expect(body.per_minute.arrived).toBeGreaterThan(0)
  })

  it('of a queue that no run has named are empty', async () => {
    const { body } = await s.get('/v1/queues/none%2Fyet/stats?minutes=60')
    expect(body).toMatchObject({ queue: 'none/yet', depth: { pending: 0, accuracy: 'exact' }, minutes: [] })
    expect(body.oldest_due_at).toBeNull()
  })

  it.each(['0', '61', 'many'])('minutes=%s is refused', async (minutes) => {
    const { status, body } = await s.get(`/v1/queues/mail/stats?minutes=${minutes}`)
    expect([status, body.error.code, body.error.details.parameter]).toEqual([400, 'invalid_request', 'minutes'])
  })

  it('are in the metrics, with the age of the oldest run', async () => {
    const { text } = await s.get('/metrics')
    expect(text).toContain('petrel_queue_runs{queue="mail",state="available"} 1')
    expect(text).toMatch(/petrel_queue_oldest_due_seconds\{queue="mail"\} \d/)
  })
})

onBothStores('fair sharing of a queue over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('runs carry their key, and are handed out by turns of the keys', async () => {
    for (const key of ['ann', 'ann', 'ann', 'bob']) {
      const { body } = await s.post('/v1/runs', { type: 'f.v1', payload: {}, queue: 'fair', fair_key: key })
      expect(body.run.fair_key).toBe(key)
    }
    const claim = { worker_id: 'w', types: ['f.v1'], queues: ['fair'], limit: 3 }
    const { runs } = (await s.post('/v1/runs/claim', claim)).body
    expect(runs.map((run: any) => run.fair_key)).toEqual(['ann', 'bob', 'ann'])
  })

  it('jobs of the Open Job Spec name it among their options', async () => {
    const job = { type: 'ojs.fair', args: [], options: { queue: 'ojs-fair', fair_key: 'ann' } }
    const { status, body } = await s.post('/ojs/v1/jobs', job)
    expect(status).toBe(201)
    expect((await s.get(`/v1/runs/${body.job.id}`)).body.run.fair_key).toBe('ann')
    const refused = await s.post('/ojs/v1/jobs', { ...job, options: { fair_key: 'x'.repeat(256) } })
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(refused.text).toContain('fair_key must have 1 to 255 characters')
  })

  it.each(['', 'x'.repeat(256), 7])('refuses %j as a key', async (key) => {
    const { status, body } = await s.post('/v1/runs', { type: 'f.v1', payload: {}, fair_key: key })
    expect([status, body.error.code]).toEqual([400, 'invalid_request'])
    expect(JSON.stringify(body.error)).toContain('fair_key')
  })

  it('weights are set, listed and removed', async () => {
    const path = '/v1/queues/fair/weights'
    const set = await s.ask('PUT', `${path}/a%2Fb`, { body: { weight: 3 } })
    expect([set.status, set.body]).toEqual([200, { weight: { key: 'a/b', tenant: null, weight: 3 } }])
    await s.ask('PUT', `${path}/ann`, { body: { weight: 2, tenant: 'acme' } })
    const listed = (await s.get(path)).body.weights
    expect(listed).toEqual([
      { key: 'ann', tenant: 'acme', weight: 2 },
      { key: 'a/b', tenant: null, weight: 3 },
    ])
    expect((await s.ask('DELETE', `${path}/ann`)).status).toBe(404)
    expect((await s.ask('DELETE', `${path}/ann?tenant=acme`)).body.weights).toHaveLength(1)
    for (const weight of [0, 101, 1.5, 'two']) {
      const refused = await s.ask('PUT', `${path}/ann`, { body: { weight } })
      expect([refused.status, JSON.stringify(refused.body.error).includes('weight')]).toEqual([400, true])
    }
  })
})

onBothStores('the statistics of a queue and keys', (stage) => {
  it('belong to all tenants: a key of one is refused, and so is one that may not read', async () => {
    const root = await keyOf(await stage.serve(), 'root', null)
    const s = await stage.serve({ auth: 'required' })
    const status = async (key: As) => (await s.get('/v1/queues/mail/stats', key)).status
    expect(await status(root)).toBe(200)
    expect(await status(await keyOf(s, 'anna', 'a'))).toBe(403)
    expect(await status(await keyOf(s, 'worker', null, ['work']))).toBe(403)
    const weigh = async (key: As) =>
      (await s.ask('PUT', '/v1/queues/mail/weights/k', { body: { weight: 2 }, headers: key })).status
    expect(await weigh(root)).toBe(200)
    expect(await weigh(await keyOf(s, 'reader', null, ['read']))).toBe(403)
    expect(await weigh(await keyOf(s, 'berta', 'b'))).toBe(403)
  })
})
