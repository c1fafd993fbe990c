/** The server's actual replies match the OpenAPI document. */
import { beforeAll, expect, it } from 'vitest'
import { checkReply } from '../documented.ts'
import { onBothStores, type Serving } from '../serving.ts'

onBothStores('replies match the document', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
  })
  const ask = async (method: string, path: string, body?: unknown) =>
    checkReply(method, path, await s.ask(method, path, body === undefined ? {} : { body }))

  it('of jobs and workers', async () => {
    const job = { type: 'test.echo', args: [{ a: 1 }], meta: { trace: 'x' }, options: { queue: 'r', tags: ['t'] } }
    const { body } = await ask('POST', '/ojs/v1/jobs', job)
    await ask('POST', '/ojs/v1/jobs/batch', { jobs: [job, { ...job, options: { queue: 'r', pending: true } }] })
    await ask('GET', `/ojs/v1/jobs/${body.job.id}`)
    const fetched = await ask('POST', '/ojs/v1/workers/fetch', { queues: ['r'], count: 2, worker_id: 'w' })
    expect(fetched.body.jobs).toHaveLength(2)
    await ask('POST', '/ojs/v1/workers/heartbeat', { worker_id: 'w', active_jobs: [body.job.id] })
    await ask('POST', '/ojs/v1/workers/ack', { job_id: fetched.body.jobs[0].id, result: [1] })
    const error = { code: 'handler_error', message: 'broken', type: 'Broken' }
    await ask('POST', '/ojs/v1/workers/nack', { job_id: fetched.body.jobs[1].id, error })
    await ask('POST', '/ojs/v1/workers/ack/batch', { acks: [{ job_id: fetched.body.jobs[0].id }] })
    await ask('GET', `/ojs/v1/jobs/${fetched.body.jobs[1].id}`)
    await ask('DELETE', `/ojs/v1/jobs/${fetched.body.jobs[1].id}`)
    await ask('GET', `/ojs/v1/jobs/${fetched.body.jobs[1].id}/events`)
    await ask('GET', '/ojs/v1/events')
  })

  it('of queues, dead letters and cron', async () => {
    await ask('GET', '/ojs/v1/queues')
    await ask('GET', '/ojs/v1/queues/r')
    await ask('GET', '/ojs/v1/queues/r/stats')
    await ask('POST', '/ojs/v1/queues/r/pause')
    await ask('POST', '/ojs/v1/queues/r/resume')
    const retry = { max_attempts: 1, on_exhaustion: 'dead_letter' }
    const { body } = await ask('POST', '/ojs/v1/jobs', { type: 'test.dead', args: [], options: { queue: 'd', retry } })
    await s.post('/ojs/v1/workers/fetch', { queues: ['d'] })
    await ask('POST', '/ojs/v1/workers/nack', { job_id: body.job.id, error: { code: 'x', message: 'y' } })
    const dead = await ask('GET', '/ojs/v1/dead-letter')
    expect(dead.body.jobs).toHaveLength(1)
    await ask('POST', `/ojs/v1/dead-letter/${body.job.id}/retry`)
    await ask('DELETE', `/ojs/v1/dead-letter/${body.job.id}`)
    const cron = { name: 'nightly', expression: '0 3 * * *', job_template: { type: 'test.cron', args: [] } }
    await ask('POST', '/ojs/v1/cron', cron)
    await ask('GET', '/ojs/v1/cron')
    await ask('GET', '/ojs/v1/cron/nightly')
    await ask('PATCH', '/ojs/v1/cron/nightly', { enabled: false })
    await ask('DELETE', '/ojs/v1/cron/nightly')
  })

  it('of workflows', async () => {
    const step = { type: 'test.step', args: [] }
    const callbacks = { on_complete: step }
    const batch = {
      type: 'batch',
      name: 'b',
      jobs: [step, { type: 'chain', name: 'c', steps: [step, step] }],
      callbacks,
    }
    const { body } = await ask('POST', '/ojs/v1/workflows', batch)
    await ask('GET', `/ojs/v1/workflows/${body.workflow.id}`)
    await ask('GET', '/ojs/v1/workflows')
    await ask('GET', `/ojs/v1/workflows/${body.workflow.id}/progress`)
    await ask('DELETE', `/ojs/v1/workflows/${body.workflow.id}`)
    await ask('POST', `/ojs/v1/workflows/${body.workflow.id}/cancel`)
    await ask('POST', `/ojs/v1/workflows/${body.workflow.id}/retry`)
    await ask('POST', '/ojs/v1/workflows', { type: 'dance' })
    await ask('GET', `/v1/instances/${body.workflow.id}`)
    await ask('GET', `/v1/instances/${body.workflow.id}/events`)
    await ask('GET', '/v1/instances')
  })

  it('of the server', async () => {
    for (const path of ['/ojs/manifest', '/ojs/v1/health', '/health', '/ready']) await ask('GET', path)
    await ask('POST', '/ojs/v1/admin/reset')
    expect((await s.get('/ojs/v1/workflows')).body.workflows).toEqual([])
  })

  it('of errors', async () => {
    const unknown = '01900000-0000-7000-8000-000000000000'
    await ask('GET', `/ojs/v1/jobs/${unknown}`)
    await ask('POST', '/ojs/v1/jobs', { args: [] })
    await ask('POST', '/ojs/v1/jobs', '{')
    await ask('POST', '/ojs/v1/workers/ack', { job_id: unknown })
    await ask('GET', `/v1/instances/${unknown}`)
  })
})
