/** Attributes of parts of a workflow besides type and args: ids, names, dependencies, timeouts with a grace period. */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { type Any, batch, chain, Flow, group, job, once } from './flow.ts'

onBothStores('parts of workflows', (stage) => {
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

  const called = (id: string | null, name: string | null, body: object): object => ({
    ...body,
    ...(id === null ? {} : { id }),
    ...(name === null ? {} : { name }),
  })
  const labels = (list: Any[]): unknown[] => list.map(({ id, name }) => [id, name])

  it('replies have the id and name of every step, from the first reply to the last', async () => {
    const inner = called('wf_inner', 'inner', group(called('x', null, once('x')), called(null, 'why', once('y'))))
    const body = chain(called('first', 'The first', once('a')), inner, once('c'), chain2())
    function chain2(): object {
      const callbacks = { on_complete: called('done', 'Done', once('done')), on_failure: once('alarm') }
      return batch([called('only', 'One', once('z'))], callbacks)
    }
    const named = [
      ['first', 'The first'],
      ['wf_inner', 'inner'],
      ['2', undefined],
      ['3', undefined],
    ]
    const within = [
      ['x', undefined],
      ['1', 'why'],
    ]
    const fired = [
      ['done', 'Done'],
      ['on_failure', undefined],
    ]
    const callbacks = (workflow: Any): unknown[] => labels(Object.values(workflow.steps[3].workflow.callbacks))
    const created = await f.create(body)
    expect(labels(created.steps)).toEqual(named)
    expect(labels(created.steps[1].workflow.jobs)).toEqual(within)
    expect(callbacks(created)).toEqual(fired)
    await f.work()
    const ended = await f.get(created.id)
    expect(ended.state).toBe('completed')
    expect(labels(ended.steps)).toEqual(named)
    expect(labels(ended.steps[1].workflow.jobs)).toEqual(within)
    expect(labels(ended.steps[3].workflow.jobs)).toEqual([['only', 'One']])
    expect(callbacks(ended)).toEqual(fired)
    const begun = await f.create(batch([once('z')], { on_success: called('yes', 'Yes', once('done')) }))
    expect(labels(Object.values(begun.callbacks))).toEqual([['yes', 'Yes']])
  })

  it('refuses depends_on of a single job as well: it would not wait for anything', async () => {
    const [beside, among] = [{ ...once('a'), depends_on: ['b'] }, job('a', [], { depends_on: ['b'] })]
    const cron = { name: 'n', expression: '0 3 * * *' }
    const asked = [
      ['/ojs/v1/jobs', beside, 'depends_on'],
      ['/ojs/v1/jobs', among, 'options.depends_on'],
      ['/ojs/v1/jobs/batch', { jobs: [once('b'), beside] }, 'jobs[1].depends_on'],
      ['/ojs/v1/cron', { ...cron, job_template: beside }, 'job_template.depends_on'],
    ] as const
    for (const [path, body, field] of asked) {
      const reply = await s.post(path, body)
      expect([reply.status, reply.body.error.details.field]).toEqual([400, field])
    }
    expect((await s.get('/ojs/v1/queues/default/stats')).body.available).toBe(0)
  })

  it('refuses depends_on everywhere, with its path, and stores nothing', async () => {
    const after = { depends_on: ['a'] }
    const inOptions = job('d', [], after)
    const reply = await f.post({
      ...chain({ ...once('a'), depends_on: [] }, { ...group({ ...once('b'), ...after }), ...after }, inOptions),
      ...after,
    })
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_workflow'])
    expect(reply.body.error.details.validation_errors.map((mistake: Any) => mistake.path).sort()).toEqual([
      '$.depends_on',
      '$.steps[0].depends_on',
      '$.steps[1].depends_on',
      '$.steps[1].jobs[0].depends_on',
      '$.steps[2].options.depends_on',
    ])
    expect(reply.body.error.details.validation_errors[0].hint).toContain('chain')
    const callback = await f.post(batch([once('a')], { on_complete: { ...once('b'), ...after } }))
    expect(callback.body.error.details.validation_errors[0].path).toBe('$.callbacks.on_complete.depends_on')
    expect((await s.get('/ojs/v1/workflows')).body.workflows).toEqual([])
  })

  it('a timeout ends an attempt after its grace period, and not before', async () => {
    const slow = { timeout: 2, grace_period: 5, retry: { max_attempts: 1 } }
    const bare = (await s.post('/ojs/v1/jobs', job('slow', [], slow))).body.job
    expect(bare).toMatchObject({ timeout_ms: 2000, grace_period: 5, grace_period_ms: 5000 })
    const { id } = await f.create(group(job('slow', [], slow), job('slow', [], { ...slow, grace_period: 0 })))
    const held = await f.fetch()
    expect(held.map((one) => one.grace_period_ms ?? 0).sort()).toEqual([0, 5000, 5000])
    const stateOf = async (): Promise<string[]> => [
      (await f.job(bare.id)).state,
      ...(await f.get(id)).jobs.map((one: Any) => one.state),
    ]
    await s.store.moveClock(4000)
    await s.engine.sweep()
    expect(await stateOf()).toEqual(['active', 'active', 'failed'])
    // A handler that ends within its grace period has done its work.
    await f.ack(held.find((one) => one.id === bare.id))
    await s.store.moveClock(8000)
    await s.engine.sweep()
    expect(await stateOf()).toEqual(['completed', 'failed', 'failed'])
    expect((await f.get(id)).metadata.errors.map((error: Any) => error.code)).toEqual(['timeout', 'timeout'])
    for (const grace of [-1, 'soon', {}]) {
      const refused = await s.post('/ojs/v1/jobs', job('slow', [], { timeout: 1, grace_period: grace }))
      expect([refused.status, refused.body.error.details.field]).toEqual([400, 'options.grace_period'])
    }
  })

  const enqueued = async (): Promise<number> => (await s.get('/ojs/v1/queues/default/stats')).body.available

  // One transaction makes a thousand moves: the first one gets as far as the jobs.
  it.each([999, 1_000, 1_001])('all of %i jobs are enqueued when the reply comes', async (count) => {
    const created = await f.create(group(...Array.from({ length: count }, () => once('many'))))
    expect(created.jobs.filter((one: Any) => one.job_id === null)).toEqual([])
    expect(await enqueued()).toBe(count)
  })

  it('all jobs of a large group that is retried are enqueued when the reply comes', async () => {
    const { id } = await f.create(group(...Array.from({ length: 2_500 }, () => once('many'))))
    await f.delete(id)
    expect(await enqueued()).toBe(0)
    expect((await s.post(`/ojs/v1/workflows/${id}/retry`)).status).toBe(201)
    expect(await enqueued()).toBe(2_500)
  })

  it('all jobs of a large group are enqueued when the reply comes', async () => {
    const count = process.env['PETREL_TEST_FULL'] === '1' ? 10_000 : 2_500
    const created = await f.create(
      group(...Array.from({ length: count }, (_, i) => once('many', { priority: i % 100 }))),
    )
    expect(created.metadata.job_count).toBe(count)
    expect((await s.get('/ojs/v1/queues/default/stats')).body.available).toBe(count)
    const { jobs } = await f.get(created.id, `?jobs_limit=10000`)
    expect(jobs.filter((one: Any) => one.job_id === null)).toEqual([])
  })
})
