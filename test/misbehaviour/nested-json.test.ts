/**
 * Values nested 6,500 levels deep that are already in the database: written before the triggers refused them, or
 * bypassing them. `JSON.stringify` overflows the stack on each. Every reader leaves such a value out and reports it;
 * nothing else stops, and a restart does not bring the fault back. Postgres only: SQLite refuses such text as JSON.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { net, node, run } from '../engine/drive.ts'
import { Receiver } from '../server/ojs/receiver.ts'
import { type Serving, serveOn, until } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { Neighbour } from './neighbour.ts'

const DEEP = `${'['.repeat(6_500)}${']'.repeat(6_500)}`

describe.skipIf(postgresUrl() === null)('JSON nested 6,500 levels deep', { timeout: 120_000 }, () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>
  let serving: Serving
  let client: pg.Client
  let receiver: Receiver

  beforeAll(async () => {
    database = await freshDatabase()
    serving = await serveOn(database.url)
    client = new pg.Client({ connectionString: database.url, options: '-c search_path=workflow' })
    await client.connect()
    receiver = await Receiver.open()
  })
  afterAll(async () => {
    await stop(serving)
    await client.end()
    await database.drop()
  })

  const stop = async ({ server, engine, store }: Serving): Promise<void> => {
    await server.close({ graceMs: 500 })
    await engine.close()
    await store.close()
  }

  /** The state as if no trigger had checked it. */
  async function pastTriggers(text: string, ...values: unknown[]): Promise<void> {
    await client.query('SET session_replication_role = replica')
    await client.query(text, values)
    await client.query('SET session_replication_role = origin')
  }
  const setDeep = (id: string, column: string): Promise<void> =>
    pastTriggers(`UPDATE workflow_run SET ${column} = $2::jsonb WHERE id = $1`, id, DEEP)

  async function enqueue(queue: string, n: number): Promise<string[]> {
    const ids: string[] = []
    for (let i = 0; i < n; i++) {
      const { body } = await serving.post('/ojs/v1/jobs', { type: 'deep.job', args: [i], options: { queue } })
      ids.push(body.job.id)
    }
    return ids
  }
  const fetch = async (queue: string): Promise<readonly any[]> => {
    const reply = await serving.post('/ojs/v1/workers/fetch', { queues: [queue], count: 10, worker_id: 'w' })
    expect(reply.status, reply.text).toBe(200)
    return reply.body.jobs
  }
  const shown = async (id: string) => (await serving.get(`/v1/runs/${id}`)).body.run
  const settled = (id: string) =>
    until(
      async () => (await client.query('SELECT settled_at FROM workflow_run WHERE id = $1', [id])).rows[0],
      (row) => row.settled_at !== null,
    )

  /** Claims a run and ends it by plain SQL, with a deep result. */
  async function succeedDeep(id: string): Promise<void> {
    await client.query('BEGIN')
    await client.query(
      `UPDATE workflow_run SET status = 'leased', leased_by = 'go', lease_until = clock() + interval '1 minute' WHERE id = $1`,
      [id],
    )
    await client.query(`UPDATE workflow_run SET status = 'succeeded', result = '1' WHERE id = $1`, [id])
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(`UPDATE workflow_run SET result = $2::jsonb WHERE id = $1`, [id, DEEP])
    await client.query('COMMIT')
  }

  it('the payload of one job: its neighbours are delivered, and it fails', async () => {
    const ids = await enqueue('payloads', 5)
    await setDeep(ids[1] as string, 'payload')
    const jobs = await fetch('payloads')
    expect(jobs.map(({ id }) => id)).toEqual(ids.filter((_, i) => i !== 1))
    expect(await shown(ids[1] as string)).toMatchObject({ status: 'failed', error: { code: 'unstorable' } })
    const inbox = await enqueue('claimed', 3)
    await setDeep(inbox[0] as string, 'payload')
    const claim = await serving.post('/v1/runs/claim', {
      worker_id: 'w',
      types: ['deep.job'],
      queues: ['claimed'],
      limit: 10,
    })
    expect(claim.body.runs.map(({ id }: { id: string }) => id)).toEqual(inbox.slice(1))
    expect((await shown(inbox[0] as string)).status).toBe('failed')
  })

  it('the payload and the result of rows in lists: the others are shown, and these without them', async () => {
    const ids = await enqueue('listed', 4)
    await setDeep(ids[0] as string, 'payload')
    const { body, status } = await serving.get('/v1/runs?queue=listed')
    // Only inbox runs are listed there; those by OJS are listed as jobs.
    expect([status, Array.isArray(body.runs)]).toEqual([200, true])
    const jobs = await serving.get('/ojs/v1/admin/jobs?queue=listed')
    expect(jobs.status, jobs.text.slice(0, 200)).toBe(200)
    const items = jobs.body.items ?? jobs.body.jobs
    expect(items.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort())
    expect(jobs.text).toContain('"code":"unreadable"')
    expect((await serving.get(`/ojs/v1/jobs/${ids[0]}`)).status).toBe(200)
  })

  it('a run of the inbox in /v1/runs', async () => {
    const made = await serving.post('/v1/runs', { type: 'deep.inbox.v1', payload: {} })
    const other = await serving.post('/v1/runs', { type: 'deep.inbox.v1', payload: { sound: true } })
    await setDeep(made.body.id, 'payload')
    const { status, body } = await serving.get('/v1/runs?type=deep.inbox.v1')
    expect(status).toBe(200)
    const byId = new Map(body.runs.map((row: any) => [row.id, row]))
    expect(byId.get(other.body.id)).toMatchObject({ payload: { sound: true } })
    expect(byId.get(made.body.id)).toMatchObject({ type: 'deep.inbox.v1' })
    expect(JSON.stringify(byId.get(made.body.id))).toContain('unreadable')
  })

  it('a result: events and webhooks refer to it and continue, and the step that would receive it fails', async () => {
    const hook = await serving.post('/ojs/v1/webhooks/subscriptions', {
      url: receiver.url('/deep'),
      events: ['job.completed'],
    })
    expect(hook.status, hook.text).toBe(201)
    const options = { queue: 'chained' }
    const steps = [0, 1].map((i) => ({ type: 'deep.step', args: [i], options }))
    const { id } = (await serving.post('/ojs/v1/workflows', { type: 'chain', steps })).body.workflow
    const before = (await serving.get('/ojs/v1/events?limit=1000')).body.cursor
    const [first] = (await serving.get(`/ojs/v1/workflows/${id}`)).body.workflow.steps.map((step: any) => step.job_id)
    await succeedDeep(first)
    await settled(first)
    // The second step would receive it.
    expect(await fetch('chained')).toEqual([])
    const ended = await until(
      async () => (await serving.get(`/ojs/v1/workflows/${id}`)).body.workflow,
      ({ state }) => state === 'failed',
    )
    expect(ended.state).toBe('failed')
    const [last] = await enqueue('after', 1)
    await fetch('after')
    await serving.post('/ojs/v1/workers/ack', { job_id: last, worker_id: 'w', attempt: 1, result: 'sound' })
    const events = await serving.get(`/ojs/v1/events?limit=1000&after=${before}`)
    expect(events.status).toBe(200)
    const completed = events.body.events.filter(({ type }: { type: string }) => type === 'job.completed')
    expect(completed.map(({ data }: any) => [data.job_id, data.result_ref ?? data.result])).toEqual([
      [first, `/ojs/v1/jobs/${first}`],
      [last, 'sound'],
    ])
    await until(
      async () => receiver.heard.length,
      (n) => n >= 2,
    )
    expect(receiver.heard.map(({ event }) => event.data.job_id)).toEqual([first, last])
  })

  it('the arguments of a step that are rendered from a result: its workflow fails, and names the step', async () => {
    const work = run('second', { args: { given: '{{ results.first }}' } })
    const chained = net([node('first', ['second']), node('second', [], { work })], { dialect: 'dag' })
    const [started] = await serving.engine.start([{ net: chained }])
    const id = started?.id as string
    const [first] = await serving.store.read.instanceRuns({ instanceId: id, limit: 10, after: null })
    await succeedDeep(first?.id as string)
    await until(
      async () => (await serving.store.read.instance(id))?.state,
      (state) => state === 'failed',
    )
    const view = await serving.engine.view(id)
    expect(view).toMatchObject({ instance: { state: 'failed' }, error: { code: 'guard_error', node: 'second' } })
    expect((await serving.get(`/v1/instances/${id}`)).status).toBe(200)
    const stream = await serving.get(`/v1/instances/${id}/events`, { accept: 'text/event-stream' })
    expect(stream.text).toContain('event: end')
  })

  it('the error of a run whose lease expires: it is taken back, and so are its neighbours', async () => {
    const body = { type: 'deep.lease', args: [], options: { queue: 'leased', retry: { max_attempts: 1 } } }
    const ids = []
    for (let i = 0; i < 3; i++) ids.push((await serving.post('/ojs/v1/jobs', body)).body.job.id as string)
    const asked = { queues: ['leased'], count: 10, worker_id: 'w', visibility_timeout_ms: 300 }
    expect((await serving.post('/ojs/v1/workers/fetch', asked)).body.jobs).toHaveLength(3)
    for (const column of ['error', 'payload']) await setDeep(ids[0] as string, column)
    for (const id of ids) {
      const row = await until(
        () => shown(id),
        ({ status }) => status === 'failed',
      )
      expect(row.status).toBe('failed')
    }
  })

  it('the data of an event', async () => {
    const [id] = await enqueue('events', 1)
    const text = `INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ($1, 'succeeded', $2::jsonb)`
    await pastTriggers(text, id, `{"error":${DEEP}}`)
    const events = await serving.get('/ojs/v1/events?limit=1000')
    expect(events.status).toBe(200)
    const recorded = events.body.events.filter(({ subject }: { subject: string }) => subject === id)
    expect(recorded.map(({ type }: { type: string }) => type)).toEqual(['job.enqueued', 'system.unreadable_event'])
    expect((await serving.get(`/v1/runs/${id}/events`)).status).toBe(200)
  })

  it('with all of these, and after a restart, a well-behaved tenant is unaffected', async () => {
    await stop(serving)
    serving = await serveOn(database.url)
    const neighbour = await Neighbour.of(serving)
    await neighbour.calm(4)
    await neighbour.beside(async () => {
      for (let round = 0; round < 5; round++) {
        const [id, done] = await enqueue('beside', 2)
        await setDeep(id as string, 'payload')
        await succeedDeep(done as string)
        await fetch('beside')
        for (const path of ['/v1/runs', '/ojs/v1/admin/jobs', '/ojs/v1/events?limit=1000', '/v1/instances']) {
          expect((await serving.get(path)).status).toBe(200)
        }
      }
    })
    await neighbour.expectUnaffected()
    expect(await serving.store.read.doctor()).toEqual([])
    expect((await serving.get('/metrics')).text).toMatch(/petrel_contained_faults_total\{code="undeliverable"\} [1-9]/)
  })
})
