/** Jobs over HTTP: stored jobs are returned as sent, and mistakes change nothing. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Reply, type Serving, until } from '../serving.ts'

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

onBothStores('jobs', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const enqueue = (body: object): Promise<Reply> => s.post('/ojs/v1/jobs', { type: 'a', args: [], ...body })
  const enqueued = async (body: object = {}): Promise<any> => (await enqueue(body)).body.job
  const get = async (id: string): Promise<any> => (await s.get(`/ojs/v1/jobs/${id}`)).body.job
  const fetchOne = async (queue = 'default'): Promise<any> =>
    (await s.post('/ojs/v1/workers/fetch', { queues: [queue] })).body.jobs[0]
  const cancel = (id: string): Promise<Reply> => s.ask('DELETE', `/ojs/v1/jobs/${id}`)
  const stats = async (queue = 'default'): Promise<any> => (await s.get(`/ojs/v1/queues/${queue}/stats`)).body.queue

  describe('enqueue', () => {
    it('answers 201 with the complete job and its location', async () => {
      const { status, headers, body } = await enqueue({ type: 'email.send', args: ['x', { y: null }] })
      expect(status).toBe(201)
      expect(headers.get('location')).toBe(`/ojs/v1/jobs/${body.job.id}`)
      expect(body).toMatchObject({ id: body.job.id, state: 'available' })
      expect(body.job).toMatchObject({
        id: expect.stringMatching(UUID7),
        specversion: '1.0',
        type: 'email.send',
        args: ['x', { y: null }],
        meta: {},
        queue: 'default',
        priority: 0,
        attempt: 0,
        max_attempts: 3,
      })
    })

    it('GET returns the same every time', async () => {
      const job = await enqueued({ meta: { a: 1 }, x_new: [1], options: { tags: ['t'], priority: 5 } })
      expect(await get(job.id)).toEqual(job)
      expect(await get(job.id)).toEqual(job)
    })

    it('accepts a client’s id once', async () => {
      const id = '019539a4-aaaa-7000-8000-111111111111'
      expect((await enqueue({ id })).status).toBe(201)
      const again = await enqueue({ id, type: 'b' })
      expect(again.status).toBe(409)
      expect(again.body.error).toMatchObject({
        code: 'duplicate',
        retryable: false,
        details: { existing_job_id: id },
      })
      expect(await get(id)).toMatchObject({ type: 'a' })
    })

    it('names every mistake and stores nothing', async () => {
      const { status, body } = await enqueue({ type: 'Bad', args: 5, options: { priority: 101 } })
      expect(status).toBe(400)
      expect(body.error).toMatchObject({ code: 'invalid_request', retryable: false, hint: expect.any(String) })
      expect(body.error.details.validation_errors.map((e: any) => e.path)).toEqual(['type', 'args', 'options.priority'])
      expect(await stats()).toMatchObject({ available: 0 })
    })

    it('answers a bad retry policy with 422', async () => {
      const { status, body } = await enqueue({ options: { retry: { max_attempts: -1 } } })
      expect(status).toBe(422)
      expect(body.error).toMatchObject({ type: 'validation_error', message: expect.stringContaining('max_attempts') })
    })

    it.each([
      ['{ broken', 400, 'invalid_payload'],
      ['', 400, 'invalid_payload'],
      ['[]', 400, 'invalid_payload'],
      ['"text"', 400, 'invalid_payload'],
    ])('refuses the body %j', async (text, status, code) => {
      const reply = await s.ask('POST', '/ojs/v1/jobs', {
        body: text,
        headers: { 'content-type': 'application/openjobspec+json' },
      })
      expect([reply.status, reply.body.error.code]).toEqual([status, code])
    })

    it('refuses arguments larger than the store accepts', async () => {
      const { status, body } = await enqueue({ args: ['x'.repeat(1_100_000)] })
      expect([status, body.error.code]).toEqual([413, 'payload_too_large'])
      expect(await stats()).toMatchObject({ available: 0 })
    })

    it('refuses text that no database stores', async () => {
      expect((await enqueue({ args: ['a\u0000b'] })).status).toBe(400)
      expect((await enqueue({ meta: { a: '\ud800' } })).status).toBe(400)
      expect(await stats()).toMatchObject({ available: 0 })
    })
  })

  describe('many at once', () => {
    it('are written together, in their order', async () => {
      const jobs = Array.from({ length: 250 }, (_, i) => ({ type: 'a', args: [i], options: { queue: 'bulk' } }))
      const { status, body } = await s.post('/ojs/v1/jobs/batch', { jobs })
      expect([status, body.count]).toEqual([201, 250])
      expect(body.jobs.map((job: any) => job.args[0])).toEqual(jobs.map((job) => job.args[0]))
      expect(await stats('bulk')).toMatchObject({ available: 250 })
      const fetched = await s.post('/ojs/v1/workers/fetch', { queues: ['bulk'], count: 5 })
      expect(fetched.body.jobs.map((job: any) => job.args[0])).toEqual([0, 1, 2, 3, 4])
    })

    it('are refused together, naming the invalid one', async () => {
      const { status, body } = await s.post('/ojs/v1/jobs/batch', {
        jobs: [
          { type: 'a', args: [] },
          { args: [] },
          { type: 'a', args: [], options: { retry: { max_attempts: -1 } } },
        ],
      })
      expect(status).toBe(400)
      expect(body.error.details).toMatchObject({ index: 1, field: 'jobs[1].type' })
      expect(await stats()).toMatchObject({ available: 0 })
    })

    it('are refused together when the id of one is used', async () => {
      const { id } = await enqueued({ options: { queue: 'other' } })
      const { status, body } = await s.post('/ojs/v1/jobs/batch', {
        jobs: [
          { type: 'a', args: [] },
          { type: 'a', args: [], id },
        ],
      })
      expect([status, body.error.details.existing_job_id]).toEqual([409, id])
      expect(await stats()).toMatchObject({ available: 0 })
    })

    it.each([[{}], [{ jobs: [] }], [{ jobs: {} }], [{ jobs: Array.from({ length: 1001 }, () => ({})) }]])(
      'refuses a list that is invalid, empty or too long',
      async (body) => {
        const reply = await s.post('/ojs/v1/jobs/batch', body)
        expect([reply.status, reply.body.error.details.field]).toEqual([400, 'jobs'])
      },
    )
  })

  describe('time', () => {
    it('a scheduled job is not available before its time, and then becomes available by the clock alone', async () => {
      const job = await enqueued({ options: { scheduled_at: '+PT1H' } })
      expect(job).toMatchObject({ state: 'scheduled' })
      expect(await fetchOne()).toBeUndefined()
      await s.store.moveClock(3_600_000)
      expect(await get(job.id)).toMatchObject({ state: 'available', attempt: 0, scheduled_at: job.scheduled_at })
      expect(await fetchOne()).toMatchObject({ id: job.id, attempt: 1 })
    })

    it('a time in the past means now', async () => {
      expect(await enqueued({ options: { delay_until: '2020-01-01T00:00:00Z' } })).toMatchObject({
        state: 'available',
        scheduled_at: '2020-01-01T00:00:00Z',
      })
    })

    it('an expired job is discarded unstarted', async () => {
      const job = await enqueued({ options: { expires_at: '+PT1H' } })
      await s.store.moveClock(3_600_000)
      expect(await fetchOne()).toBeUndefined()
      const gone = await until(
        () => get(job.id),
        (found) => found.state === 'discarded',
      )
      expect(gone).toMatchObject({ state: 'discarded', attempt: 0, error: { code: 'expired' } })
      expect(gone).not.toHaveProperty('completed_at')
    })

    it('returns the client’s own text', async () => {
      const text = '2099-12-31T23:59:59+02:00'
      expect(await get((await enqueued({ options: { expires_at: text } })).id)).toMatchObject({ expires_at: text })
    })
  })

  describe('pending', () => {
    it('waits for activate, which works once', async () => {
      const job = await enqueued({ options: { pending: true } })
      expect(job.state).toBe('pending')
      expect(await fetchOne()).toBeUndefined()
      const activated = await s.post(`/ojs/v1/jobs/${job.id}/activate`)
      expect(activated.body.job).toMatchObject({
        state: 'available',
        previous_state: 'pending',
        activated_at: expect.any(String),
      })
      const again = await s.post(`/ojs/v1/jobs/${job.id}/activate`)
      expect(again.status).toBe(409)
      expect(again.body.error).toMatchObject({
        code: 'conflict',
        details: { job_id: job.id, current_state: 'available', expected_state: 'pending' },
      })
      expect(await fetchOne()).toMatchObject({ id: job.id })
    })

    it('may be cancelled', async () => {
      const { id } = await enqueued({ options: { pending: true } })
      expect((await cancel(id)).body.job).toMatchObject({ state: 'cancelled', previous_state: 'pending', attempt: 0 })
    })
  })

  describe('cancel', () => {
    it('from available, scheduled, retryable and active; each reports the previous state', async () => {
      const available = await enqueued()
      expect((await cancel(available.id)).body.job).toMatchObject({ state: 'cancelled', previous_state: 'available' })
      const scheduled = await enqueued({ options: { scheduled_at: '+PT1H' } })
      expect((await cancel(scheduled.id)).body.job).toMatchObject({ state: 'cancelled', previous_state: 'scheduled' })
      const active = await enqueued()
      await fetchOne()
      expect((await cancel(active.id)).body.job).toMatchObject({
        state: 'cancelled',
        previous_state: 'active',
        attempt: 1,
      })
      const failing = await enqueued()
      await fetchOne()
      await s.post('/ojs/v1/workers/nack', { job_id: failing.id, error: { message: 'm' } })
      expect((await cancel(failing.id)).body.job).toMatchObject({
        state: 'cancelled',
        previous_state: 'retryable',
        attempt: 1,
        cancelled_at: expect.any(String),
      })
    })

    it('an ended job stays as it is: 409', async () => {
      const { id } = await enqueued()
      await fetchOne()
      await s.post('/ojs/v1/workers/ack', { job_id: id })
      const { status, body } = await cancel(id)
      expect(status).toBe(409)
      expect(body.error).toMatchObject({ code: 'conflict', details: { job_id: id, current_state: 'completed' } })
    })

    it.each(['019539a4-0000-7000-8000-000000000000', 'no-id-at-all'])('%s does not exist: 404', async (id) => {
      for (const reply of [
        await cancel(id),
        await s.get(`/ojs/v1/jobs/${id}`),
        await s.post(`/ojs/v1/jobs/${id}/activate`),
      ]) {
        expect(reply.status).toBe(404)
        expect(reply.body.error).toMatchObject({
          code: 'not_found',
          hint: expect.any(String),
          docs_url: expect.any(String),
          details: { resource_type: 'job', resource_id: id },
        })
      }
    })
  })

  describe('unique', () => {
    const unique = (policy: object, more: object = {}): object => ({
      args: [{ user: 1 }],
      ...more,
      options: { ...(more as any).options, unique: { keys: ['type', 'args'], ...policy } },
    })

    it('reject: 409 and the existing job', async () => {
      const { id } = await enqueued(unique({}))
      const { status, body } = await enqueue(unique({}))
      expect(status).toBe(409)
      expect(body.error).toMatchObject({
        code: 'duplicate',
        details: { existing_job_id: id, uniqueness_key: expect.stringMatching(/^[0-9a-f]{64}$/) },
      })
      expect((await enqueue(unique({}, { args: [{ user: 2 }] }))).status).toBe(201)
    })

    it('ignore: 200 and the existing job', async () => {
      const { id } = await enqueued(unique({ on_conflict: 'ignore' }))
      const { status, headers, body } = await enqueue(unique({ on_conflict: 'ignore' }))
      expect([status, body.job.id, body.deduplicated, headers.get('location')]).toEqual([200, id, true, null])
    })

    it('replace: the old one is cancelled', async () => {
      const old = await enqueued(unique({ on_conflict: 'replace' }))
      const reply = await enqueue(unique({ on_conflict: 'replace' }))
      expect(reply.status).toBe(201)
      expect(reply.body.job.id).not.toBe(old.id)
      expect(await get(old.id)).toMatchObject({ state: 'cancelled' })
    })

    it('replace_except_schedule: the new one runs at the time of the old one', async () => {
      const policy = { on_conflict: 'replace_except_schedule' }
      const old = await enqueued(unique(policy, { options: { scheduled_at: '2031-01-01T00:00:00Z' } }))
      const { body } = await enqueue(unique(policy, { options: { scheduled_at: '2032-01-01T00:00:00Z' } }))
      expect(body.job).toMatchObject({ state: 'scheduled', scheduled_at: '2031-01-01T00:00:00.000Z' })
      expect(await get(old.id)).toMatchObject({ state: 'cancelled' })
    })

    it('counts only in the named states, including the sub-states of waiting', async () => {
      const first = await enqueued(unique({ states: ['available'] }, { options: { scheduled_at: '+PT1H' } }))
      expect(first.state).toBe('scheduled')
      expect((await enqueue(unique({ states: ['available'] }))).status).toBe(201)
      expect((await enqueue(unique({ states: ['available'] }))).status).toBe(409)
    })

    it('is free again after its period, and when its holder has ended', async () => {
      await enqueued(unique({ period: 'PT1H' }))
      expect((await enqueue(unique({ period: 'PT1H' }))).status).toBe(409)
      await s.store.moveClock(3_600_000)
      const second = await enqueue(unique({ period: 'PT1H' }))
      expect(second.status).toBe(201)
      await cancel(second.body.job.id)
      expect((await enqueue(unique({ period: 'PT1H' }))).status).toBe(201)
    })

    it('accepts one of many simultaneous jobs', async () => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => enqueue(unique({}))))
      expect(replies.map((reply) => reply.status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)])
    })
  })

  describe('tenants', () => {
    it('cannot see, cancel, fetch or report each other’s jobs', async () => {
      const ours = { 'x-ojs-tenant': 'ours' }
      const theirs = { 'x-ojs-tenant': 'theirs' }
      const { body } = await s.post('/ojs/v1/jobs', { type: 'a', args: [] }, ours)
      const { id } = body.job
      expect((await s.get(`/ojs/v1/jobs/${id}`, theirs)).status).toBe(404)
      expect((await s.ask('DELETE', `/ojs/v1/jobs/${id}`, { headers: theirs })).status).toBe(404)
      expect((await s.post('/ojs/v1/workers/fetch', { queues: ['default'] }, theirs)).body.jobs).toEqual([])
      expect((await s.post('/ojs/v1/workers/fetch', { queues: ['default'] }, ours)).body.jobs[0].id).toBe(id)
      expect((await s.post('/ojs/v1/workers/ack', { job_id: id }, theirs)).status).toBe(404)
      expect((await s.post('/ojs/v1/workers/ack', { job_id: id }, ours)).status).toBe(200)
    })
  })
})
