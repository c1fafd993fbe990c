/** Two servers on one store, used alternately: neither has state that the other lacks. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Reply, type Serving, until } from '../serving.ts'

onBothStores('two servers used alternately', (stage) => {
  let servers: readonly Serving[]
  let turn = 0
  beforeAll(async () => {
    servers = [await stage.serve(), await stage.serve()]
  })
  const ask = (method: string, path: string, body?: unknown): Promise<Reply> =>
    (servers[turn++ % 2] as Serving).ask(method, path, body === undefined ? {} : { body })
  const step = (n: number, queue: string) => ({ type: 'test.step', args: [n], options: { queue } })

  async function fetchOne(queue: string): Promise<any> {
    const { body } = await ask('POST', '/ojs/v1/workers/fetch', { queues: [queue], worker_id: 'w', wait_ms: 5_000 })
    return body.jobs[0]
  }

  async function work(queue: string, result: unknown): Promise<any> {
    const job = await fetchOne(queue)
    expect(job).toBeDefined()
    expect((await ask('POST', '/ojs/v1/workers/ack', { job_id: job.id, worker_id: 'w', result })).status).toBe(200)
    return job
  }

  it('a bulk operation: ordered here, shown there', async () => {
    await ask('POST', '/ojs/v1/jobs', step(0, 'bulk'))
    const body = { confirm: true, filter: { queue: 'bulk' } }
    const { operation_id: id } = (await ask('POST', '/ojs/v1/admin/jobs/bulk/cancel', body)).body
    for (const _ of servers) {
      const shown = await until(
        () => ask('GET', `/ojs/v1/admin/jobs/bulk/${id}`),
        ({ body }) => body.status === 'completed',
      )
      expect(shown.body).toMatchObject({ operation_id: id, action: 'cancel', matched: 1, succeeded: 1, failed: 0 })
    }
  })

  it('a chain: each step with the results of the earlier ones, fetched here and reported there', async () => {
    const chain = { type: 'chain', name: 'turns', steps: [step(0, 'chain'), step(1, 'chain'), step(2, 'chain')] }
    const { workflow } = (await ask('POST', '/ojs/v1/workflows', chain)).body
    for (let n = 0; n < 3; n++) {
      const job = await work('chain', { n })
      expect([job.args, job.parent_results]).toEqual([[n], Array.from({ length: n }, (_, i) => ({ n: i }))])
    }
    for (let look = 0; look < 2; look++) {
      const seen = (await ask('GET', `/ojs/v1/workflows/${workflow.id}`)).body.workflow
      expect([seen.state, seen.steps_completed]).toEqual(['completed', 3])
    }
  })

  it('a batch: twenty jobs reported to both at once, one callback', async () => {
    const jobs = Array.from({ length: 20 }, (_, n) => step(n, 'batch'))
    const callbacks = { on_complete: step(-1, 'callback'), on_success: step(-2, 'callback') }
    const { workflow } = (await ask('POST', '/ojs/v1/workflows', { type: 'batch', name: 'b', jobs, callbacks })).body
    const fetched = (await ask('POST', '/ojs/v1/workers/fetch', { queues: ['batch'], count: 20, worker_id: 'w' })).body
      .jobs
    expect(fetched).toHaveLength(20)
    const acks = await Promise.all(
      fetched.map((job: any) => ask('POST', '/ojs/v1/workers/ack', { job_id: job.id, result: job.args[0] })),
    )
    expect(acks.map(({ status }) => status)).toEqual(Array(20).fill(200))
    const called = [await work('callback', null), await work('callback', null)]
    expect(called.map((job) => job.args[0]).sort()).toEqual([-1, -2])
    expect((await ask('POST', '/ojs/v1/workers/fetch', { queues: ['callback'] })).body.jobs).toEqual([])
    const seen = (await ask('GET', `/ojs/v1/workflows/${workflow.id}`)).body.workflow
    expect([seen.state, seen.metadata.completed_count]).toEqual(['completed', 20])
  })

  it('a job enqueued here wakes a long poll there', async () => {
    const [one, other] = servers as [Serving, Serving]
    const poll = one.post('/ojs/v1/workers/fetch', { queues: ['wake'], worker_id: 'w', wait_ms: 20_000 })
    await until(
      async () => (await one.get('/metrics')).text,
      (text) => text.includes('requests_in_flight{method="POST",route="/ojs/v1/workers/fetch"} 1'),
    )
    const began = performance.now()
    const { body } = await other.post('/ojs/v1/jobs', { type: 'test.step', args: [], options: { queue: 'wake' } })
    expect((await poll).body.jobs[0].id).toBe(body.job.id)
    expect(performance.now() - began).toBeLessThan(3_000)
  })

  it('one acks, the other refuses the second ack; cancel here ends the workflow there', async () => {
    await ask('POST', '/ojs/v1/jobs', step(1, 'double'))
    const job = await fetchOne('double')
    const acks = await Promise.all([0, 1].map(() => ask('POST', '/ojs/v1/workers/ack', { job_id: job.id })))
    expect(acks.map(({ status }) => status).sort()).toEqual([200, 409])
    const group = { type: 'group', name: 'g', jobs: [step(1, 'cancel'), step(2, 'cancel')] }
    const { workflow } = (await ask('POST', '/ojs/v1/workflows', group)).body
    expect((await ask('DELETE', `/ojs/v1/workflows/${workflow.id}`)).status).toBe(200)
    expect((await ask('POST', '/ojs/v1/workers/fetch', { queues: ['cancel'], count: 5 })).body.jobs).toEqual([])
    expect((await ask('DELETE', `/ojs/v1/workflows/${workflow.id}`)).status).toBe(409)
  })

  it('pauses and events are the same on both', async () => {
    await ask('POST', '/ojs/v1/queues/calm/pause')
    await ask('POST', '/ojs/v1/jobs', step(1, 'calm'))
    for (let n = 0; n < 2; n++) {
      expect((await ask('POST', '/ojs/v1/workers/fetch', { queues: ['calm'] })).body.jobs).toEqual([])
    }
    await ask('POST', '/ojs/v1/queues/calm/resume')
    await work('calm', null)
    const [one, other] = [await ask('GET', '/ojs/v1/events?limit=1000'), await ask('GET', '/ojs/v1/events?limit=1000')]
    expect(one.body.events.length).toBeGreaterThan(20)
    expect(other.body.events).toEqual(one.body.events)
  })
})
