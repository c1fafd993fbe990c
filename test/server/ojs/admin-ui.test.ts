/** Every request of the official admin pages gets the reply that the pages read. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'
import { type Any, chain, Flow, group, job, MOMENT, once } from './flow.ts'
import { hangUp, listen } from './listening.ts'

afterEach(hangUp)

onBothStores('the official admin pages', (stage) => {
  let s: Serving
  let f: Flow
  let flow: Any
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true, allowPrivateWebhooks: true })
    f = new Flow(s)
    flow = await f.create(chain(once('a'), group(once('b'), once('c'))))
    await f.create({ ...group(once('g'), once('h')), name: 'wide' })
    for (const [minutes, priority] of [
      [90, 5],
      [30, -5],
      [60, 50],
    ]) {
      await s.post('/ojs/v1/jobs', job('e', [], { queue: 'later', priority, scheduled_at: `+PT${minutes}M` }))
    }
    const rated = { queue: 'rated', rate_limit: { key: 'k', rate: 5, period: 'PT1M' }, unique: { keys: ['type'] } }
    await s.post('/ojs/v1/jobs', job('r', [], rated))
    await s.post('/ojs/v1/workers/heartbeat', { worker_id: 'w', active_jobs: [] })
    await s.post('/ojs/v1/cron', { name: 'n', expression: '0 3 * * *', job_template: { type: 'x', args: [] } })
  })

  const ask = async (method: string, path: string, body?: unknown, status = 200): Promise<Any> => {
    const reply = await s.ask(method, path, body === undefined ? {} : { body })
    expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(status)
    return reply.body
  }

  it.each([
    ['/ojs/v1/admin/queues', 3],
    ['/ojs/v1/admin/jobs', 7],
    ['/ojs/v1/admin/workers', 1],
    ['/ojs/v1/admin/dead-letter', 0],
    ['/ojs/v1/crons', 1],
    ['/ojs/v1/workflows', 2],
    ['/ojs/v1/workflows?state=active', 2],
    ['/ojs/v1/rate-limits', 1],
    ['/ojs/v1/unique-jobs', 1],
    ['/ojs/v1/webhooks/subscriptions', 0],
    ['/ojs/v1/admin/tenants', 0],
    ['/ojs/v1/events?type=workflow.created', 2],
  ])('%s is a page of items', async (path, total) => {
    const page = `${path}${path.includes('?') ? '&' : '?'}page=1&per_page=25`
    const { items, pagination } = await ask('GET', page)
    expect([items.length, pagination]).toEqual([total, expect.objectContaining({ total, page: 1, per_page: 25 })])
  })

  it('jobs are sorted by due time or by priority, page by page', async () => {
    const order = async (query: string): Promise<number[]> =>
      (await ask('GET', `/ojs/v1/admin/jobs?queue=later&${query}`)).items.map((one: Any) => one.priority)
    expect(await order('state=scheduled&per_page=50&sort=scheduled_at&order=asc')).toEqual([-5, 50, 5])
    expect(await order('sort=scheduled_at&order=desc')).toEqual([5, 50, -5])
    expect(await order('sort=priority&order=desc')).toEqual([50, 5, -5])
    expect(await order('sort=priority&order=asc&per_page=2&page=2')).toEqual([50])
    expect(await order('sort=created_at&order=asc')).toEqual([5, -5, 50])
    await ask('GET', '/ojs/v1/admin/jobs?sort=color', undefined, 400)
  })

  it('a workflow of any kind has steps with ids, and a progress by step', async () => {
    const { items } = await ask('GET', '/ojs/v1/workflows?page=1&per_page=25')
    for (const item of items) {
      expect([item.steps_total, item.steps_completed]).toEqual([2, 0])
      const detail = await ask('GET', `/ojs/v1/workflows/${item.id}`)
      const progress = await ask('GET', `/ojs/v1/workflows/${item.id}/progress`)
      expect(detail.steps.map((step: Any) => step.id)).toEqual(['0', '1'])
      expect(progress.steps).toEqual([expect.objectContaining({ id: '0', progress: 0 }), expect.anything()])
    }
    expect((await ask('GET', `/ojs/v1/workflows/${flow.id}`)).workflow.steps[1].workflow.jobs).toHaveLength(2)
  })

  it('the newest events come first, from a given time on', async () => {
    const { items } = await ask('GET', '/ojs/v1/events?page=1&per_page=3')
    expect(items).toHaveLength(3)
    expect(items[0].type).not.toBe('workflow.created')
    for (const item of items) expect(item.timestamp).toMatch(MOMENT)
    expect((await ask('GET', '/ojs/v1/events?page=1&per_page=3&since=2100-01-01T00:00:00Z')).items).toEqual([])
  })

  it('the priority can be changed for waiting jobs only', async () => {
    const [one] = (await ask('GET', '/ojs/v1/admin/jobs?queue=later')).items
    expect((await ask('PATCH', `/ojs/v1/admin/jobs/${one.id}`, { priority: 77 })).priority).toBe(77)
    await ask('PATCH', `/ojs/v1/admin/jobs/${one.id}`, { priority: 101 }, 400)
    await ask('POST', `/ojs/v1/admin/jobs/${one.id}/cancel`)
    await ask('PATCH', `/ojs/v1/admin/jobs/${one.id}`, { priority: 1 }, 409)
  })

  it('a limit can be set and removed', async () => {
    const set = await ask('PUT', '/ojs/v1/rate-limits/k', { limit: 7, period: '1m' })
    expect(set).toMatchObject({ key: 'k', limit: 7, period: 'PT1M' })
    await ask('PUT', '/ojs/v1/rate-limits/k', { limit: 0 }, 400)
    await ask('DELETE', '/ojs/v1/rate-limits/k/override', undefined, 204)
    expect((await ask('GET', '/ojs/v1/rate-limits/k')).limit).toBeUndefined()
    await ask('PUT', '/ojs/v1/rate-limits/none', { limit: 7, period: '1m' }, 404)
  })

  it('features that Petrel does not have return empty results, not errors', async () => {
    expect(await ask('GET', '/ojs/v1/middleware')).toEqual({ enqueue: [], execution: [] })
    expect(await ask('GET', '/ojs/v1/admin/pools')).toEqual({ pools: [] })
    const { strategy, queues } = await ask('GET', '/ojs/v1/admin/scheduling/stats')
    expect([strategy, queues.map((queue: Any) => queue.name).sort()]).toEqual([
      'priority',
      ['default', 'later', 'rated'],
    ])
    expect(await ask('GET', '/ojs/v1/admin/system/maintenance')).toEqual({ enabled: false })
    expect(await ask('POST', '/ojs/v1/admin/system/maintenance', { enabled: false })).toEqual({ enabled: false })
    await ask('POST', '/ojs/v1/admin/system/maintenance', { enabled: true, reason: 'r' }, 422)
  })

  it('a webhook is changed with PUT', async () => {
    const { id } = await ask(
      'POST',
      '/ojs/v1/webhooks/subscriptions',
      { url: 'http://127.0.0.1:9/', events: ['*'] },
      201,
    )
    expect((await ask('PUT', `/ojs/v1/webhooks/subscriptions/${id}`, { active: false })).active).toBe(false)
  })

  it('a worker is removed, and its jobs are returned', async () => {
    const held = (await ask('POST', '/ojs/v1/workers/fetch', { queues: ['rated'], worker_id: 'w' })).jobs[0]
    await ask('DELETE', '/ojs/v1/admin/workers/w', undefined, 204)
    await s.engine.sweep()
    expect((await f.job(held.id)).state).not.toBe('active')
    await ask('DELETE', '/ojs/v1/admin/workers/nobody', undefined, 404)
  })

  it('a queue rate has the periods of the pages; a separate retention is refused, with everything else in the request', async () => {
    const path = '/ojs/v1/admin/queues/rated/config'
    const set = await ask('PUT', path, { rate_limit: { limit: 9, period: '1m' } })
    expect(set.configuration.rate_limit).toEqual({ limit: 9, period: 'PT1M' })
    for (const period of ['0s', 'PT0S', '1 fortnight', 60, '']) {
      const { error } = await ask('PUT', path, { rate_limit: { limit: 1, period } }, 400)
      expect(error.details.field).toBe('rate_limit.period')
      await ask('PUT', '/ojs/v1/rate-limits/queue:rated', { limit: 1, period }, 400)
    }
    const asked = { rate_limit: { limit: 2, period: '1h' }, retention: { completed: '7d', discarded: '30d' } }
    const { error } = await ask('PUT', path, asked, 422)
    expect([error.code, error.details.field]).toEqual(['unsupported', 'retention'])
    expect(await ask('PUT', path, { retention: null })).toEqual(set)
  })

  describe('streams', () => {
    const started = async (queue: string): Promise<Any> => {
      await s.post('/ojs/v1/jobs', once('watched', { queue }))
      return (await ask('POST', '/ojs/v1/workers/fetch', { queues: [queue], worker_id: 'watched' })).jobs[0]
    }
    const report = (id: string, body: object) => ask('PUT', `/ojs/v1/jobs/${id}/progress`, { ...body })

    it('the progress of a job is sent as messages without a type, until the job has ended', async () => {
      const { id } = await started('watch')
      const stream = await listen(s, `/ojs/v1/jobs/${id}/progress/stream`)
      expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
      const state = (progress: number | null) => stream.has((all) => all.some(({ data }) => data.progress === progress))
      await state(null)
      await report(id, { progress: 0.25, data: { rows: 5 } })
      await state(0.25)
      await report(id, { progress: 0.75 })
      await state(0.75)
      await ask('POST', '/ojs/v1/workers/ack', { job_id: id, worker_id: 'watched', result: 1 })
      await stream.reading
      expect(new Set(stream.types())).toEqual(new Set(['message']))
      expect(stream.frames[1]?.data).toMatchObject({ job_id: id, data: { rows: 5 } })
      const last = await ask('GET', `/ojs/v1/jobs/${id}/progress`)
      expect([last.state, last.progress]).toEqual(['completed', 1])
      expect(stream.frames.at(-1)?.data).toEqual(last)
      const late = await listen(s, `/ojs/v1/jobs/${id}/progress/stream`)
      await late.reading
      expect(late.frames.map(({ data }) => data)).toEqual([last])
    })

    it('the numbers of the server are sent at once and periodically, and jobs between them', async () => {
      const stream = await listen(s, '/ojs/v1/admin/stats/stream')
      await stream.has((all) => all.some(({ event }) => event === 'metrics'))
      const { id } = await started('stats')
      await s.post('/ojs/v1/workers/heartbeat', { worker_id: 'watched', active_jobs: [id] })
      await ask('POST', '/ojs/v1/workers/nack', { job_id: id, worker_id: 'watched', error: { message: 'as asked' } })
      await stream.has((all) => all.some(({ event, data }) => event === 'job.failed' && data.job_id === id))
      const recorded = (type: string): Any =>
        stream.frames.find((one) => one.event === type && one.data.job_id === id)?.data
      const about = { job_id: id, job_type: 'watched', queue: 'stats', timestamp: expect.stringMatching(MOMENT) }
      expect(recorded('job.enqueued')).toEqual(about)
      expect(recorded('job.failed')).toEqual({ ...about, attempt: 1, duration: expect.any(Number), error: 'as asked' })
      await stream.has((all) =>
        all.some(({ event, data }) => event === 'metrics' && data.throughput.failed_per_second > 0),
      )
      const { data } = stream.frames.findLast(({ event }) => event === 'metrics') as Any
      expect(data.throughput).toEqual({
        processed_per_second: expect.any(Number),
        failed_per_second: expect.any(Number),
        enqueued_per_second: expect.any(Number),
      })
      expect(data.error_rate).toEqual(expect.any(Number))
      expect(data.queues).toContainEqual({ queue: 'later', available: 0, active: 0, scheduled: 2, retryable: 0 })
      expect(data.workers.total).toBe(data.workers.active.length)
      expect(data.workers.active).toContainEqual({
        id: 'watched',
        state: 'running',
        activeJobs: expect.any(Number),
        lastHeartbeatAt: expect.stringMatching(MOMENT),
      })
    })

    it('a tenant sees no other tenant, and its streams count against its own limit', async () => {
      const { id } = await started('mine')
      const other = { 'x-ojs-tenant': 'other' }
      const denied = await s.get(`/ojs/v1/jobs/${id}/progress/stream`, other)
      expect([denied.status, denied.body.error.code]).toEqual([404, 'not_found'])
      const theirs = await listen(s, '/ojs/v1/admin/stats/stream', other)
      await theirs.has((all) => all.length > 0)
      await started('mine')
      const own = (await s.post('/ojs/v1/jobs', once('theirs'), other)).body.job
      await theirs.has((all) => all.some(({ data }) => data.job_id === own.id))
      const jobs = theirs.frames.filter(({ event }) => event.startsWith('job.'))
      expect(jobs.map(({ data }) => data.job_id)).toEqual([own.id])
      expect(theirs.frames[0]?.data.workers).toEqual({ total: 0, active: [] })
      const paths = ['/ojs/v1/admin/stats/stream', `/ojs/v1/jobs/${id}/progress/stream`] as const
      const full = await stage.serve()
      const statuses = async (count: number) => {
        const open = await Promise.all(Array.from({ length: count }, (_, i) => listen(full, paths[i % 2] as string)))
        return new Set(open.map(({ response }) => response.status))
      }
      expect(await statuses(200)).toEqual(new Set([200]))
      expect(await statuses(2)).toEqual(new Set([429]))
      hangUp()
      await until(
        () => statuses(2),
        (all) => !all.has(429),
      )
    })
  })
})
