/** Backpressure, rate limits, schemas and versions: which requests are refused, and which are accepted. */
import { beforeAll, expect, it } from 'vitest'
import { makeKey } from '../../../src/operations/keys/api-key.ts'
import { openStore } from '../../../src/store/open.ts'
import { onBothStores, type Serving } from '../serving.ts'

onBothStores('limits', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  const put = (path: string, body: unknown) => s.ask('PUT', path, { body })
  const push = (queue: string, more: object = {}) =>
    s.post('/ojs/v1/jobs', { type: 'test.limit', args: [1], options: { queue }, ...more })
  const bound = async (queue: string, backpressure: object | null): Promise<void> => {
    expect((await put(`/ojs/v1/admin/queues/${queue}/config`, { backpressure })).status).toBe(200)
  }

  it('a full queue refuses with 429 and reports how full it is; it accepts jobs again when some have ended', async () => {
    await bound('bp', { max_depth: 2, strategy: 'reject' })
    expect((await push('bp')).status).toBe(201)
    expect((await push('bp')).status).toBe(201)
    const full = await push('bp')
    expect([full.status, full.body.error.code, full.body.error.retryable]).toEqual([429, 'QUEUE_FULL', true])
    expect(full.headers.get('retry-after')).toBe('1')
    expect(full.headers.get('x-ojs-queue-depth')).toBe('2')
    expect(full.headers.get('x-ojs-queue-bound')).toBe('2')
    const [job] = (await s.post('/ojs/v1/workers/fetch', { queues: ['bp'] })).body.jobs
    await s.post('/ojs/v1/workers/ack', { job_id: job.id })
    await expect.poll(async () => (await push('bp')).status).toBe(201)
    expect((await s.get('/ojs/v1/queues/bp/stats')).body.stats.depth).toBe(2)
    await bound('bp', null)
    expect((await push('bp')).status).toBe(201)
  })

  it('accepts a batch completely or not at all', async () => {
    await bound('bp-batch', { max_depth: 5 })
    const batch = (n: number) => ({
      jobs: Array.from({ length: n }, (_, i) => ({ type: 'test.limit', args: [i], options: { queue: 'bp-batch' } })),
    })
    expect((await s.post('/ojs/v1/jobs/batch', batch(6))).status).toBe(429)
    expect((await s.get('/ojs/v1/admin/jobs?queue=bp-batch')).body.pagination.total).toBe(0)
    expect((await s.post('/ojs/v1/jobs/batch', batch(5))).status).toBe(201)
  })

  it('never exceeds the bound on one server, under any concurrency', async () => {
    await bound('bp-race', { max_depth: 10 })
    const replies = await Promise.all(Array.from({ length: 60 }, () => push('bp-race')))
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(10)
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(50)
    expect((await s.get('/ojs/v1/admin/jobs?queue=bp-race')).body.pagination.total).toBe(10)
  })

  it('reports the pressure before it refuses', async () => {
    await bound('bp-warn', { max_depth: 10, warning_threshold: 0.5 })
    for (let i = 1; i <= 6; i++) {
      const { headers } = await push('bp-warn')
      expect([i, headers.get('x-ojs-queue-pressure')]).toEqual([i, i < 5 ? null : String(i / 10)])
    }
  })

  it('configures limits of a queue; omitted ones stay, invalid ones change nothing', async () => {
    const path = '/ojs/v1/admin/queues/cfg/config'
    await put(path, { concurrency: 1, backpressure: { max_depth: 100 } })
    const read = async () => (await s.get(path)).body.configuration
    expect(await read()).toMatchObject({ concurrency: 1, backpressure: { max_depth: 100, strategy: 'reject' } })
    await put(path, { rate_limit: { limit: 10, period: 'PT1M' } })
    expect(await read()).toMatchObject({ concurrency: 1, rate_limit: { limit: 10, period: 'PT1M' } })
    for (const bad of [
      { concurrency: -1 },
      { retain: {} },
      { backpressure: { strategy: 'drop_oldest', max_depth: 1 } },
      { backpressure: {} },
      { rate_limit: { limit: 1 } },
    ]) {
      expect([bad, (await put(path, bad)).status]).toEqual([bad, 400])
    }
    expect(await read()).toMatchObject({ concurrency: 1, rate_limit: { limit: 10 }, backpressure: { max_depth: 100 } })
    await Promise.all([push('cfg'), push('cfg')])
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['cfg'], count: 2 })).body.jobs).toHaveLength(1)
    expect((await put('/ojs/v1/admin/queues/Not%20A%20Queue/config', {})).status).toBe(400)
  })

  it('limits jobs by their key: concurrency and rate, shown in headers and under /rate-limits', async () => {
    const job = (key: string, more: object) => ({
      type: 'test.limit',
      args: [],
      options: { queue: `rl-${key}`, rate_limit: { key, ...more } },
    })
    const first = await s.post('/ojs/v1/jobs', job('api', { concurrency: 1 }))
    expect(first.headers.get('x-ratelimit-limit')).toBe('1')
    await s.post('/ojs/v1/jobs', job('api', { concurrency: 1 }))
    const taken = await s.post('/ojs/v1/workers/fetch', { queues: ['rl-api'], count: 2 })
    expect(taken.body.jobs).toHaveLength(1)
    expect((await s.get('/ojs/v1/rate-limits/api')).body).toMatchObject({ key: 'api', concurrency: 1, active: 1 })
    await s.post('/ojs/v1/workers/ack', { job_id: taken.body.jobs[0].id })
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['rl-api'], count: 2 })).body.jobs).toHaveLength(1)

    for (let i = 0; i < 3; i++) await s.post('/ojs/v1/jobs', job('rate', { rate: 2, period: 'minute' }))
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['rl-rate'], count: 3 })).body.jobs).toHaveLength(2)
    expect((await s.get('/ojs/v1/rate-limits/rate')).body).toMatchObject({
      limit: 2,
      period: 'PT1M',
      used: 2,
      remaining: 0,
    })
    expect((await s.get('/ojs/v1/rate-limits')).body.items.map(({ key }: any) => key)).toEqual(
      expect.arrayContaining(['api', 'rate']),
    )
    expect((await s.get('/ojs/v1/rate-limits/nobody')).status).toBe(404)
  })

  it('registers schemas once, finds the newest, deletes', async () => {
    const path = '/ojs/v1/admin/schemas/order.process'
    const schema = { type: 'array', items: [{ type: 'string' }], minItems: 1 }
    expect((await put(`${path}/1`, { schema })).body).toMatchObject({ type: 'order.process', version: 1, schema })
    expect((await put(`${path}/2`, { schema: { type: 'array' } })).status).toBe(201)
    expect((await put(`${path}/10`, { schema: { type: 'array' } })).status).toBe(201)
    expect((await put(`${path}/1`, { schema: { type: 'array' } })).status).toBe(409)
    expect((await s.get(path)).body.version).toBe(10)
    expect((await s.get(`${path}/1`)).body.schema.minItems).toBe(1)
    expect((await s.get(`${path}/versions`)).body.versions.map(({ version }: any) => version)).toEqual([1, 2, 10])
    expect((await s.ask('DELETE', `${path}/10`)).status).toBe(200)
    expect((await s.ask('DELETE', `${path}/10`)).status).toBe(404)
    expect((await s.get(path)).body.version).toBe(2)
    expect((await s.get('/ojs/v1/admin/schemas/nobody.here')).status).toBe(404)
    for (const body of [
      {},
      { schema: 7 },
      { schema: { type: 'nonsense' } },
      { schema: { $ref: 'https://example.com/x.json' } },
    ]) {
      expect([body, (await put(`${path}/3`, body)).status]).toEqual([body, 400])
    }
    expect((await put('/ojs/v1/admin/schemas/order.process/next', { schema })).status).toBe(400)
    const uri = 'urn:ojs:schema:mail.send:v1'
    const posted = await s.post('/ojs/v1/schemas', { uri, type: 'mail.send', version: 1, schema })
    expect([posted.status, posted.body.schema.uri]).toEqual([201, uri])
    expect((await s.get(`/ojs/v1/schemas/${encodeURIComponent(uri)}`)).body.schema.type).toBe('mail.send')
    expect((await s.get('/ojs/v1/schemas')).body.schemas.length).toBeGreaterThanOrEqual(3)
    expect((await s.ask('DELETE', `/ojs/v1/schemas/${encodeURIComponent(uri)}`)).body).toMatchObject({
      deleted: true,
      uri,
    })
  })

  it('checks the arguments of jobs that name a registered schema, and only theirs', async () => {
    const uri = 'urn:ojs:schema:mail.check:v1'
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'array',
      prefixItems: [{ type: 'string' }, { type: 'object', required: ['subject'] }],
      minItems: 2,
    }
    await s.post('/ojs/v1/schemas', { uri, type: 'mail.check', version: 1, schema })
    const job = (args: unknown[]) => ({ type: 'mail.check', args, schema: uri, options: { queue: 'sc' } })
    const good = await s.post('/ojs/v1/jobs', job(['a@example.com', { subject: 's' }]))
    expect([good.status, good.body.job.schema]).toEqual([201, uri])
    const bad = await s.post('/ojs/v1/jobs', job(['a@example.com', {}]))
    expect([bad.status, bad.body.error.code]).toEqual([400, 'schema_validation'])
    expect(bad.body.error.details.validation_errors[0].path).toBe('args.1')
    const batch = await s.post('/ojs/v1/jobs/batch', { jobs: [job(['x', { subject: '' }]), job([])] })
    expect([batch.status, batch.body.error.details.validation_errors[0].path]).toEqual([400, 'jobs.1.args'])
    expect((await s.get('/ojs/v1/admin/jobs?queue=sc')).body.pagination.total).toBe(1)
    const unknown = {
      type: 'mail.check',
      args: [],
      schema: 'https://example.com/unknown.json',
      options: { queue: 'sc2' },
    }
    expect((await s.post('/ojs/v1/jobs', unknown)).status).toBe(201)
    await put('/ojs/v1/admin/schemas/mail.object/1', { schema: { type: 'object', required: ['to'] } })
    const first = (args: unknown[]) =>
      s.post('/ojs/v1/jobs', { type: 'mail.object', args, schema: 'urn:ojs:schema:mail.object:v1' })
    expect((await first([{ to: 'x' }])).status).toBe(201)
    expect((await first([{}])).status).toBe(400)
  })

  it('keeps versions and all unknown attributes', async () => {
    const job = {
      type: 'agent.run',
      args: ['x'],
      version: 3,
      ext_agent_model: { provider: 'p', model: 'm', fallback: ['a', 'b'] },
      ext_agent_token_budget: 4096,
      ext_ml_gpu: { type: 'a100', count: 2 },
      traceparent: '00-abc-def-01',
      options: { queue: 'env' },
    }
    const made = await s.post('/ojs/v1/jobs', job)
    const { options: _, args, ...kept } = job
    expect(made.body.job).toMatchObject({ ...kept, args })
    const [taken] = (await s.post('/ojs/v1/workers/fetch', { queues: ['env'], worker_id: 'w' })).body.jobs
    expect(taken).toMatchObject(kept)
    expect((await s.post(`/ojs/v1/jobs/${taken.id}/ack`, { worker_id: 'w' })).body.job.state).toBe('completed')
    expect((await s.get(`/ojs/v1/jobs/${taken.id}`)).body.job).toMatchObject({ ...kept, state: 'completed' })
    const failing = await s.post('/ojs/v1/jobs', { ...job, options: { queue: 'env2', retry: { max_attempts: 1 } } })
    await s.post('/ojs/v1/workers/fetch', { queues: ['env2'] })
    const nack = await s.post(`/ojs/v1/jobs/${failing.body.id}/nack`, { error: { code: 'x', message: 'y' } })
    expect(nack.body.job).toMatchObject({ ...kept, state: 'discarded' })
  })

  it('refuses a job without the arguments that its schema requires', async () => {
    const refused = await s.post('/ojs/v1/jobs', { type: 'test.validate', args: [], meta: { ojs_validate: true } })
    expect([refused.status, refused.body.error.code]).toEqual([422, 'validation_error'])
    expect(
      (await s.post('/ojs/v1/jobs', { type: 'test.validate', args: [1], meta: { ojs_validate: true } })).status,
    ).toBe(201)
  })
})

onBothStores('scopes of extensions', (stage) => {
  it('require the matching scope: work for workers, admin for settings of the whole server', async () => {
    const keys = await makeKeys(await stage.url())
    const s = await stage.serve({ auth: 'required' })
    const as = (scope: string) => ({ authorization: `Bearer ${keys.get(scope)}` })
    const ask = async (scope: string, method: string, path: string, body?: object) =>
      (await s.ask(method, path, { headers: as(scope), ...(body === undefined ? {} : { body }) })).status
    const { body } = await s.post('/ojs/v1/jobs', { type: 'test.scope', args: [] }, as('enqueue'))
    const checkpoint = `/ojs/v1/jobs/${body.id}/checkpoint`
    expect(await ask('enqueue', 'PUT', checkpoint, { state: 1 })).toBe(403)
    expect(await ask('work', 'PUT', checkpoint, { state: 1 })).toBe(200)
    expect(await ask('read', 'GET', checkpoint)).toBe(200)
    expect(await ask('enqueue', 'POST', `/ojs/v1/jobs/${body.id}/ack`, {})).toBe(403)
    expect(await ask('read', 'GET', '/ojs/v1/webhooks/subscriptions')).toBe(403)
    expect(await ask('admin', 'GET', '/ojs/v1/webhooks/subscriptions')).toBe(200)
    expect(await ask('enqueue', 'POST', '/ojs/v1/admin/jobs/bulk/cancel', { confirm: true })).toBe(403)
    expect(await ask('work', 'POST', '/ojs/v1/schemas', {})).toBe(403)
    expect(await ask('read', 'PUT', '/ojs/v1/admin/queues/x/config', {})).toBe(403)
    expect(await ask('tenant', 'GET', '/ojs/v1/admin/stats')).toBe(403)
    expect(await ask('tenant', 'GET', '/ojs/v1/webhooks/subscriptions')).toBe(200)
  })
})

/** One key for each scope, and one bound to a tenant. They must exist before the server starts. */
async function makeKeys(url: string): Promise<ReadonlyMap<string, string>> {
  const store = await openStore(url)
  await store.migrate()
  const keys = new Map<string, string>()
  for (const name of ['read', 'enqueue', 'work', 'admin', 'tenant']) {
    const { id, hash, text } = makeKey()
    const bound = name === 'tenant'
    await store.keys.add({
      id,
      hash,
      subject: name,
      scopes: [bound ? 'admin' : name],
      roles: [],
      tenant: bound ? 'acme' : null,
      createdAt: Date.now(),
      expiresAt: null,
      revokedAt: null,
    })
    keys.set(name, text)
  }
  await store.close()
  return keys
}
