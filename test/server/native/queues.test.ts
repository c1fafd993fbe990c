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

onBothStores('the statistics of a queue and keys', (stage) => {
  it('belong to all tenants: a key of one is refused, and so is one that may not read', async () => {
    const root = await keyOf(await stage.serve(), 'root', null)
    const s = await stage.serve({ auth: 'required' })
    const status = async (key: As) => (await s.get('/v1/queues/mail/stats', key)).status
    expect(await status(root)).toBe(200)
    expect(await status(await keyOf(s, 'anna', 'a'))).toBe(403)
    expect(await status(await keyOf(s, 'worker', null, ['work']))).toBe(403)
  })
})
