/** A worker that lost its lease changes nothing, even if its reports name neither a worker nor an attempt. */
import { Agent, request as httpRequest } from 'node:http'
import { afterAll, describe, expect, test } from 'vitest'
import { onBothStores, type Reply, type Serving } from '../serving.ts'

type Ask = (path: string, body: object) => Promise<Pick<Reply, 'status' | 'body'>>

onBothStores('reports after a lost lease', (stage) => {
  describe('a job whose first worker was silent for too long, held by a second', () => {
    test('refuses every report that does not name its worker', async () => {
      const s = await stage.serve()
      const { id } = await lostByFirst(s, s.post)
      for (const [path, body] of anonymous(id)) {
        const reply = await s.post(path, body)
        expect([path, reply.status, reply.body.error?.code]).toEqual([path, 409, 'conflict'])
        expect(reply.body.error.message).toContain('name worker_id or attempt')
        expect(reply.body.error.details).toMatchObject({ job_id: id, current_state: 'active' })
      }
      const batch = await s.post('/ojs/v1/workers/ack/batch', { acks: [{ job_id: id, result: 'first' }] })
      expect(batch.body).toMatchObject({ succeeded: 0, failed: 1, results: [{ error: { code: 'conflict' } }] })
      const progress = await s.ask('PUT', `/ojs/v1/jobs/${id}/progress`, { body: { progress: 0.1 } })
      expect(progress.body).toMatchObject({ accepted: false, progress: null })
      const beat = await s.post('/ojs/v1/workers/heartbeat', { worker_id: 'first', active_jobs: [id] })
      expect(beat.body.jobs_extended).toEqual([])
      const acked = await s.post('/ojs/v1/workers/ack', { job_id: id, worker_id: 'second', result: 'second' })
      expect(acked.status).toBe(200)
      const { job } = (await s.get(`/ojs/v1/jobs/${id}`)).body
      expect(job).toMatchObject({ state: 'completed', result: 'second' })
    })

    test('accepts the report of a client that names its worker only when it fetches, by its address', async () => {
      const s = await stage.serve()
      const first = clientAt(s, '127.0.0.2')
      const second = clientAt(s, '127.0.0.3')
      const { id } = await lostByFirst(s, first.ask, second.ask)
      expect((await first.ask('/ojs/v1/workers/ack', { job_id: id, result: 'first' })).status).toBe(409)
      expect((await second.ask('/ojs/v1/workers/ack', { job_id: id, result: 'second' })).status).toBe(200)
    })

    test('refuses it where the first worker used another server, or this one before it was restarted', async () => {
      const [before, after] = [await stage.serve(), await stage.serve()]
      // Both workers have one address; the second server has seen the second worker only.
      const { id } = await lostByFirst(before, before.post, after.post)
      for (const [path, body] of anonymous(id)) {
        const reply = await after.post(path, body)
        expect([path, reply.status, reply.body.error?.code]).toEqual([path, 409, 'conflict'])
      }
      const named = { job_id: id, worker_id: 'second', result: 'second' }
      expect((await after.post('/ojs/v1/workers/ack', named)).status).toBe(200)
    })

    test('accepts the attempt as proof, except after a retry from the dead letters has restarted the count', async () => {
      const s = await stage.serve()
      const { id } = await lostByFirst(s, s.post, s.post, { max_attempts: 2, on_exhaustion: 'dead_letter' })
      expect((await s.post('/ojs/v1/workers/ack', { job_id: id, attempt: 1 })).status).toBe(409)
      const nack = { job_id: id, attempt: 2, error: { code: 'x', message: 'x', retryable: false } }
      expect((await s.post('/ojs/v1/workers/nack', nack)).body.state).toBe('discarded')
      await s.post(`/ojs/v1/dead-letter/${id}/retry`)
      const { job } = await fetchOne(s.post, 'third', 60_000)
      expect(job).toMatchObject({ id, attempt: 1 })
      expect((await s.post('/ojs/v1/workers/ack', { job_id: id, attempt: 1, result: 'first' })).status).toBe(409)
      expect((await s.post('/ojs/v1/workers/ack', { job_id: id, worker_id: 'third', attempt: 1 })).status).toBe(200)
    })
  })

  test('clients that never lose a lease need to name nothing, however many attempts they make', async () => {
    const s = await stage.serve()
    const retry = { max_attempts: 3, initial_interval: 'PT0.001S', jitter: false }
    const { id } = (await s.post('/ojs/v1/jobs', { type: 'job', args: [], options: { retry } })).body.job
    await fetchOne(s.post, 'a', 60_000)
    const error = { code: 'handler_error', message: 'no' }
    expect((await s.post('/ojs/v1/workers/nack', { job_id: id, error })).body.state).toBe('retryable')
    await fetchOne(s.post, 'b', 60_000)
    expect((await s.post('/ojs/v1/workers/nack', { job_id: id, error, requeue: true })).body.state).toBe('available')
    await fetchOne(s.post, 'c', 60_000)
    expect((await s.ask('PUT', `/ojs/v1/jobs/${id}/progress`, { body: { progress: 0.5 } })).body.accepted).toBe(true)
    expect((await s.post('/ojs/v1/workers/ack', { job_id: id })).status).toBe(200)
  })
})

const agents: Agent[] = []
afterAll(() => {
  for (const agent of agents) agent.destroy()
})

function anonymous(id: string): readonly (readonly [string, object])[] {
  return [
    ['/ojs/v1/workers/ack', { job_id: id, result: 'first' }],
    [`/ojs/v1/jobs/${id}/ack`, { result: 'first' }],
    ['/ojs/v1/workers/nack', { job_id: id, error: { code: 'x', message: 'x' } }],
    [`/ojs/v1/jobs/${id}/checkpoint`, { state: 'first' }],
  ]
}

/** The first lease is very short; the second worker waits until the job is available again. */
async function lostByFirst(s: Serving, first: Ask, second: Ask = first, retry: object = { max_attempts: 3 }) {
  const { id } = (await s.post('/ojs/v1/jobs', { type: 'job', args: [], options: { retry } })).body.job
  expect((await fetchOne(first, 'first', 1)).job.id).toBe(id)
  expect((await fetchOne(second, 'second', 60_000)).job).toMatchObject({ id, attempt: 2 })
  return { id }
}

async function fetchOne(ask: Ask, worker: string, leaseMs: number) {
  const body = { queues: ['default'], worker_id: worker, visibility_timeout_ms: leaseMs, wait_ms: 20_000 }
  const reply = await ask('/ojs/v1/workers/fetch', body)
  return { job: reply.body.jobs[0] }
}

function clientAt(s: Serving, localAddress: string): { readonly ask: Ask } {
  const agent = new Agent({ localAddress })
  agents.push(agent)
  return {
    ask: (path, body) =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json' }
        const asking = httpRequest(
          `http://127.0.0.1:${s.server.port}${path}`,
          { method: 'POST', agent, headers },
          (response) => {
            const chunks: Buffer[] = []
            response.on('data', (chunk: Buffer) => chunks.push(chunk))
            response.on('end', () => {
              resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) })
            })
          },
        )
        asking.on('error', reject)
        asking.end(JSON.stringify(body))
      }),
  }
}
