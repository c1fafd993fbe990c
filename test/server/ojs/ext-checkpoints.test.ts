/** Checkpoints and progress over HTTP: data saved by a job outlives its failures, and only its holder can write it. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Reply, type Serving, until } from '../serving.ts'

onBothStores('checkpoints', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  const push = async (queue: string, options: object = {}): Promise<string> => {
    const { status, body } = await s.post('/ojs/v1/jobs', {
      type: 'test.durable',
      args: [1],
      options: { queue, ...options },
    })
    expect(status).toBe(201)
    return body.id
  }
  const take = async (queue: string, worker: string): Promise<any> => {
    const { body } = await s.post('/ojs/v1/workers/fetch', { queues: [queue], worker_id: worker })
    return body.jobs[0]
  }
  const save = (id: string, body: object, method = 'PUT'): Promise<Reply> =>
    s.ask(method, `/ojs/v1/jobs/${id}/checkpoint`, { body })
  const look = (id: string): Promise<Reply> => s.get(`/ojs/v1/jobs/${id}/checkpoint`)
  const remove = (id: string): Promise<Reply> => s.ask('DELETE', `/ojs/v1/jobs/${id}/checkpoint`)

  it('counts saves, keeps the latest, and starts again after a deletion', async () => {
    const id = await push('ck-seq')
    expect((await look(id)).status).toBe(404)
    const first = await save(id, { state: { step: 1, more: [1, { x: null }] } })
    expect(first.status).toBe(200)
    expect(first.body).toMatchObject({ job_id: id, sequence: 1, state: { step: 1 }, checkpoint: { sequence: 1 } })
    expect((await save(id, { state: { step: 2 } }, 'POST')).body.sequence).toBe(2)
    expect((await look(id)).body).toMatchObject({ job_id: id, sequence: 2, state: { step: 2 } })
    expect((await look(id)).body.state).toEqual({ step: 2 })
    expect((await remove(id)).status).toBe(200)
    expect((await remove(id)).status).toBe(200)
    expect((await look(id)).status).toBe(404)
    expect((await save(id, { state: null })).body).toMatchObject({ sequence: 1, state: null })
    expect((await look(id)).status).toBe(200)
  })

  it('survives a failure and is passed to the next start of the job', async () => {
    const id = await push('ck-retry', { retry: { max_attempts: 3, initial_interval: 'PT0.01S', jitter: false } })
    const job = await take('ck-retry', 'w1')
    expect(job.checkpoint).toBeUndefined()
    expect((await save(id, { state: { rows: 750 }, worker_id: 'w1' })).status).toBe(200)
    await s.post('/ojs/v1/workers/nack', {
      job_id: id,
      error: { code: 'handler_error', message: 'lost', retryable: true },
    })
    const again = await until(
      () => take('ck-retry', 'w2'),
      (found) => found !== undefined,
    )
    expect(again).toMatchObject({ id, attempt: 2, checkpoint: { state: { rows: 750 }, sequence: 1 } })
    expect((await s.get(`/ojs/v1/jobs/${id}`)).body.job.checkpoint.state).toEqual({ rows: 750 })

    // The first worker lost the job, so it must not save any more.
    const stale = await save(id, { state: { rows: 1 }, worker_id: 'w1' })
    expect([stale.status, stale.body.error.code]).toEqual([409, 'conflict'])
    expect((await look(id)).body).toMatchObject({ sequence: 1, state: { rows: 750 } })

    await s.post('/ojs/v1/workers/ack', { job_id: id })
    expect((await look(id)).body.state).toEqual({ rows: 750 })
    const late = await save(id, { state: {} })
    expect([late.status, late.body.error.code, late.body.error.details.current_state]).toEqual([
      409,
      'conflict',
      'completed',
    ])
  })

  it('cannot be changed once the job is cancelled or discarded', async () => {
    const cancelled = await push('ck-end')
    await s.ask('DELETE', `/ojs/v1/jobs/${cancelled}`)
    expect((await save(cancelled, { state: 1 })).status).toBe(409)
    const discarded = await push('ck-discard', { retry: { max_attempts: 1 } })
    await take('ck-discard', 'w')
    await s.post('/ojs/v1/workers/nack', { job_id: discarded, error: { code: 'handler_error', message: 'no' } })
    expect((await save(discarded, { state: 1 })).status).toBe(409)
  })

  it('refuses checkpoints that are too large, missing or without a job, and changes nothing', async () => {
    const id = await push('ck-bad')
    await save(id, { state: 'kept' })
    const large = await save(id, { state: 'x'.repeat(1024 * 1024) })
    expect([large.status, large.body.error.code]).toEqual([413, 'payload_too_large'])
    expect((await save(id, { state: 'x'.repeat(1024 * 1024 - 100) })).status).toBe(200)
    await save(id, { state: 'kept' })
    for (const body of [{}, { checkpoint: 1 }]) expect((await save(id, body)).status).toBe(400)
    expect((await save(id, { state: 'a\u0000b' })).status).toBe(400)
    expect((await look(id)).body.state).toBe('kept')
    const unknown = '01965000-0000-7000-8000-000000000000'
    for (const reply of [
      await save(unknown, { state: 1 }),
      await look(unknown),
      await remove(unknown),
      await look('no-id'),
    ]) {
      expect([reply.status, reply.body.error.details.resource_type]).toEqual([404, 'job'])
    }
  })

  it('is not visible to another tenant', async () => {
    const { body } = await s.post('/ojs/v1/jobs', { type: 'test.durable', args: [] }, { 'x-ojs-tenant': 'acme' })
    const path = `/ojs/v1/jobs/${body.id}/checkpoint`
    await s.ask('PUT', path, { body: { state: 1 } })
    expect((await s.get(path, { 'x-ojs-tenant': 'other' })).status).toBe(404)
    expect((await s.ask('PUT', path, { body: { state: 2 }, headers: { 'x-ojs-tenant': 'other' } })).status).toBe(404)
    expect((await s.get(path, { 'x-ojs-tenant': 'acme' })).body.state).toBe(1)
  })

  it('counts correctly under twenty simultaneous saves', async () => {
    const id = await push('ck-many')
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => save(id, { state: i })))
    expect(replies.map((reply) => reply.body.sequence).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    )
  })

  for (const prefix of ['/ojs/v1', '/ojs/v1/ojs/v1']) {
    it(`answers the official client at ${prefix}/checkpoints`, async () => {
      const id = await push('ck-sdk')
      const path = `${prefix}/checkpoints/${id}`
      expect((await s.get(`${path}/resume`)).body).toEqual({ job_id: id, has_checkpoint: false })
      const metadata = { _replay_log: [{ seq: 0, result: 1 }], attempt: 1 }
      expect((await s.post(path, { state: { a: 1 }, step_index: 3, metadata })).status).toBe(200)
      const resumed = (await s.get(`${path}/resume`)).body
      expect(resumed).toMatchObject({ has_checkpoint: true, checkpoint: { state: { a: 1 }, step_index: 3, metadata } })
      expect((await look(id)).body.state).toEqual({ a: 1 })
      expect((await s.ask('DELETE', path)).status).toBe(200)
      expect((await s.get(`${path}/resume`)).body.has_checkpoint).toBe(false)
    })
  }
})
