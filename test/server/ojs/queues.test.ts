/** Queues, dead letters and cron jobs over HTTP. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'

onBothStores('queues, dead letters and cron jobs', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const enqueue = async (options: object = {}): Promise<string> =>
    (await s.post('/ojs/v1/jobs', { type: 'a', args: [], options })).body.job.id
  const fetchJobs = async (queue = 'default'): Promise<any[]> =>
    (await s.post('/ojs/v1/workers/fetch', { queues: [queue] })).body.jobs
  const stats = async (queue: string): Promise<any> => (await s.get(`/ojs/v1/queues/${queue}/stats`)).body

  describe('queues', () => {
    it('are listed by name, page by page', async () => {
      for (const queue of ['b', 'a', 'c']) await enqueue({ queue })
      await s.post('/ojs/v1/queues/b/pause')
      const { body } = await s.get('/ojs/v1/queues?limit=2')
      expect(body.queues).toMatchObject([
        { name: 'a', paused: false, status: 'active' },
        { name: 'b', paused: true, status: 'paused' },
      ])
      expect(body.pagination).toMatchObject({ total: 3, has_more: true, limit: 2, offset: 0 })
      const next = await s.get(`/ojs/v1/queues?limit=2&cursor=${body.pagination.next_cursor}`)
      expect(next.body.queues.map((queue: any) => queue.name)).toEqual(['c'])
      expect(next.body.pagination.has_more).toBe(false)
      const offset = await s.get('/ojs/v1/queues?limit=2&offset=2')
      expect(offset.body.queues.map((queue: any) => queue.name)).toEqual(['c'])
    })

    it('count what they hold and have done, in the format clients read', async () => {
      await enqueue({ queue: 'q' })
      await enqueue({ queue: 'q', scheduled_at: '+PT1H' })
      await enqueue({ queue: 'q', pending: true })
      const [active] = await fetchJobs('q')
      expect(await stats('q')).toMatchObject({
        queue: { name: 'q', available: 0, active: 1, scheduled: 1, pending: 1, completed: 0 },
        available: 0,
        active: 1,
        stats: { queue: 'q', depth: 0 },
        computed_at: expect.any(String),
      })
      await s.post('/ojs/v1/workers/ack', { job_id: active.id })
      expect((await stats('q')).queue).toMatchObject({ active: 0, completed: 1 })
      const id = await enqueue({ queue: 'q' })
      await fetchJobs('q')
      await s.post('/ojs/v1/workers/nack', { job_id: id, error: { message: 'm' } })
      expect((await stats('q')).queue).toMatchObject({ retryable: 1, discarded: 0 })
      await s.ask('DELETE', `/ojs/v1/jobs/${id}`)
      expect((await stats('q')).queue).toMatchObject({ retryable: 0, cancelled: 1 })
    })

    it('exist as soon as they are named', async () => {
      expect((await stats('never-seen')).queue).toMatchObject({ name: 'never-seen', available: 0 })
      expect((await s.get('/ojs/v1/queues/never-seen')).body.queue).toMatchObject({ name: 'never-seen' })
      expect((await s.get('/ojs/v1/queues/Bad_Name/stats')).status).toBe(400)
    })

    it('a paused queue hands nothing out and accepts everything; resume continues', async () => {
      const paused = await s.post('/ojs/v1/queues/q/pause')
      expect(paused.body).toMatchObject({
        queue: { name: 'q', paused: true },
        name: 'q',
        paused: true,
        status: 'paused',
        paused_at: expect.any(String),
      })
      const id = await enqueue({ queue: 'q' })
      expect(await fetchJobs('q')).toEqual([])
      const resumed = await s.post('/ojs/v1/queues/q/resume', '')
      expect(resumed.body).toMatchObject({ queue: { paused: false }, status: 'active', resumed_at: expect.any(String) })
      expect((await fetchJobs('q'))[0].id).toBe(id)
    })
  })

  describe('dead letters', () => {
    const kill = async (options: object = {}): Promise<string> => {
      const id = await enqueue({ retry: { max_attempts: 1, on_exhaustion: 'dead_letter' }, ...options })
      await fetchJobs((options as any).queue)
      await s.post('/ojs/v1/workers/nack', { job_id: id, error: { code: 'handler_error', message: 'broken' } })
      return id
    }

    it('are those whose policy requires it', async () => {
      const id = await kill()
      const plain = await enqueue({ retry: { max_attempts: 1 } })
      await fetchJobs()
      await s.post('/ojs/v1/workers/nack', { job_id: plain, error: { message: 'm' } })
      const { body } = await s.get('/ojs/v1/dead-letter')
      expect(body.jobs).toMatchObject([{ id, state: 'discarded', errors: [{ message: 'broken', attempt: 1 }] }])
      expect(body.pagination).toMatchObject({ total: 1, has_more: false })
      for (const reply of [
        await s.post(`/ojs/v1/dead-letter/${plain}/retry`),
        await s.ask('DELETE', `/ojs/v1/dead-letter/${plain}`),
        await s.post('/ojs/v1/dead-letter/nonsense/retry'),
      ])
        expect([reply.status, reply.body.error.code]).toEqual([404, 'not_found'])
    })

    it('are listed page by page, by queue', async () => {
      const all = [await kill({ queue: 'x' }), await kill({ queue: 'x' }), await kill({ queue: 'x' })]
      await kill({ queue: 'y' })
      const first = (await s.get('/ojs/v1/dead-letter?queue=x&limit=2')).body
      expect(first.pagination).toMatchObject({ total: 3, has_more: true })
      const rest = (await s.get(`/ojs/v1/dead-letter?queue=x&limit=2&cursor=${first.pagination.next_cursor}`)).body
      const seen = [...first.jobs, ...rest.jobs].map((job: any) => job.id)
      expect(seen.sort()).toEqual([...all].sort())
      const offset = (await s.get('/ojs/v1/dead-letter?queue=x&limit=2&offset=2')).body
      expect(offset.jobs).toHaveLength(1)
    })

    it('retry starts again: attempt 0, no errors, available again', async () => {
      const id = await kill()
      const { status, body } = await s.post(`/ojs/v1/dead-letter/${id}/retry`, {})
      expect(status).toBe(200)
      expect(body.job).toMatchObject({ id, state: 'available', attempt: 0, re_enqueued_at: expect.any(String) })
      for (const name of ['error', 'errors', 'completed_at', 'discarded_at', 'started_at'])
        expect(body.job).not.toHaveProperty(name)
      const [job] = await fetchJobs()
      expect(job).toMatchObject({ id, attempt: 1 })
      expect(job).not.toHaveProperty('errors')
      expect((await s.get('/ojs/v1/dead-letter')).body.jobs).toEqual([])
      expect((await s.post(`/ojs/v1/dead-letter/${id}/retry`)).status).toBe(404)
    })

    it('delete removes for good', async () => {
      const id = await kill()
      const { body } = await s.ask('DELETE', `/ojs/v1/dead-letter/${id}`)
      expect(body).toEqual({ deleted: true, job_id: id })
      expect((await s.get(`/ojs/v1/jobs/${id}`)).status).toBe(404)
      expect((await s.ask('DELETE', `/ojs/v1/dead-letter/${id}`)).status).toBe(404)
    })
  })

  describe('cron', () => {
    const body = {
      name: 'tick',
      expression: '@every 1h',
      job_template: { type: 'a', args: [1], options: { queue: 'c' } },
    }

    it('is registered, shown, changed, disabled and removed', async () => {
      const made = await s.post('/ojs/v1/cron', body)
      expect(made.status).toBe(201)
      expect(made.body.cron).toMatchObject({
        name: 'tick',
        expression: '@every 1h',
        enabled: true,
        overlap_policy: 'skip',
        timezone: 'UTC',
        next_run_at: expect.any(String),
        created_at: expect.any(String),
      })
      expect(made.body.cron_job).toEqual(made.body.cron)
      expect((await s.get('/ojs/v1/cron/tick')).body.cron).toEqual(made.body.cron)
      const again = await s.post('/ojs/v1/cron', { name: 'tick', cron: '@daily', type: 'b' })
      expect([again.status, again.body.cron.cron, again.body.cron.type]).toEqual([200, '@daily', 'b'])
      const off = await s.ask('PATCH', '/ojs/v1/cron/tick', { body: { enabled: false } })
      expect(off.body.cron).toMatchObject({ enabled: false, status: 'paused', next_run_at: null })
      expect((await s.get('/ojs/v1/cron?enabled=true')).body.crons).toEqual([])
      const list = (await s.get('/ojs/v1/cron')).body
      expect([list.crons.length, list.cron_jobs.length, list.pagination.total]).toEqual([1, 1, 1])
      const gone = await s.ask('DELETE', '/ojs/v1/cron/tick')
      expect(gone.body).toMatchObject({ deleted: true, name: 'tick', cron: { name: 'tick' } })
      expect((await s.ask('DELETE', '/ojs/v1/cron/tick')).status).toBe(404)
      expect((await s.get('/ojs/v1/cron/tick')).status).toBe(404)
    })

    it('fires its job with all its options, and records it', async () => {
      await s.post('/ojs/v1/cron', {
        ...body,
        job_template: {
          ...body.job_template,
          options: { queue: 'c', priority: 7, timeout_ms: 5000, retry: { max_attempts: 9 }, tags: ['t'] },
        },
      })
      await s.store.moveClock(3_600_000)
      const [job] = await until(
        () => fetchJobs('c'),
        (jobs) => jobs.length > 0,
      )
      expect(job).toMatchObject({
        type: 'a',
        args: [1],
        priority: 7,
        timeout_ms: 5000,
        max_attempts: 9,
        tags: ['t'],
        metadata: { cron_name: 'tick' },
      })
      const cron = await until(
        async () => (await s.get('/ojs/v1/cron/tick')).body.cron,
        (found) => found.run_count === 1,
      )
      expect(cron).toMatchObject({ run_count: 1, last_run_at: expect.any(String), last_job_id: job.id })
    })

    it('skips while the last one is running', async () => {
      await s.post('/ojs/v1/cron', { ...body, expression: '@every 10m' })
      await s.store.moveClock(600_000)
      await until(
        () => fetchJobs('c'),
        (jobs) => jobs.length > 0,
      )
      const before = (await s.get('/ojs/v1/cron/tick')).body.cron.next_run_at
      await s.store.moveClock(1_200_000)
      const after = await until(
        async () => (await s.get('/ojs/v1/cron/tick')).body.cron,
        (cron) => cron.next_run_at !== before,
      )
      expect(after.run_count).toBe(1)
      expect(await fetchJobs('c')).toEqual([])
    })

    it.each([
      [{ expression: 'not a valid cron' }, 400],
      [{ expression: '0 0 0 0 0 0 0' }, 400],
      [{ timezone: 'EST' }, 400],
      [{ name: 'Bad Name' }, 400],
      [{ job_template: { args: [] } }, 400],
      [{ job_template: { type: 'a', options: { retry: { max_attempts: -1 } } } }, 422],
    ])('refuses %j', async (wrong, status) => {
      expect((await s.post('/ojs/v1/cron', { ...body, ...wrong })).status).toBe(status)
      expect((await s.get('/ojs/v1/cron')).body.crons).toEqual([])
    })

    it('belongs to its tenant', async () => {
      const ours = { 'x-ojs-tenant': 'ours' }
      const theirs = { 'x-ojs-tenant': 'theirs' }
      await s.post('/ojs/v1/cron', body, ours)
      expect((await s.get('/ojs/v1/cron', theirs)).body.crons).toEqual([])
      expect((await s.get('/ojs/v1/cron/tick', theirs)).status).toBe(404)
      expect((await s.post('/ojs/v1/cron', body, theirs)).status).toBe(201)
    })
  })
})
