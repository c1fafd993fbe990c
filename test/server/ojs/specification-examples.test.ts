/** Every example of the workflow specification, by its section, executed with the trace it gives. */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { type Any, Flow, MOMENT, states, UUID7 } from './flow.ts'

const QUEUES = [
  'default',
  'orders',
  'payments',
  'inventory',
  'notifications',
  'exports',
  'reporting',
  'alerts',
  'email',
]

const ORDER_STEPS = [
  { type: 'order.validate', args: [{ order_id: 'ord_123' }] },
  { type: 'payment.charge', args: [] },
  { type: 'inventory.reserve', args: [] },
  { type: 'notification.send', args: [] },
]
const ID = expect.stringMatching(UUID7)
const AT = expect.stringMatching(MOMENT)

onBothStores('the examples of the OJS workflow specification', (stage) => {
  let s: Serving
  let f: Flow
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
    f = new Flow(s, QUEUES)
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  /** Fetches the next job, which must have this type and these parent results, and acknowledges it. */
  const next = async (type: string, given: object, result: unknown): Promise<Any> => {
    const fetched = await f.fetchOne(type)
    expect(fetched.workflow.parent_results).toEqual(given)
    expect(fetched.parent_results).toEqual(Object.values(given))
    await f.ack(fetched, result)
    return fetched
  }
  /** Fails for good, however many attempts its policy has. */
  const failForGood = async (job: Any, error = {}, more = {}): Promise<void> => {
    await f.nack(job, { retryable: false, ...error }, more)
  }

  it('3.2 a job envelope inside a workflow', async () => {
    const envelope = {
      type: 'email.send',
      args: ['user@example.com', 'welcome'],
      options: { queue: 'email', retry: { max_attempts: 3 } },
    }
    for (const body of [
      { type: 'chain', steps: [envelope] },
      { type: 'group', jobs: [envelope] },
      { type: 'batch', jobs: [envelope], callbacks: { on_complete: envelope } },
    ]) {
      await f.create(body)
      const job = await f.fetchOne('email.send')
      expect(job).toMatchObject({ args: ['user@example.com', 'welcome'], queue: 'email', max_attempts: 3 })
      await f.ack(job)
      await f.work()
    }
  })

  it('4.1 the schema of a chain', async () => {
    const created = await f.create({
      type: 'chain',
      id: 'wf_019539a4-chain-example',
      name: 'order-processing',
      steps: ORDER_STEPS,
    })
    expect(created).toMatchObject({ id: 'wf_019539a4-chain-example', type: 'chain', name: 'order-processing' })
    expect(await f.work()).toEqual(ORDER_STEPS.map((step) => step.type))
    expect((await f.get('wf_019539a4-chain-example')).state).toBe('completed')
  })

  it('5.1 the schema of a group', async () => {
    await f.create({
      type: 'group',
      id: 'wf_019539a4-group-example',
      name: 'multi-format-export',
      jobs: [
        { type: 'export.csv', args: [{ report_id: 'rpt_456' }] },
        { type: 'export.pdf', args: [{ report_id: 'rpt_456' }] },
        { type: 'export.xlsx', args: [{ report_id: 'rpt_456' }] },
      ],
    })
    const jobs = await f.fetch()
    expect(jobs.map((job) => job.type).sort()).toEqual(['export.csv', 'export.pdf', 'export.xlsx'])
    for (const job of jobs) {
      expect(job.args).toEqual([{ report_id: 'rpt_456' }])
      await f.ack(job)
    }
    expect(await f.get('wf_019539a4-group-example')).toMatchObject({ state: 'completed', jobs_completed: 3 })
  })

  const EMAILS = [1, 2, 3].map((n) => ({ type: 'email.send', args: [`user${n}@example.com`, 'welcome'] }))

  it('6.1 the schema of a batch', async () => {
    const created = await f.create({
      type: 'batch',
      id: 'wf_019539a4-batch-example',
      name: 'bulk-email-send',
      jobs: EMAILS,
      callbacks: {
        on_complete: { type: 'batch.report', args: [] },
        on_success: { type: 'batch.celebrate', args: [] },
        on_failure: { type: 'batch.alert', args: [] },
      },
    })
    expect(Object.keys(created.callbacks)).toEqual(['on_complete', 'on_success', 'on_failure'])
    expect((await f.work()).slice(3).sort()).toEqual(['batch.celebrate', 'batch.report'])
    expect((await f.get('wf_019539a4-batch-example')).state).toBe('completed')
  })

  it('7.2 data passing in a chain of three', async () => {
    await f.create({ type: 'chain', steps: ORDER_STEPS.slice(0, 3) })
    const order = { order: { id: 'ord_123', total: 99.99 } }
    const charge = { charge_id: 'ch_abc', amount: 99.99 }
    await next('order.validate', {}, order)
    await next('payment.charge', { 0: order }, charge)
    await next('inventory.reserve', { 0: order, 1: charge }, null)
  })

  it('7.3 a group as a step of a chain', async () => {
    await f.create({
      type: 'chain',
      steps: [
        { type: 'report.make', args: [] },
        { type: 'group', jobs: ['csv', 'pdf', 'xlsx'].map((format) => ({ type: `export.${format}`, args: [] })) },
        { type: 'report.send', args: [] },
      ],
    })
    await next('report.make', {}, { report_id: 'rpt_456' })
    for (const job of await f.fetch()) {
      expect(job.workflow.parent_results).toEqual({ 0: { report_id: 'rpt_456' } })
      await f.ack(job, { path: `/exports/rpt_456.${job.type.split('.')[1]}` })
    }
    await next(
      'report.send',
      {
        0: { report_id: 'rpt_456' },
        1: {
          0: { path: '/exports/rpt_456.csv' },
          1: { path: '/exports/rpt_456.pdf' },
          2: { path: '/exports/rpt_456.xlsx' },
        },
      },
      null,
    )
  })

  it('7.4 callbacks get the results of all jobs, including the bounced one', async () => {
    await f.create({
      type: 'batch',
      jobs: EMAILS,
      callbacks: { on_complete: { type: 'batch.report', args: [] }, on_failure: { type: 'batch.alert', args: [] } },
    })
    const jobs = await f.fetch()
    const to = (n: number): Any => jobs.find((job) => job.args[0] === `user${n}@example.com`)
    const results = [
      { message_id: 'msg_001', status: 'sent' },
      { message_id: 'msg_002', status: 'sent' },
      { message_id: null, status: 'bounced' },
    ]
    await f.ack(to(1), results[0])
    await f.ack(to(2), results[1])
    await failForGood(to(3), { code: 'bounced' }, { result: results[2] })
    const callbacks = await f.fetch()
    expect(callbacks.map((job) => job.workflow.callback).sort()).toEqual(['on_complete', 'on_failure'])
    for (const job of callbacks) {
      expect(job.workflow.parent_results).toEqual({ 0: results[0], 1: results[1], 2: results[2] })
      expect(job.parent_results).toEqual(results)
    }
  })

  it('7.5 a result by reference', async () => {
    const reference = {
      result_ref: 's3://my-bucket/results/job_019539a4.json',
      result_size_bytes: 15728640,
      result_content_type: 'application/json',
    }
    await f.create({ type: 'chain', steps: ORDER_STEPS.slice(0, 2) })
    await next('order.validate', {}, reference)
    await next('payment.charge', { 0: reference }, null)
  })

  it('10.3 a group inside a chain', async () => {
    const created = await f.create({
      type: 'chain',
      id: 'wf_019539a4-nested-example',
      name: 'etl-pipeline',
      steps: [
        { type: 'data.extract', args: [{ source: 'api.example.com/v2/records' }] },
        {
          type: 'group',
          id: 'wf_019539a4-transform-group',
          name: 'parallel-transforms',
          jobs: [
            { type: 'transform.csv', args: [] },
            { type: 'transform.parquet', args: [] },
            { type: 'transform.json', args: [] },
          ],
        },
        { type: 'data.load', args: [{ destination: 'warehouse' }] },
      ],
    })
    expect(created.metadata.job_count).toBe(5)
    await next('data.extract', {}, { raw: 's3://raw' })
    const transforms = await f.fetch()
    expect(transforms).toHaveLength(3)
    for (const job of transforms) {
      expect(job.parent_results).toEqual([{ raw: 's3://raw' }])
      expect(job.workflow_id).toBe('wf_019539a4-transform-group')
      expect(await f.fetch()).toEqual([])
      await f.ack(job, job.type)
    }
    expect(await f.get('wf_019539a4-transform-group')).toMatchObject({
      state: 'completed',
      name: 'parallel-transforms',
    })
    const given = { 0: { raw: 's3://raw' }, 1: { 0: 'transform.csv', 1: 'transform.parquet', 2: 'transform.json' } }
    await next('data.load', given, null)
    expect((await f.get('wf_019539a4-nested-example')).state).toBe('completed')
  })

  it('11.1 create: request, response and validation error', async () => {
    const { status, body } = await f.post({ type: 'chain', name: 'order-processing', steps: ORDER_STEPS })
    expect(status).toBe(201)
    expect(body.workflow).toMatchObject({
      id: ID,
      type: 'chain',
      name: 'order-processing',
      state: 'running',
      steps: [
        { index: 0, type: 'order.validate', state: 'pending', job_id: ID },
        { index: 1, type: 'payment.charge', state: 'waiting', job_id: null },
        { index: 2, type: 'inventory.reserve', state: 'waiting', job_id: null },
        { index: 3, type: 'notification.send', state: 'waiting', job_id: null },
      ],
      metadata: { created_at: AT, job_count: 4, completed_count: 0, failed_count: 0 },
    })
    expect(body.workflow.metadata.started_at).toBeUndefined()
    const refused = await f.post({ type: 'chain', steps: [] })
    expect(refused.status).toBe(400)
    expect(refused.body).toMatchObject({
      error: {
        code: 'invalid_workflow',
        message: 'Workflow validation failed',
        details: {
          validation_errors: [{ path: '$.steps', message: 'steps array must contain at least one element' }],
        },
      },
    })
  })

  it('11.2 get: response and not found', async () => {
    const { id } = await f.create({ type: 'chain', name: 'order-processing', steps: ORDER_STEPS })
    await next('order.validate', {}, { valid: true, total: 99.99 })
    await f.fetchOne('payment.charge')
    const reply = await s.get(`/ojs/v1/workflows/${id}`)
    expect(reply.status).toBe(200)
    expect(reply.body.workflow).toMatchObject({
      id,
      type: 'chain',
      name: 'order-processing',
      state: 'running',
      steps: [
        {
          index: 0,
          type: 'order.validate',
          state: 'completed',
          job_id: ID,
          result: { valid: true, total: 99.99 },
          started_at: AT,
          completed_at: AT,
        },
        { index: 1, type: 'payment.charge', state: 'active', job_id: ID, started_at: AT },
        { index: 2, type: 'inventory.reserve', state: 'waiting', job_id: null },
        { index: 3, type: 'notification.send', state: 'waiting', job_id: null },
      ],
      metadata: { created_at: AT, started_at: AT, job_count: 4, completed_count: 1, failed_count: 0 },
    })
    expect(reply.body.workflow.steps[1].completed_at).toBeUndefined()
    const missing = await s.get('/ojs/v1/workflows/wf_nonexistent')
    expect(missing.status).toBe(404)
    expect(missing.body).toMatchObject({
      error: { code: 'not_found', message: 'Workflow wf_nonexistent not found' },
    })
  })

  it('11.3 cancel: response and conflict', async () => {
    const { id } = await f.create({ type: 'chain', name: 'order-processing', steps: ORDER_STEPS })
    await f.ack(await f.fetchOne('order.validate'))
    await f.ack(await f.fetchOne('payment.charge'))
    const { status, body } = await f.delete(id)
    expect(status).toBe(200)
    expect(body.workflow).toMatchObject({
      id,
      state: 'cancelled',
      metadata: { cancelled_at: AT, completed_count: 2, failed_count: 0 },
    })
    expect(states(body.workflow)).toEqual(['completed', 'completed', 'cancelled', 'cancelled'])
    const done = await f.create({ type: 'chain', steps: ORDER_STEPS })
    await f.work()
    const refused = await f.delete(done.id)
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({
      error: { code: 'conflict', message: `Workflow ${done.id} is already in terminal state 'completed'` },
    })
  })

  it('12.1 chain: order processing pipeline', async () => {
    await f.create({
      type: 'chain',
      id: 'wf_019539a4-chain-example',
      name: 'order-processing',
      steps: [
        {
          type: 'order.validate',
          args: [{ order_id: 'ord_123' }],
          options: { queue: 'orders', retry: { max_attempts: 3, backoff: 'exponential', base_delay_ms: 1000 } },
        },
        {
          type: 'payment.charge',
          args: [],
          options: {
            queue: 'payments',
            timeout_ms: 30000,
            retry: { max_attempts: 5, backoff: 'exponential', base_delay_ms: 2000 },
          },
        },
        { type: 'inventory.reserve', args: [], options: { queue: 'inventory', retry: { max_attempts: 3 } } },
        { type: 'notification.send', args: [], options: { queue: 'notifications', retry: { max_attempts: 2 } } },
      ],
    })
    const validated = { order_id: 'ord_123', total: 99.99, currency: 'USD', items: 3 }
    const charged = { charge_id: 'ch_abc123', amount: 99.99 }
    const reserved = { reservation_id: 'res_xyz', items_reserved: 3 }
    const first = await next('order.validate', {}, validated)
    expect(first).toMatchObject({ args: [{ order_id: 'ord_123' }], queue: 'orders', max_attempts: 3 })
    expect(first.retry).toMatchObject({ max_attempts: 3, initial_interval: 'PT1S' })
    const second = await next('payment.charge', { 0: validated }, charged)
    expect(second).toMatchObject({ queue: 'payments', timeout_ms: 30000, max_attempts: 5 })
    expect(second.retry).toMatchObject({ initial_interval: 'PT2S' })
    const third = await next('inventory.reserve', { 0: validated, 1: charged }, reserved)
    expect(third).toMatchObject({ queue: 'inventory', max_attempts: 3 })
    const fourth = await next(
      'notification.send',
      { 0: validated, 1: charged, 2: reserved },
      { notification_id: 'notif_001', channel: 'email' },
    )
    expect(fourth).toMatchObject({ queue: 'notifications', max_attempts: 2 })
    const ended = await f.get('wf_019539a4-chain-example')
    expect(ended).toMatchObject({ state: 'completed', metadata: { completed_count: 4, failed_count: 0 } })
    expect(ended.steps.at(-1).result).toEqual({ notification_id: 'notif_001', channel: 'email' })
  })

  const EXPORT = {
    type: 'group',
    id: 'wf_019539a4-group-example',
    name: 'multi-format-export',
    jobs: [
      { type: 'export.csv', args: [{ report_id: 'rpt_456' }], options: { queue: 'exports', timeout_ms: 60000 } },
      { type: 'export.pdf', args: [{ report_id: 'rpt_456' }], options: { queue: 'exports', timeout_ms: 120000 } },
      { type: 'export.xlsx', args: [{ report_id: 'rpt_456' }], options: { queue: 'exports', timeout_ms: 90000 } },
    ],
  }
  const EXPORTED: Any = {
    'export.csv': { path: 's3://exports/rpt_456.csv', size_bytes: 1048576 },
    'export.pdf': { path: 's3://exports/rpt_456.pdf', size_bytes: 2097152 },
    'export.xlsx': { path: 's3://exports/rpt_456.xlsx', size_bytes: 1572864 },
  }

  it('12.2 group: multi-format export', async () => {
    await f.create(EXPORT)
    const jobs = await f.fetch()
    expect(jobs.map((job) => [job.type, job.queue, job.timeout_ms]).sort()).toEqual([
      ['export.csv', 'exports', 60000],
      ['export.pdf', 'exports', 120000],
      ['export.xlsx', 'exports', 90000],
    ])
    for (const job of jobs) {
      expect((await f.get(EXPORT.id)).state).toBe('running')
      await f.ack(job, EXPORTED[job.type])
    }
    const ended = await f.get(EXPORT.id)
    expect(ended.state).toBe('completed')
    expect(ended.jobs.map((job: Any) => job.result)).toEqual(Object.values(EXPORTED))
  })

  it('12.2 group: the PDF fails, the others continue, and the group fails when all have finished', async () => {
    await f.create(EXPORT)
    const jobs = await f.fetch()
    const by = (type: string): Any => jobs.find((job) => job.type === type)
    await failForGood(by('export.pdf'))
    expect((await f.get(EXPORT.id)).state).toBe('running')
    await f.ack(by('export.csv'), EXPORTED['export.csv'])
    expect((await f.get(EXPORT.id)).state).toBe('running')
    await f.ack(by('export.xlsx'), EXPORTED['export.xlsx'])
    expect(states(await f.get(EXPORT.id))).toEqual(['completed', 'failed', 'completed'])
    expect((await f.get(EXPORT.id)).state).toBe('failed')
  })

  const CAMPAIGN = {
    type: 'batch',
    id: 'wf_019539a4-batch-example',
    name: 'bulk-email-send',
    jobs: EMAILS,
    callbacks: {
      on_complete: { type: 'batch.report', args: [], options: { queue: 'reporting' } },
      on_success: { type: 'batch.celebrate', args: [], options: { queue: 'notifications' } },
      on_failure: { type: 'batch.alert', args: [], options: { queue: 'alerts', retry: { max_attempts: 5 } } },
    },
  }

  it('12.3 A batch: all emails succeed', async () => {
    await f.create(CAMPAIGN)
    const jobs = await f.fetch()
    for (const job of jobs) await f.ack(job, { to: job.args[0] })
    const results = EMAILS.map(({ args }) => ({ to: args[0] }))
    const callbacks = await f.fetch()
    expect(callbacks.map((job) => [job.type, job.queue]).sort()).toEqual([
      ['batch.celebrate', 'notifications'],
      ['batch.report', 'reporting'],
    ])
    expect((await f.get(CAMPAIGN.id)).state).toBe('running')
    for (const job of callbacks) {
      expect(job.parent_results).toEqual(results)
      await f.ack(job)
    }
    expect(await f.fetch()).toEqual([])
    expect(await f.get(CAMPAIGN.id)).toMatchObject({ state: 'completed', metadata: { failed_count: 0 } })
  })

  it('12.3 B batch: one email fails', async () => {
    await f.create(CAMPAIGN)
    const jobs = await f.fetch()
    const to = (n: number): Any => jobs.find((job) => job.args[0] === `user${n}@example.com`)
    await f.ack(to(1), 'sent 1')
    await f.ack(to(2), 'sent 2')
    // Its policy allows three attempts: only the last failure counts.
    let third = to(3)
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect(third.attempt).toBe(attempt)
      await f.nack(third, { code: 'bounced', message: 'no such box' })
      if (attempt === 3) break
      expect(await f.fetch()).toEqual([])
      await s.store.moveClock(attempt * 600_000)
      third = await f.fetchOne('email.send')
    }
    const failed = { state: 'failed', error: { job_id: third.id, code: 'bounced', message: 'no such box', attempt: 3 } }
    const callbacks = await f.fetch()
    expect(callbacks.map((job) => [job.type, job.queue, job.max_attempts]).sort()).toEqual([
      ['batch.alert', 'alerts', 5],
      ['batch.report', 'reporting', 3],
    ])
    for (const job of callbacks) {
      expect(job.parent_results).toEqual(['sent 1', 'sent 2', failed])
      await f.ack(job)
    }
    expect(await f.fetch()).toEqual([])
    expect(await f.get(CAMPAIGN.id)).toMatchObject({
      state: 'completed',
      metadata: { completed_count: 2, failed_count: 1, failed_job_ids: [third.id] },
    })
  })

  it('12.4 composed: ETL pipeline with fan-out', async () => {
    await f.create({
      type: 'chain',
      id: 'wf_019539a4-composed-example',
      name: 'etl-with-fanout',
      steps: [
        { type: 'data.extract', args: [{ source: 'api.example.com/v2/records', date: '2026-02-12' }] },
        {
          type: 'group',
          id: 'wf_019539a4-transform-group',
          name: 'parallel-transforms',
          jobs: [
            { type: 'transform.normalize', args: [{ schema: 'v2' }] },
            { type: 'transform.enrich', args: [{ lookup_table: 'geo_ip' }] },
            { type: 'transform.deduplicate', args: [{ key: 'email' }] },
          ],
        },
        { type: 'data.load', args: [{ destination: 'warehouse', table: 'events_2026_02_12' }] },
      ],
    })
    const raw = { ref: 's3://raw/2026-02-12' }
    await next('data.extract', {}, raw)
    const transforms = await f.fetch()
    expect(transforms.map((job) => [job.type, job.args[0]]).sort()).toEqual([
      ['transform.deduplicate', { key: 'email' }],
      ['transform.enrich', { lookup_table: 'geo_ip' }],
      ['transform.normalize', { schema: 'v2' }],
    ])
    for (const job of transforms) {
      expect(job.workflow.parent_results).toEqual({ 0: raw })
      expect(await f.fetch()).toEqual([])
      await f.ack(job, { done: job.type })
    }
    const transformed = {
      0: { done: 'transform.normalize' },
      1: { done: 'transform.enrich' },
      2: { done: 'transform.deduplicate' },
    }
    const load = await next('data.load', { 0: raw, 1: transformed }, 'loaded')
    expect(load.args).toEqual([{ destination: 'warehouse', table: 'events_2026_02_12' }])
    expect(await f.get('wf_019539a4-composed-example')).toMatchObject({
      state: 'completed',
      metadata: { job_count: 5, completed_count: 5 },
    })
  })

  it('A the three forms with every optional part', async () => {
    const one = { type: 'some.job', args: ['positional', 2, { three: 3 }], options: { queue: 'default' } }
    const id = (n: number): string => `019539a4-000${n}-7000-8000-000000000001`
    for (const body of [
      { type: 'chain', id: id(1), name: 'optional string', steps: [one] },
      { type: 'group', id: id(2), name: 'optional string', jobs: [one] },
      {
        type: 'batch',
        id: id(3),
        name: 'optional string',
        jobs: [one],
        callbacks: {
          on_complete: { type: 'some.callback', args: [1] },
          on_success: { type: 'some.callback', args: [2] },
          on_failure: { type: 'some.callback', args: [3] },
        },
      },
    ]) {
      const created = await f.create(body)
      expect(created).toMatchObject({ id: body.id, type: body.type, name: 'optional string', state: 'running' })
      await f.work()
      expect((await f.get(body.id)).state).toBe('completed')
    }
  })

  it('B the payload of an event', async () => {
    await f.create({ type: 'chain', id: 'wf_019539a4-chain-example', name: 'order-processing', steps: ORDER_STEPS })
    const first = await f.fetchOne('order.validate')
    await s.store.moveClock(1234)
    await f.ack(first)
    const [event] = await f.events('workflow.step_completed')
    expect(event).toMatchObject({
      event: 'workflow.step_completed',
      workflow_id: 'wf_019539a4-chain-example',
      workflow_type: 'chain',
      workflow_name: 'order-processing',
      timestamp: AT,
      data: { step_index: 0, step_type: 'order.validate', job_id: first.id, remaining_steps: 3 },
    })
    expect(event.data.duration_ms).toBeGreaterThanOrEqual(1234)
    expect(event.data.duration_ms).toBeLessThan(30_000)
  })
})
