/** The API for operators: search, bulk operations, queues, workers, numbers; and its aliases for the admin pages. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'

onBothStores('administration', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  const push = async (queue: string, n = 1, options: object = {}, type = 'test.admin'): Promise<string[]> => {
    const jobs = Array.from({ length: n }, (_, i) => ({ type, args: [i], options: { queue, ...options } }))
    const reply = await s.post('/ojs/v1/jobs/batch', { jobs })
    expect(reply.status).toBe(201)
    return reply.body.jobs.map((job: any) => job.id)
  }
  const fail = async (queue: string, n: number): Promise<void> => {
    const { body } = await s.post('/ojs/v1/workers/fetch', { queues: [queue], count: n, worker_id: 'w' })
    expect(body.jobs).toHaveLength(n)
    for (const job of body.jobs) {
      const error = { code: 'handler_error', type: 'SmtpError', message: 'refused' }
      expect((await s.post('/ojs/v1/workers/nack', { job_id: job.id, error })).status).toBe(200)
    }
  }
  const DEAD = { retry: { max_attempts: 1, on_exhaustion: 'dead_letter' } }
  const state = async (id: string): Promise<string> => (await s.get(`/ojs/v1/jobs/${id}`)).body.job.state

  it('finds jobs by state, queue, type and time, page by page', async () => {
    const before = new Date((await s.store.now()) - 1000).toISOString()
    const ids = await push('ad-list', 5)
    await push('ad-list', 1, { scheduled_at: '2099-01-01T00:00:00Z' }, 'test.later')
    const found = (await s.get('/ojs/v1/admin/jobs?queue=ad-list&state=available&per_page=2')).body
    expect(found.items).toHaveLength(2)
    expect(found.pagination).toMatchObject({ total: 5, page: 1, per_page: 2, has_more: true })
    const second = (await s.get('/ojs/v1/admin/jobs?queue=ad-list&state=available&per_page=2&page=3')).body
    expect(second.items.map((job: any) => job.id)).toEqual([ids[0]])
    const later = (await s.get('/ojs/v1/admin/jobs?queue=ad-list&state=scheduled,retryable')).body
    expect(later.items.map((job: any) => job.type)).toEqual(['test.later'])
    expect((await s.get('/ojs/v1/admin/jobs?queue=ad-list&type=test.later')).body.pagination.total).toBe(1)
    expect((await s.get(`/ojs/v1/admin/jobs?queue=ad-list&since=${before}`)).body.pagination.total).toBe(6)
    expect((await s.get(`/ojs/v1/admin/jobs?queue=ad-list&until=${before}`)).body.pagination.total).toBe(0)
    for (const query of ['state=done', 'since=yesterday', 'sort=colour', 'colour=red', 'queue=No']) {
      expect([query, (await s.get(`/ojs/v1/admin/jobs?${query}`)).status]).toEqual([query, 400])
    }
    const [id] = ids
    expect((await s.get(`/ojs/v1/admin/jobs/${id}`)).body).toMatchObject({ id, state: 'available', errors: [] })
    expect((await s.get('/ojs/v1/admin/jobs/nobody')).status).toBe(404)
  })

  it('cancels and retries one job', async () => {
    const [id] = await push('ad-one')
    expect((await s.post(`/ojs/v1/admin/jobs/${id}/retry`)).status).toBe(409)
    expect((await s.post(`/ojs/v1/admin/jobs/${id}/cancel`)).body).toMatchObject({
      state: 'cancelled',
      previous_state: 'available',
    })
    expect((await s.post(`/ojs/v1/jobs/${id}/cancel`)).status).toBe(409)
    expect((await s.post(`/ojs/v1/admin/jobs/${id}/retry`)).body).toMatchObject({ state: 'available', attempt: 0 })
  })

  it('requires confirmation for bulk changes, and then changes each job separately', async () => {
    const ids = await push('ad-bulk', 250)
    for (const body of [undefined, {}, { confirm: false }, { confirm: 'true', filter: {} }]) {
      const reply = await s.post('/ojs/v1/admin/jobs/bulk/cancel', body)
      expect([reply.status, reply.body.error.details.field]).toEqual([400, 'confirm'])
    }
    const wrong = await s.post('/ojs/v1/admin/jobs/bulk/cancel', {
      confirm: true,
      filter: { queue: 'ad-bulk', state: 'completed' },
    })
    expect(wrong.status).toBe(400)
    expect(await state(ids[0] as string)).toBe('available')
    const all = await s.post('/ojs/v1/admin/jobs/bulk/cancel', { confirm: true, filter: { queue: 'ad-bulk' } })
    const done = await until(
      async () => (await s.get(`/ojs/v1/admin/jobs/bulk/${all.body.operation_id}`)).body,
      (found) => found.status !== 'running',
      60_000,
    )
    expect(done).toMatchObject({
      action: 'cancel',
      status: 'completed',
      matched: 250,
      succeeded: 250,
      failed: 0,
      errors: [],
    })
    expect((await s.get('/ojs/v1/admin/jobs?queue=ad-bulk&state=cancelled')).body.pagination.total).toBe(250)
    const again = await s.post('/ojs/v1/admin/jobs/bulk/retry', { confirm: true, filter: { queue: 'ad-bulk' } })
    expect(again.body).toMatchObject({ matched: 0 })
    const named = await s.post('/ojs/v1/admin/jobs/bulk/retry', {
      confirm: true,
      filter: { queue: 'ad-bulk', state: 'cancelled' },
    })
    expect([200, 202]).toContain(named.status)
    await until(
      async () => (await s.get('/ojs/v1/admin/jobs?queue=ad-bulk&state=available')).body.pagination.total,
      (total) => total === 250,
      60_000,
    )
    expect((await s.get('/ojs/v1/admin/jobs/bulk/nobody')).status).toBe(404)
  }, 120_000)

  it('purges waiting jobs of a queue, not active or ended ones', async () => {
    const ids = await push('ad-purge', 4)
    const { body } = await s.post('/ojs/v1/workers/fetch', { queues: ['ad-purge'], count: 2 })
    await s.post('/ojs/v1/workers/ack', { job_id: body.jobs[0].id })
    const purge = (given: object) => s.ask('DELETE', '/ojs/v1/admin/queues/ad-purge/jobs', { body: given })
    expect((await purge({ states: ['available'] })).status).toBe(400)
    expect((await purge({ confirm: true, states: ['completed'] })).status).toBe(400)
    expect(
      (await purge({ confirm: true, states: ['available'], older_than: '2000-01-01T00:00:00Z' })).body.purged_count,
    ).toBe(0)
    expect((await purge({ confirm: true, states: ['available'] })).body).toMatchObject({ purged_count: 2 })
    expect(await Promise.all(ids.map(state))).toEqual(['completed', 'active', 'cancelled', 'cancelled'])
  })

  it('handles dead letters: list, count, retry, remove, one and many', async () => {
    const ids = await push('ad-dead', 4, DEAD)
    await fail('ad-dead', 4)
    const listed = (await s.get('/ojs/v1/admin/dead-letter?queue=ad-dead')).body
    expect(listed.pagination).toMatchObject({ total: 4, page: 1 })
    expect(listed.items[0]).toMatchObject({ state: 'discarded', error: { type: 'SmtpError' } })
    expect((await s.get('/ojs/v1/admin/dead-letter/stats')).body).toMatchObject({
      total: 4,
      by_queue: { 'ad-dead': 4 },
      by_error_type: { SmtpError: 4 },
    })
    expect((await s.post(`/ojs/v1/admin/dead-letter/${ids[0]}/retry`)).body.state).toBe('available')
    expect((await s.ask('DELETE', `/ojs/v1/admin/dead-letter/${ids[1]}`)).status).toBe(204)
    expect((await s.ask('DELETE', `/ojs/v1/admin/dead-letter/${ids[1]}`)).status).toBe(404)
    expect((await s.get(`/ojs/v1/admin/dead-letter/${ids[0]}`)).status).toBe(404)
    expect((await s.post('/ojs/v1/admin/dead-letter/retry', { filter: {} })).status).toBe(400)
    const type = { confirm: true, filter: { type: 'test.none' } }
    expect((await s.post('/ojs/v1/admin/dead-letter/retry', type)).body.matched).toBe(0)
    expect((await s.ask('DELETE', '/ojs/v1/admin/dead-letter', { body: {} })).status).toBe(400)
    const gone = await s.ask('DELETE', '/ojs/v1/admin/dead-letter', { body: { confirm: true } })
    expect(gone.body).toMatchObject({ purged_count: 2 })
    expect((await s.get('/ojs/v1/admin/dead-letter/stats')).body.total).toBe(0)
  })

  it('shows true numbers, and omits unknown ones', async () => {
    await s.post('/ojs/v1/admin/jobs/bulk/cancel', { confirm: true, filter: { queue: 'ad-bulk' } })
    await push('ad-stats', 3, { retry: { max_attempts: 1 } })
    const { body } = await s.post('/ojs/v1/workers/fetch', { queues: ['ad-stats'], count: 2, worker_id: 'w' })
    await s.post('/ojs/v1/workers/ack', { job_id: body.jobs[0].id })
    await s.post('/ojs/v1/workers/nack', { job_id: body.jobs[1].id, error: { code: 'x', message: 'y' } })
    const queue = (await s.get('/ojs/v1/admin/queues/ad-stats')).body
    expect(queue).toMatchObject({ counts: { available: 1, active: 0, completed: 1, discarded: 1 }, paused: false })
    expect(queue.throughput).toEqual({ processed_per_minute: 0.2, failed_per_minute: 0.2 })
    const stats = (await s.get('/ojs/v1/admin/stats')).body
    const queues = (await s.get('/ojs/v1/admin/queues?limit=200')).body
    expect(stats.queues).toBe(queues.pagination.total)
    const sum = queues.items.reduce((n: number, { counts }: any) => n + counts.completed, 0)
    expect(stats.jobs.completed).toBe(sum)
    expect(stats.throughput.processed_per_minute).toBeGreaterThan(0)
    const history = (await s.get('/ojs/v1/admin/stats/history?period=1m&queue=ad-stats')).body
    expect(history.data.length).toBeGreaterThanOrEqual(60)
    expect(history.data.reduce((n: number, { processed }: any) => n + processed, 0)).toBe(1)
    expect(history.data[0]).not.toHaveProperty('enqueued')
    const old = (await s.get('/ojs/v1/admin/stats/history?period=1d&since=2020-01-01T00:00:00Z')).body
    expect(old.data.length).toBeLessThanOrEqual(4)
    expect((await s.get('/ojs/v1/admin/stats/history?period=2m')).status).toBe(400)
    expect((await s.get('/ojs/v1/admin/queues/never-seen')).body.counts.available).toBe(0)
    const priorities = await push('ad-prio', 2, { priority: 5 })
    expect(priorities).toHaveLength(2)
    await push('ad-prio', 1)
    expect((await s.get('/ojs/v1/queues/ad-prio/priority-stats')).body.distribution).toEqual([
      { priority: 5, count: 2 },
      { priority: 0, count: 1 },
    ])
  })

  it('pauses and resumes, and shows it', async () => {
    await push('ad-pause')
    expect((await s.post('/ojs/v1/admin/queues/ad-pause/pause')).body).toMatchObject({ paused: true })
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['ad-pause'] })).body.jobs).toEqual([])
    expect((await s.get('/ojs/v1/admin/queues/ad-pause')).body.state).toBe('paused')
    expect((await s.post('/ojs/v1/admin/queues/ad-pause/resume')).body).toMatchObject({ paused: false })
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['ad-pause'] })).body.jobs).toHaveLength(1)
  })

  it('shows workers and the jobs they hold, and makes workers quiet', async () => {
    await push('ad-work', 3)
    const beat = (state: string, path = 'heartbeat') =>
      s.post(`/ojs/v1/workers/${path}`, {
        worker_id: 'w-admin',
        state,
        active_jobs: 0,
        hostname: 'h',
        queues: ['ad-work'],
        concurrency: 4,
      })
    expect((await s.get('/ojs/v1/admin/workers/w-admin')).status).toBe(404)
    await beat('running')
    await s.post('/ojs/v1/workers/fetch', { queues: ['ad-work'], count: 2, worker_id: 'w-admin' })
    const workers = (await s.get('/ojs/v1/admin/workers')).body
    expect(workers.summary.total).toBe(workers.items.length)
    expect(workers.items.find(({ id }: any) => id === 'w-admin')).toMatchObject({
      state: 'running',
      active_jobs: 2,
      concurrency: 4,
    })
    expect((await s.get('/ojs/v1/admin/workers/w-admin')).body.jobs).toHaveLength(2)
    expect((await s.get('/ojs/v1/workers/w-admin/health')).body.state).toBe('running')
    expect((await s.post('/ojs/v1/admin/workers/w-admin/quiet')).body.state).toBe('quiet')
    expect((await beat('running', 'beat')).body).toMatchObject({ state: 'quiet', acknowledged: true })
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['ad-work'], worker_id: 'w-admin' })).body.jobs).toEqual([])
    expect((await s.post('/ojs/v1/admin/workers/nobody/quiet')).status).toBe(404)
  })

  it('drains a worker at its own request: it gets no more jobs, and its health shows it', async () => {
    await push('ad-drain')
    const beat = await s.post('/ojs/v1/workers/beat', { worker_id: 'w-drain', state: 'drain', active_jobs: 2 })
    expect([beat.status, beat.body.acknowledged]).toEqual([200, true])
    expect((await s.get('/ojs/v1/workers/w-drain/health')).body.state).toBe('draining')
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['ad-drain'], worker_id: 'w-drain' })).body.jobs).toEqual(
      [],
    )
    expect(
      (await s.post('/ojs/v1/workers/fetch', { queues: ['ad-drain'], worker_id: 'w-other' })).body.jobs,
    ).toHaveLength(1)
    await s.store.moveClock(60_000)
    const dead = await until(
      () => s.get('/ojs/v1/workers/w-drain/health'),
      ({ status }) => status === 503,
    )
    expect([dead.status, dead.body.state]).toEqual([503, 'dead'])
    await s.store.moveClock(0)
  })

  it('has the names that the admin pages use', async () => {
    await s.post('/ojs/v1/cron', {
      name: 'nightly',
      cron: '0 3 * * *',
      type: 'test.night',
      args: [],
      options: { queue: 'night' },
    })
    expect((await s.get('/ojs/v1/crons')).body.items[0]).toMatchObject({
      id: 'nightly',
      schedule: '0 3 * * *',
      queue: 'night',
      enabled: true,
    })
    expect((await s.ask('PATCH', '/ojs/v1/crons/nightly', { body: { enabled: false } })).body.enabled).toBe(false)
    expect((await s.ask('DELETE', '/ojs/v1/crons/nightly')).status).toBe(200)
    expect((await s.get('/ojs/v1/crons/nightly')).status).toBe(404)
    const unique = {
      type: 'test.unique',
      args: [1],
      options: { queue: 'ad-unique', unique: { keys: ['type', 'args'], period: 'PT1H' } },
    }
    const { body } = await s.post('/ojs/v1/jobs', unique)
    const held = (await s.get('/ojs/v1/unique-jobs')).body.items
    expect(held).toContainEqual(expect.objectContaining({ job_id: body.id, type: 'test.unique', state: 'available' }))
  })

  it('lists tenants by their jobs', async () => {
    const headers = { 'x-ojs-tenant': 'acme' }
    const job = { type: 'test.tenant', args: [], meta: { tenant_id: 'forged' }, options: { queue: 'ad-tenant' } }
    const made = await s.post('/ojs/v1/jobs', job, headers)
    expect(made.body.job.meta.tenant_id).toBe('acme')
    expect((await s.get('/ojs/v1/admin/tenants')).body.items).toEqual([{ id: 'acme', name: 'acme', total_jobs: 1 }])
    expect((await s.get('/ojs/v1/admin/tenants/acme/stats')).body).toMatchObject({
      tenant_id: 'acme',
      total_jobs: 1,
      jobs: { available: 1 },
    })
    expect((await s.get('/ojs/v1/admin/tenants/acme/jobs')).body.items.map((one: any) => one.id)).toEqual([
      made.body.id,
    ])
    expect((await s.get('/ojs/v1/admin/tenants/nobody')).status).toBe(404)
    const other = { 'x-ojs-tenant': 'other' }
    expect((await s.post(`/ojs/v1/jobs/${made.body.id}/cancel`, {}, other)).status).toBe(404)
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['ad-tenant'] }, other)).body.jobs).toEqual([])
    const [mine] = (await s.post('/ojs/v1/workers/fetch', { queues: ['ad-tenant'] }, headers)).body.jobs
    expect(mine.meta.tenant_id).toBe('acme')
    const ack = await s.post(`/ojs/v1/jobs/${mine.id}/ack`, { result: 1 }, other)
    expect(ack.status).toBe(404)
    expect((await s.post(`/ojs/v1/jobs/${mine.id}/ack`, { result: 1 }, headers)).body.job.state).toBe('completed')
  })
})
