/**
 * The category of an error arrives through every route that reports failures, and determines what happens to the step.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { GateRow, RunRow } from '../../src/model/rows.ts'
import type { GateWork, Node } from '../../src/net/net.ts'
import { net, node, ONCE } from '../engine/drive.ts'
import { onBothStores, type Serving } from './serving.ts'

const ASKED: GateWork = { kind: 'gate', options: { title: 'governance: send' }, timeoutMs: null, onTimeout: 'reject' }
const TRANSIENT_ONLY = { ...ONCE, maxAttempts: 5, retryOn: ['transient'] }
const FORBIDDEN = { code: 'pii', message: 'personal data leaves the region', category: 'governance' }

onBothStores('error categories over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ engine: { pollMs: 50 } })
  })

  async function started(more: Partial<Node> = {}): Promise<string> {
    const send = node('send', [], { retry: TRANSIENT_ONLY, appeal: ASKED, ...more })
    const [made] = await s.engine.start([{ net: net([send]) }])
    return (made as { id: string }).id
  }

  async function ojsFails(error: object): Promise<string> {
    const { body } = await s.post('/ojs/v1/workers/fetch', { queues: ['default'], worker_id: 'w' })
    const [job] = body.jobs
    expect((await s.post('/ojs/v1/workers/nack', { job_id: job.id, error })).status).toBe(200)
    return job.id
  }

  async function inboxFails(error: object): Promise<string> {
    const { body } = await s.post('/v1/runs/claim', { worker_id: 'w', types: ['send'] })
    const [run] = body.runs
    const failed = await s.post(`/v1/runs/${run.id}/fail`, { worker_id: 'w', epoch: run.epoch, error })
    expect(failed.status).toBe(200)
    return run.id
  }

  const roads = [
    ['an OJS nack', ojsFails],
    ['a failed run of the inbox', inboxFails],
  ] as const

  describe.each(roads)('%s', (_, fails) => {
    it('with category governance opens a gate, and the approved run is handed out again', async () => {
      const id = await started()
      const runId = await fails(FORBIDDEN)
      const [gate] = await s.store.read.openGates({ instanceId: id, limit: 2 })
      expect(JSON.parse((gate as GateRow).args as string)).toMatchObject({ step: 'send', run: runId, error: FORBIDDEN })
      const shown = await s.get(`/v1/gates/${gate?.id}`)
      expect(shown.body.gate).toMatchObject({ node: 'send', args: { step: 'send', error: FORBIDDEN } })
      expect((await s.post(`/v1/gates/${gate?.id}/approve`, {}, { 'x-petrel-actor': 'ann' })).status).toBe(200)
      expect(await s.store.read.run(runId)).toMatchObject({ status: 'pending', attempt: 0 })
      await fails({ message: 'no', category: 'validation' })
      expect(await s.store.read.instance(id)).toMatchObject({ state: 'failed' })
    })

    it('is retried only if the policy names its category', async () => {
      const again = await started()
      const runId = await fails({ message: 'busy', category: 'transient' })
      expect(await s.store.read.run(runId)).toMatchObject({ status: 'pending', attempt: 1 })
      await s.engine.cancelInstance({ id: again, actor: null })
      await started()
      const uncategorised = await fails({ message: 'hm' })
      expect(await s.store.read.run(uncategorised)).toMatchObject({ status: 'failed', attempt: 1 })
    })

    it('is stored with the run, and shown', async () => {
      await started()
      const runId = await fails({ message: 'odd', category: 'validation' })
      const row = (await s.store.read.run(runId)) as RunRow
      expect(JSON.parse(row.error as string)).toMatchObject({ message: 'odd', category: 'validation' })
      expect((await s.get(`/v1/runs/${runId}`)).body.run.error).toMatchObject({ category: 'validation' })
      expect((await s.get(`/ojs/v1/jobs/${runId}`)).body.job.error).toMatchObject({ category: 'validation' })
    })
  })

  it('a category that is not a string is refused, and nothing changes', async () => {
    await started()
    const { body } = await s.post('/v1/runs/claim', { worker_id: 'w', types: ['send'] })
    const [run] = body.runs
    const error = { message: 'x', category: 7 }
    const refused = await s.post(`/v1/runs/${run.id}/fail`, { worker_id: 'w', epoch: run.epoch, error })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('category')
    expect((await s.post('/ojs/v1/workers/nack', { job_id: run.id, error })).status).toBe(400)
    expect(await s.store.read.run(run.id)).toMatchObject({ status: 'leased', attempt: 0 })
    await s.post(`/v1/runs/${run.id}/complete`, { worker_id: 'w', epoch: run.epoch })
  })

  it('for a result that does not match its schema the answer is the failed run', async () => {
    const id = await started({ schema: { input: null, output: { type: 'number' } } })
    const { body } = await s.post('/v1/runs/claim', { worker_id: 'w', types: ['send'] })
    const [run] = body.runs
    const done = await s.post(`/v1/runs/${run.id}/complete`, { worker_id: 'w', epoch: run.epoch, result: 'text' })
    expect(done).toMatchObject({ status: 200, body: { run: { status: 'failed', error: { code: 'invalid_output' } } } })
    expect(await s.store.read.instance(id)).toMatchObject({ state: 'failed' })
    await started({ schema: { input: null, output: { type: 'number' } } })
    const fetched = await s.post('/ojs/v1/workers/fetch', { queues: ['default'], worker_id: 'w' })
    const acked = await s.post('/ojs/v1/workers/ack', { job_id: fetched.body.jobs[0].id, result: 'text' })
    expect(acked.status).toBe(200)
    expect((await s.get(`/ojs/v1/jobs/${fetched.body.jobs[0].id}`)).body.job.error).toMatchObject({
      code: 'invalid_output',
      category: 'validation',
    })
  })
})
