/** Ack and nack over HTTP, single and in bulk: decided once, attempts counted, policies applied. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { ids, jobClient } from './job-client.ts'

onBothStores('reports', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const { ack, enqueue, fetchJobs, get, nack } = jobClient(() => s)

  describe('ack', () => {
    it('completes with the result', async () => {
      const id = await enqueue()
      await fetchJobs()
      const { status, body } = await ack(id, { result: { n: [1, null] } })
      expect(status).toBe(200)
      expect(body).toMatchObject({
        acknowledged: true,
        id,
        job_id: id,
        state: 'completed',
        completed_at: expect.any(String),
        job: { state: 'completed', result: { n: [1, null] } },
      })
      expect(await get(id)).toMatchObject({ state: 'completed', attempt: 1, result: { n: [1, null] } })
    })

    it('accepts a result of 64 KiB, refuses one beyond the limit and leaves the job active', async () => {
      const id = await enqueue()
      await fetchJobs()
      const { status, body } = await ack(id, { result: 'x'.repeat(1_100_000) })
      expect([status, body.error.code]).toEqual([413, 'payload_too_large'])
      expect(await get(id)).toMatchObject({ state: 'active' })
      expect((await ack(id, { result: 'x'.repeat(64 * 1024) })).status).toBe(200)
    })

    it('is a conflict for a job that is not active, and changes nothing', async () => {
      const id = await enqueue()
      const early = await ack(id)
      expect(early.status).toBe(409)
      expect(early.body.error).toMatchObject({
        code: 'conflict',
        details: { job_id: id, current_state: 'available', expected_state: 'active' },
      })
      expect(await get(id)).toMatchObject({ state: 'available', attempt: 0 })
      await fetchJobs()
      await ack(id, { result: 1 })
      for (const late of [await ack(id, { result: 2 }), await nack(id)]) {
        expect([late.status, late.body.error.details.current_state]).toEqual([409, 'completed'])
      }
      expect(await get(id)).toMatchObject({ state: 'completed', result: 1 })
    })

    it('is a conflict from another worker, and with another attempt', async () => {
      const id = await enqueue()
      await fetchJobs({ worker_id: 'w1' })
      expect((await ack(id, { worker_id: 'w2' })).status).toBe(409)
      expect((await ack(id, { attempt: 2 })).status).toBe(409)
      expect((await nack(id, {}, { worker_id: 'w2' })).status).toBe(409)
      expect(await get(id)).toMatchObject({ state: 'active', attempt: 1 })
      expect((await ack(id, { worker_id: 'w1', attempt: 1 })).status).toBe(200)
    })

    it('counts once, however often it is repeated', async () => {
      const id = await enqueue()
      await fetchJobs()
      const replies = await Promise.all(Array.from({ length: 10 }, (_, i) => ack(id, { result: i })))
      expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
      expect(replies.filter((reply) => reply.status === 409)).toHaveLength(9)
    })

    it('is 404 for an unknown job, 400 without one', async () => {
      expect((await ack('019539a4-0000-7000-8000-000000000000')).status).toBe(404)
      expect((await ack('nonsense')).status).toBe(404)
      expect((await s.post('/ojs/v1/workers/ack', {})).status).toBe(400)
    })
  })

  describe('nack', () => {
    const retry = { max_attempts: 3, initial_interval: 'PT10S', backoff_coefficient: 3, jitter: false }

    it('makes the job wait by its policy, with its errors', async () => {
      const id = await enqueue({ retry })
      await fetchJobs()
      const { body } = await nack(id, { details: { error_class: 'Net.Reset' } })
      expect(body).toMatchObject({
        id,
        state: 'retryable',
        attempt: 1,
        max_attempts: 3,
        retry_delay_ms: 10_000,
        next_attempt_at: expect.any(String),
      })
      await s.store.moveClock(10_000)
      expect((await fetchJobs())[0]).toMatchObject({
        id,
        attempt: 2,
        retry_delay_ms: 10_000,
        errors: [{ attempt: 1, code: 'handler_error', type: 'Net.Reset', occurred_at: expect.any(String) }],
      })
      expect((await nack(id)).body).toMatchObject({ attempt: 2, retry_delay_ms: 30_000 })
      await s.store.moveClock(40_000)
      await fetchJobs()
      expect((await nack(id, { message: 'last' })).body).toMatchObject({
        state: 'discarded',
        attempt: 3,
        discarded_at: expect.any(String),
        completed_at: expect.any(String),
      })
      const job = await get(id)
      expect(job).toMatchObject({ state: 'discarded', attempt: 3, error: { message: 'last' } })
      expect(job.errors.map((error: any) => error.attempt)).toEqual([1, 2, 3])
    })

    it.each([
      ['exactly', ['Fatal'], 'Fatal', 'discarded'],
      ['by prefix', ['Auth.*'], 'Auth.Expired', 'discarded'],
      ['not at all', ['Auth.*'], 'AuthX', 'retryable'],
    ])('non_retryable_errors match %s', async (_, list, type, state) => {
      const id = await enqueue({ retry: { ...retry, non_retryable_errors: list } })
      await fetchJobs()
      expect((await nack(id, { type })).body.state).toBe(state)
    })

    it.each([
      [{ retryable: false }, 'discarded', false],
      [{ code: 'DISCARD' }, 'discarded', false],
      [{ code: 'FAIL' }, 'discarded', false],
      [{ code: 'DEAD_LETTER' }, 'discarded', true],
      [{ code: 'RETRY' }, 'retryable', false],
    ])('%j decides at once: %s, dead letter %s', async (error, state, dead) => {
      const id = await enqueue({ retry })
      await fetchJobs()
      expect((await nack(id, error)).body.state).toBe(state)
      const letters = (await s.get('/ojs/v1/dead-letter')).body.jobs
      expect(ids(letters)).toEqual(dead ? [id] : [])
    })

    it('keeps the newest of many errors', async () => {
      const id = await enqueue({
        retry: { max_attempts: 14, initial_interval: 'PT1S', jitter: false, backoff: 'none' },
      })
      for (let i = 1; i <= 12; i++) {
        await s.store.moveClock(i * 1000)
        await fetchJobs()
        await nack(id, { message: `failure ${i}` })
      }
      const { errors } = await get(id)
      expect(errors.length).toBeGreaterThanOrEqual(10)
      expect(errors.at(-1)).toMatchObject({ attempt: 12, message: 'failure 12' })
    })

    it('with requeue returns the job at once, whatever the error is', async () => {
      const id = await enqueue({ retry: { max_attempts: 1 } })
      await fetchJobs({ worker_id: 'w1' })
      expect((await nack(id, { retryable: false }, { requeue: true })).body.state).toBe('available')
      expect((await fetchJobs({ worker_id: 'w2' }))[0]).toMatchObject({ id })
      expect((await ack(id)).status).toBe(200)
    })

    it('refuses a report without an error', async () => {
      const id = await enqueue()
      await fetchJobs()
      expect((await s.post('/ojs/v1/workers/nack', { job_id: id })).status).toBe(400)
      expect(await get(id)).toMatchObject({ state: 'active' })
    })
  })

  describe('many reports at once', () => {
    it('are each decided separately', async () => {
      const [one, two, three] = [await enqueue(), await enqueue(), await enqueue()]
      await fetchJobs({ count: 2 })
      const { status, body } = await s.post('/ojs/v1/workers/ack/batch', {
        acks: [{ job_id: one, result: 1 }, { job_id: three }, {}, { job_id: two }, { job_id: one }, 'x'],
      })
      expect(status).toBe(200)
      expect(body).toMatchObject({ count: 6, succeeded: 2, failed: 4 })
      expect(body.results.map((r: any) => r.state ?? r.error.code)).toEqual([
        'completed',
        'conflict',
        'invalid_request',
        'completed',
        'conflict',
        'invalid_request',
      ])
      expect(await get(three)).toMatchObject({ state: 'available' })
    })

    it('so are failures', async () => {
      const [one, two] = [await enqueue(), await enqueue()]
      await fetchJobs({ count: 2 })
      const error = { code: 'handler_error', message: 'm' }
      const { body } = await s.post('/ojs/v1/workers/nack/batch', {
        nacks: [
          { job_id: one, error },
          { job_id: two, error: { ...error, retryable: false } },
        ],
      })
      expect(body.results.map((r: any) => r.state)).toEqual(['retryable', 'discarded'])
    })

    it.each([[{}], [{ acks: [] }], [{ acks: 1 }]])('refuses %j', async (body) => {
      expect((await s.post('/ojs/v1/workers/ack/batch', body)).status).toBe(400)
    })
  })
})
