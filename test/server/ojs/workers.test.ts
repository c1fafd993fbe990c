/** Fetching over HTTP: the order, the wait, the limits; each job is handed out once. */
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { onBothStores, type Serving, serveOn, until } from '../serving.ts'
import { ids, jobClient } from './job-client.ts'

onBothStores('fetch', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const { ack, enqueue, fetchJobs, get } = jobClient(() => s)

  describe('fetch', () => {
    it('takes from the queues in their order, then by priority, then by age', async () => {
      const low = await enqueue({ queue: 'b', priority: 100 })
      const first = await enqueue({ queue: 'a' })
      const second = await enqueue({ queue: 'a' })
      const urgent = await enqueue({ queue: 'a', priority: 1 })
      expect(ids(await fetchJobs({ queues: ['a', 'b'], count: 10 }))).toEqual([urgent, first, second, low])
    })

    it('starts a job: active, counted, with its worker', async () => {
      const id = await enqueue()
      const [job] = await fetchJobs({ worker_id: 'w1' })
      expect(job).toMatchObject({ id, state: 'active', attempt: 1, worker_id: 'w1', started_at: expect.any(String) })
      expect(await get(id)).toMatchObject({ state: 'active', attempt: 1, worker_id: 'w1' })
    })

    it('hands each job out once, under any concurrency', async () => {
      for (let i = 0; i < 10; i++) await enqueue()
      const replies = await Promise.all(Array.from({ length: 20 }, () => fetchJobs()))
      const got = replies.flat().map((job) => job.id)
      expect(new Set(got).size).toBe(10)
      expect(got.length).toBe(10)
    })

    it('is empty at once when there is no job', async () => {
      expect(await fetchJobs()).toEqual([])
    })

    it('waits for a job on request', async () => {
      const waiting = fetchJobs({ wait_ms: 20_000 })
      const id = await enqueue()
      expect(ids(await waiting)).toEqual([id])
    })

    it('waits for a job that becomes due', async () => {
      const id = await enqueue({ scheduled_at: '+PT0.3S' })
      expect(ids(await fetchJobs({ wait_ms: 20_000 }))).toEqual([id])
    })

    it('waits at one server for a job enqueued at another, and reports to either', async () => {
      const other = await stage.serve()
      const waiting = other.post('/ojs/v1/workers/fetch', { queues: ['default'], wait_ms: 20_000, worker_id: 'w1' })
      const id = await enqueue()
      expect(ids((await waiting).body.jobs)).toEqual([id])
      expect((await ack(id, { worker_id: 'w1', result: 1 })).status).toBe(200)
      expect((await other.get(`/ojs/v1/jobs/${id}`)).body.job).toMatchObject({ state: 'completed', result: 1 })
    })

    it('ends its wait empty', async () => {
      expect(await fetchJobs({ wait_ms: 50 })).toEqual([])
    })

    it('ends its wait empty when the server stops', async () => {
      const own = await serveOn(await stage.url())
      const fetches = vi.spyOn(own.engine.leases, 'fetch')
      const waiting = own.post('/ojs/v1/workers/fetch', { queues: ['default'], wait_ms: 60_000 })
      await until(async () => fetches.mock.calls.length, Boolean)
      await own.server.close()
      expect((await waiting).body).toEqual({ jobs: [] })
      await own.engine.close()
      await own.store.close()
    })

    it('takes nothing for a client that disconnected', async () => {
      const gone = new AbortController()
      const waiting = s
        .ask('POST', '/ojs/v1/workers/fetch', { body: { queues: ['default'], wait_ms: 20_000 }, signal: gone.signal })
        .catch(() => null)
      await new Promise((resolve) => setTimeout(resolve, 100))
      gone.abort()
      await waiting
      await new Promise((resolve) => setTimeout(resolve, 100))
      const id = await enqueue()
      expect(await get(id)).toMatchObject({ state: 'available', attempt: 0 })
    })

    it.each([[{}], [{ queues: ['B'] }], [{ queues: ['a'], count: 0 }], [{ queues: ['a'], wait_ms: -1 }]])(
      'refuses %j',
      async (body) => {
        const reply = await s.post('/ojs/v1/workers/fetch', body)
        expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request'])
      },
    )
  })

  it('a limit per second applies to the queue', async () => {
    await enqueue({ rate_limit: { max_per_second: 1 } })
    await enqueue({ rate_limit: { max_per_second: 1 } })
    expect(await fetchJobs({ count: 2 })).toHaveLength(1)
    expect(await fetchJobs()).toEqual([])
    await s.store.moveClock(1000)
    expect(await fetchJobs()).toHaveLength(1)
  })

  it('a limit by key applies to the jobs that name it', async () => {
    const first = await enqueue({ rate_limit: { key: 'api', concurrency: 1 } })
    await enqueue({ rate_limit: { key: 'api', concurrency: 1 } })
    const free = await enqueue()
    expect(ids(await fetchJobs({ count: 3 }))).toEqual([first, free])
    await ack(first)
    expect(await fetchJobs({ count: 3 })).toHaveLength(1)
  })
})
