/** Progress of jobs, by the progress extension of the Open Job Spec. */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { onBothStores, type Reply, type Serving } from '../serving.ts'
import { type Any, Flow, once } from './flow.ts'

onBothStores('progress', (stage) => {
  let s: Serving
  let f: Flow
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
    f = new Flow(s)
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const push = async (options: object = {}): Promise<string> =>
    (await s.post('/ojs/v1/jobs', once('long', options))).body.job.id
  const put = (id: string, body: object): Promise<Reply> => s.ask('PUT', `/ojs/v1/jobs/${id}/progress`, { body })
  const look = async (id: string): Promise<Any> => (await s.get(`/ojs/v1/jobs/${id}/progress`)).body
  const recorded = async (id: string): Promise<Any[]> =>
    (await s.get(`/ojs/v1/jobs/${id}/events?types=job.progress`)).body.events.map((event: Any) => event.data.progress)

  it('is null as long as nothing is reported, even for a completed job', async () => {
    const id = await push()
    expect(await look(id)).toMatchObject({
      job_id: id,
      state: 'available',
      progress: null,
      data: null,
      reported: false,
    })
    await f.ack(await f.fetchOne())
    expect(await look(id)).toMatchObject({ state: 'completed', progress: null, data: null, reported: false })
    expect((await s.get('/ojs/v1/jobs/01a1ecbe-45e9-7000-9e29-d4d3f180be80/progress')).status).toBe(404)
  })

  it('is limited to the range 0 to 1, and never falls in one execution', async () => {
    const id = await push()
    await f.fetchOne()
    expect((await put(id, { progress: -3 })).body).toMatchObject({ progress: 0, percentage: 0, accepted: true })
    expect((await put(id, { progress: 0.5, message: 'half' })).body).toMatchObject({ progress: 0.5, percentage: 50 })
    const lower = await put(id, { progress: 0.2, message: 'less' })
    expect([lower.status, lower.body]).toEqual([
      200,
      expect.objectContaining({ progress: 0.5, message: 'half', accepted: false }),
    ])
    const percent = await s.post('/ojs/v1/workers/progress', { job_id: id, percentage: 75 })
    expect(percent.body.progress).toBe(0.75)
    expect((await put(id, { progress: 1.5 })).body.progress).toBe(1)
    expect(await recorded(id)).toEqual([0, 0.5, 0.75, 1])
  })

  it('accepts data alone, which leaves the number unchanged', async () => {
    const id = await push()
    await f.fetchOne()
    expect((await put(id, { data: { rows: 1 } })).body).toMatchObject({ progress: null, data: { rows: 1 } })
    await put(id, { progress: 0.4 })
    expect((await put(id, { data: { rows: 2 } })).body).toMatchObject({ progress: 0.4, data: { rows: 2 } })
    expect(await look(id)).toMatchObject({ state: 'active', progress: 0.4, data: { rows: 2 }, reported: true })
    for (const body of [{}, { message: 'only' }, { progress: 'half' }, { progress: 0.5, message: 7 }])
      expect((await put(id, body)).status).toBe(400)
  })

  it('reaches 1 when the job completes, and stays where it was when it fails', async () => {
    const [done, failed] = [await push(), await push()]
    const jobs = await f.fetch()
    for (const id of [done, failed]) await put(id, { progress: 0.73, data: { at: 'c' } })
    await f.ack(jobs.find((one) => one.id === done))
    await f.nack(jobs.find((one) => one.id === failed))
    expect(await look(done)).toMatchObject({ state: 'completed', progress: 1, percentage: 100, data: { at: 'c' } })
    expect(await look(failed)).toMatchObject({ state: 'discarded', progress: 0.73, data: { at: 'c' } })
  })

  it('starts from zero in every execution', async () => {
    const retry = { max_attempts: 2, initial_interval_ms: 1000, jitter: false }
    const id = await push({ retry })
    await f.fetchOne()
    await put(id, { progress: 0.8 })
    await f.nack({ id })
    expect(await look(id)).toMatchObject({ state: 'retryable', progress: 0.8 })
    await s.store.moveClock(1000)
    await f.fetchOne()
    expect(await look(id)).toMatchObject({ state: 'active', progress: null, reported: false })
    expect((await put(id, { progress: 0.1 })).body).toMatchObject({ progress: 0.1, accepted: true })
    await f.ack({ id })
    expect(await look(id)).toMatchObject({ state: 'completed', progress: 1 })
  })

  it('ignores reports for jobs that are not active, and by workers that do not hold them', async () => {
    const id = await push()
    const ignored = async (body: object): Promise<Any> => {
      const reply = await put(id, body)
      expect([reply.status, reply.body.accepted]).toEqual([200, false])
      return reply.body
    }
    expect((await ignored({ progress: 0.1 })).progress).toBeNull()
    await f.fetchOne()
    await put(id, { progress: 0.3 })
    expect((await ignored({ progress: 0.9, worker_id: 'someone' })).progress).toBe(0.3)
    await f.ack({ id })
    expect((await ignored({ progress: 0.4 })).progress).toBe(1)
    expect(await recorded(id)).toEqual([0.3])
  })

  it('renews the lease of the job, so no additional heartbeat is needed', async () => {
    const id = await push({ visibility_timeout_ms: 40_000 })
    await s.post('/ojs/v1/workers/heartbeat', { worker_id: f.worker, active_jobs: [] })
    await f.fetchOne()
    for (let turn = 1; turn <= 4; turn++) {
      await s.store.moveClock(turn * 25_000)
      expect((await put(id, { progress: turn / 10, worker_id: f.worker })).body.accepted).toBe(true)
      await s.engine.sweep()
    }
    expect((await f.job(id)).state).toBe('active')
    // A report ignored because it is lower is a sign of life, too.
    await s.store.moveClock(125_000)
    expect((await put(id, { progress: 0.1 })).body.accepted).toBe(false)
    await s.store.moveClock(150_000)
    await s.engine.sweep()
    expect((await f.job(id)).state).toBe('active')
    await s.store.moveClock(170_000)
    await s.engine.sweep()
    expect((await f.job(id)).state).not.toBe('active')
  })
})
