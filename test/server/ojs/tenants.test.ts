/**
 * A key of a tenant sees, starts, claims and receives only what belongs to the tenant; everything else is not found.
 */
import { beforeAll, expect, it } from 'vitest'
import { type As, keyOf } from '../keys.ts'
import { onBothStores, type Serving, until } from '../serving.ts'

onBothStores('tenants', (stage) => {
  let s: Serving
  let anna: As
  let boris: As
  let operator: As
  beforeAll(async () => {
    const first = await stage.serve()
    operator = await keyOf(first, 'operator', null)
    s = await stage.serve({ auth: 'required' })
    anna = await keyOf(s, 'anna', 'a')
    boris = await keyOf(s, 'boris', 'b')
  })
  const enqueue = async (as: As, queue: string): Promise<string> =>
    (await s.post('/ojs/v1/jobs', { type: 'test.echo', args: [], options: { queue } }, as)).body.job.id
  const fetchIds = async (as: As, queue: string): Promise<string[]> =>
    (await s.post('/ojs/v1/workers/fetch', { queues: [queue], count: 10, worker_id: 'w' }, as)).body.jobs.map(
      (job: any) => job.id,
    )

  it('jobs: those of other tenants are 404 for get, cancel and activate', async () => {
    const id = await enqueue(anna, 'jobs')
    expect((await s.get(`/ojs/v1/jobs/${id}`, anna)).body.job).toMatchObject({ tenant: 'a', initiator: 'anna' })
    for (const [method, path] of [
      ['GET', `/ojs/v1/jobs/${id}`],
      ['DELETE', `/ojs/v1/jobs/${id}`],
      ['POST', `/ojs/v1/jobs/${id}/activate`],
      ['GET', `/ojs/v1/jobs/${id}/events`],
      ['GET', `/ojs/v1/events/stream?channel=job:${id}`],
    ] as const) {
      const { status, body } = await s.ask(method, path, { headers: boris })
      expect([method, path, status, body.error?.code]).toEqual([method, path, 404, 'not_found'])
    }
    expect((await s.get(`/ojs/v1/jobs/${id}`, operator)).body.job.state).toBe('available')
  })

  it('work: each fetches only its own, and cannot report another’s', async () => {
    const [mine, theirs] = [await enqueue(anna, 'work'), await enqueue(boris, 'work')]
    expect(await fetchIds(boris, 'work')).toEqual([theirs])
    expect(await fetchIds(anna, 'work')).toEqual([mine])
    for (const path of ['/ojs/v1/workers/ack', '/ojs/v1/workers/nack']) {
      const { status } = await s.post(path, { job_id: mine, error: { code: 'x', message: 'y' } }, boris)
      expect([path, status]).toEqual([path, 404])
    }
    const beat = await s.post('/ojs/v1/workers/heartbeat', { worker_id: 'spy', active_jobs: [mine] }, boris)
    expect(beat.body.jobs_extended ?? []).toEqual([])
    expect((await s.post('/ojs/v1/workers/ack', { job_id: mine }, anna)).status).toBe(200)
    expect((await s.post('/ojs/v1/workers/ack', { job_id: theirs }, operator)).status).toBe(200)
  })

  it("workflows: those of other tenants are 404, lists contain only the tenant's own", async () => {
    const chain = { type: 'chain', name: 'secret', steps: [{ type: 'test.step', args: [], options: { queue: 'wf' } }] }
    const { id } = (await s.post('/ojs/v1/workflows', chain, anna)).body.workflow
    for (const [method, path] of [
      ['GET', `/ojs/v1/workflows/${id}`],
      ['GET', `/ojs/v1/workflows/${id}/progress`],
      ['DELETE', `/ojs/v1/workflows/${id}`],
      ['POST', `/ojs/v1/workflows/${id}/cancel`],
      ['POST', `/ojs/v1/workflows/${id}/retry`],
      ['GET', `/v1/instances/${id}`],
      ['GET', `/v1/instances/${id}/events`],
      ['GET', `/ojs/v1/events/stream?channel=workflow:${id}`],
    ] as const) {
      expect([method, path, (await s.ask(method, path, { headers: boris })).status]).toEqual([method, path, 404])
    }
    const names = async (path: string, as: As, key: string) => (await s.get(path, as)).body[key].map((w: any) => w.name)
    expect(await names('/ojs/v1/workflows', boris, 'workflows')).toEqual([])
    expect((await s.get('/ojs/v1/workflows', boris)).body.pagination.total).toBe(0)
    expect(await names('/ojs/v1/workflows', anna, 'workflows')).toEqual(['secret'])
    expect(await names('/v1/instances', boris, 'instances')).toEqual([])
    expect(await names('/v1/instances', operator, 'instances')).toEqual(['secret'])
    expect(await fetchIds(boris, 'wf')).toEqual([])
    expect(await fetchIds(anna, 'wf')).toHaveLength(1)
  })

  it('dead letters and cron', async () => {
    const retry = { max_attempts: 1, on_exhaustion: 'dead_letter' }
    const made = await s.post('/ojs/v1/jobs', { type: 'test.dead', args: [], options: { queue: 'dead', retry } }, anna)
    const { id } = made.body.job
    await fetchIds(anna, 'dead')
    await s.post('/ojs/v1/workers/nack', { job_id: id, error: { code: 'x', message: 'y' } }, anna)
    expect((await s.get('/ojs/v1/dead-letter', boris)).body.jobs).toEqual([])
    expect((await s.get('/ojs/v1/dead-letter', anna)).body.jobs).toHaveLength(1)
    expect((await s.post(`/ojs/v1/dead-letter/${id}/retry`, {}, boris)).status).toBe(404)
    expect((await s.ask('DELETE', `/ojs/v1/dead-letter/${id}`, { headers: boris })).status).toBe(404)
    const cron = { name: 'a-nightly', expression: '0 3 * * *', job_template: { type: 'test.cron', args: [] } }
    expect((await s.post('/ojs/v1/cron', cron, anna)).status).toBe(201)
    expect((await s.get('/ojs/v1/cron', boris)).body.crons).toEqual([])
    expect((await s.get('/ojs/v1/cron/a-nightly', boris)).status).toBe(404)
    expect((await s.ask('DELETE', '/ojs/v1/cron/a-nightly', { headers: boris })).status).toBe(404)
  })

  it("events: only the tenant's own, polled and streamed", async () => {
    const stream = new AbortController()
    const response = await fetch(`${s.server.url}/ojs/v1/events`, {
      headers: { ...boris, accept: 'text/event-stream' },
      signal: stream.signal,
    })
    let heard = ''
    const reading = (async () => {
      for await (const chunk of response.body as any) heard += Buffer.from(chunk).toString()
    })().catch(() => {})
    const mine = await enqueue(anna, 'heard')
    const theirs = await enqueue(boris, 'heard')
    await until(
      async () => heard,
      (text) => text.includes(theirs),
    )
    stream.abort()
    await reading
    expect(heard).toContain(theirs)
    expect(heard).not.toContain(mine)
    const polled = async (as: As) =>
      (await s.get('/ojs/v1/events?queues=heard', as)).body.events.map((e: any) => e.subject)
    expect(await polled(boris)).toEqual([theirs])
    expect(await polled(anna)).toEqual([mine])
    expect(await polled(operator)).toEqual([mine, theirs])
  })

  it('what all tenants share is 403 for a key of one', async () => {
    for (const [method, path] of [
      ['GET', '/ojs/v1/queues'],
      ['GET', '/ojs/v1/queues/work/stats'],
      ['POST', '/ojs/v1/queues/work/pause'],
      ['POST', '/ojs/v1/admin/reset'],
      ['GET', '/metrics'],
    ] as const) {
      const { status, body } = await s.ask(method, path, { headers: anna })
      expect([method, path, status, body?.error.code]).toEqual([method, path, 403, 'permission_denied'])
    }
    expect((await s.get('/ojs/v1/queues', operator)).status).toBe(200)
  })

  it('a key of a tenant cannot name another; a key without one can name any', async () => {
    expect((await s.get('/ojs/v1/workflows', { ...anna, 'x-ojs-tenant': 'b' })).status).toBe(403)
    expect((await s.get('/ojs/v1/workflows', { ...anna, 'x-ojs-tenant': 'a' })).status).toBe(200)
    expect((await s.get('/ojs/v1/workflows', { ...operator, 'x-ojs-tenant': 'b' })).body.workflows).toEqual([])
    expect((await s.get('/ojs/v1/workflows', { ...operator, 'x-ojs-tenant': 'a' })).body.workflows).toHaveLength(1)
    expect((await s.get('/ojs/v1/workflows', { ...operator, 'x-ojs-tenant': '!' })).status).toBe(400)
  })

  it('a tenant’s client cannot replace another’s job by its id', async () => {
    const id = '01900000-0000-7000-8000-00000000beef'
    const job = { type: 'test.echo', args: [], id, options: { queue: 'ids' } }
    expect((await s.post('/ojs/v1/jobs', job, anna)).status).toBe(201)
    expect((await s.post('/ojs/v1/jobs', job, boris)).status).toBe(409)
    expect((await s.get(`/ojs/v1/jobs/${id}`, boris)).status).toBe(404)
  })

  it('unique keys of tenants are independent', async () => {
    const job = { type: 'test.unique', args: [7], options: { queue: 'u', unique: { keys: ['type', 'args'] } } }
    expect((await s.post('/ojs/v1/jobs', job, anna)).status).toBe(201)
    expect((await s.post('/ojs/v1/jobs', job, boris)).status).toBe(201)
    expect((await s.post('/ojs/v1/jobs', job, anna)).status).toBe(409)
  })
})

onBothStores('the actor', (stage) => {
  it('is recorded with starts and changes: by key, or as unverified', async () => {
    const s = await stage.serve()
    const key = await keyOf(s, 'carol', null)
    const chain = { type: 'chain', name: 'c', steps: [{ type: 'test.step', args: [] }] }
    const eventsOf = async (id: string) => (await s.get(`/v1/instances/${id}/events`)).body.events
    const verified = (await s.post('/ojs/v1/workflows', chain, key)).body.workflow.id
    await s.ask('DELETE', `/ojs/v1/workflows/${verified}`, { headers: { 'x-petrel-actor': 'dave' } })
    const events = await eventsOf(verified)
    expect((await s.get(`/v1/instances/${verified}`)).body.initiator).toBe('carol')
    expect(events[0]).toMatchObject({ type: 'instance.created', actor: 'carol' })
    expect(JSON.stringify(events)).toContain('dave (unverified)')
    const job = { type: 'test.echo', args: [] }
    const mine = await s.post('/ojs/v1/jobs', job, { 'x-petrel-actor': 'erin' })
    expect(mine.body.job.initiator).toBe('erin (unverified)')
    expect((await s.post('/ojs/v1/jobs', job)).body.job.initiator).toBe(undefined)
  })
})
