/** Leases over HTTP: how long they last, what renews and what ends them, and which directives a worker receives. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'
import { ids, jobClient } from './job-client.ts'

onBothStores('leases', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const { ack, beat, enqueue, fetchJobs, get } = jobClient(() => s)

  describe('leases', () => {
    it('end: available at once, one attempt spent, the late ack refused', async () => {
      const id = await enqueue({ visibility_timeout_ms: 3000 })
      await fetchJobs({ worker_id: 'w1' })
      await s.store.moveClock(3000)
      expect((await ack(id, { worker_id: 'w1' })).status).toBe(409)
      const back = await until(
        () => get(id),
        (job) => job.state === 'available',
      )
      expect(back).toMatchObject({ state: 'available', attempt: 1, error: { type: 'visibility_timeout' } })
      expect((await fetchJobs({ worker_id: 'w2' }))[0]).toMatchObject({ id, attempt: 2 })
    })

    it('end for good when no attempt is left', async () => {
      const id = await enqueue({
        visibility_timeout_ms: 3000,
        retry: { max_attempts: 1, on_exhaustion: 'dead_letter' },
      })
      await fetchJobs()
      await s.store.moveClock(3000)
      await until(
        () => get(id),
        (job) => job.state === 'discarded',
      )
      expect(ids((await s.get('/ojs/v1/dead-letter')).body.jobs)).toEqual([id])
    })

    it('last as long as the fetch requests, before the setting of the job', async () => {
      const id = await enqueue({ visibility_timeout_ms: 3000 })
      await fetchJobs({ visibility_timeout_ms: 60_000 })
      await s.store.moveClock(30_000)
      expect((await ack(id)).status).toBe(200)
    })

    it('are renewed by a heartbeat, in full, for the listed jobs that its worker holds', async () => {
      const [mine, other] = [await enqueue(), await enqueue()]
      await fetchJobs({ worker_id: 'w1', visibility_timeout_ms: 3000 })
      await fetchJobs({ worker_id: 'w2', visibility_timeout_ms: 3000 })
      await s.store.moveClock(2000)
      expect(await beat('w1', [mine, other, 'nonsense'])).toMatchObject({
        state: 'running',
        jobs_extended: [mine],
        server_time: expect.any(String),
      })
      await s.store.moveClock(4500)
      expect((await ack(mine)).status).toBe(200)
      expect((await ack(other)).status).toBe(409)
    })

    it('end with a worker whose heartbeats have stopped', async () => {
      const id = await enqueue()
      await fetchJobs({ worker_id: 'w1' })
      await beat('w1', [id])
      await s.store.moveClock(31_000)
      const back = await until(
        () => get(id),
        (job) => job.state !== 'active',
      )
      expect(back).toMatchObject({ state: 'available', attempt: 1, error: { type: 'worker_death' } })
    })

    it('last without any heartbeat', async () => {
      const id = await enqueue()
      await fetchJobs({ worker_id: 'w1' })
      await s.store.moveClock(600_000)
      expect((await ack(id, { worker_id: 'w1' })).status).toBe(200)
    })
  })

  it('a timeout fails the attempt and the retry policy applies', async () => {
    const id = await enqueue({ timeout_ms: 2000, retry: { max_attempts: 2, initial_interval: 'PT1M', jitter: false } })
    await fetchJobs()
    await s.store.moveClock(2000)
    const job = await until(
      () => get(id),
      (found) => found.state !== 'active',
    )
    expect(job).toMatchObject({ state: 'retryable', attempt: 1, error: { code: 'timeout' } })
    expect((await ack(id)).status).toBe(409)
  })

  describe('directives', () => {
    it.each(['quiet', 'terminate'])('a test makes the server answer %s', async (directive) => {
      const id = await enqueue({ metadata: { test_directive: directive } })
      await fetchJobs({ worker_id: 'w1' })
      expect(await beat('w1', [id])).toMatchObject({ state: directive })
    })

    it('an operator’s directive stays, and its worker gets no more jobs', async () => {
      await enqueue()
      await beat('w1', [])
      await s.engine.directWorker({ id: 'w1', state: 'quiet', actor: null })
      expect(await beat('w1', [])).toMatchObject({ state: 'quiet' })
      expect(await fetchJobs({ worker_id: 'w1' })).toEqual([])
      expect(await fetchJobs({ worker_id: 'w2' })).toHaveLength(1)
    })

    it('a worker that reports draining gets no more jobs', async () => {
      await enqueue()
      expect(await beat('w1', [], { state: 'drain' })).toMatchObject({ state: 'quiet' })
      expect(await fetchJobs({ worker_id: 'w1' })).toEqual([])
    })
  })

  it('directives of tests are ignored by a server that is not in test mode', async () => {
    const plain = await stage.serve()
    const { body } = await plain.post('/ojs/v1/jobs', {
      type: 'a',
      args: [],
      options: { metadata: { test_directive: 'terminate' } },
    })
    await plain.post('/ojs/v1/workers/fetch', { queues: ['default'], worker_id: 'w1' })
    const reply = await plain.post('/ojs/v1/workers/heartbeat', { worker_id: 'w1', active_jobs: [body.job.id] })
    expect(reply.body.state).toBe('running')
  })
})
