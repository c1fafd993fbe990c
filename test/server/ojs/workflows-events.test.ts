/** Events of workflows and their jobs, by appendix B of the workflow specification and the events of OJS. */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { type Any, batch, chain, Flow, group, job, MOMENT, once } from './flow.ts'

onBothStores('events', (stage) => {
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

  const types = async (filter?: string): Promise<string[]> => (await f.events(filter)).map((e) => e.type)
  const workflowTypes = (): Promise<string[]> => types('workflow.*')
  const find = async (type: string): Promise<Any> => (await f.events(type))[0]

  it('B a chain: created, started, each step, completed', async () => {
    const { id } = await f.create({
      ...chain(once('order.validate'), once('payment.charge')),
      name: 'order-processing',
    })
    const first = await f.fetchOne()
    await f.ack(first, { ok: 1 })
    await f.work()
    expect(await workflowTypes()).toEqual([
      'workflow.created',
      'workflow.started',
      'workflow.step_completed',
      'workflow.step_completed',
      'workflow.completed',
    ])
    const [event] = await f.events('workflow.step_completed')
    expect(event).toEqual({
      specversion: '1.0',
      id: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
      type: 'workflow.step_completed',
      source: expect.stringMatching(/^ojs:\/\//),
      time: expect.stringMatching(MOMENT),
      subject: id,
      event: 'workflow.step_completed',
      workflow_id: id,
      workflow_type: 'chain',
      workflow_name: 'order-processing',
      timestamp: event.time,
      data: {
        workflow_id: id,
        workflow_type: 'chain',
        workflow_name: 'order-processing',
        total_steps: 2,
        step_index: 0,
        step_id: '0',
        step_type: 'order.validate',
        job_id: first.id,
        duration_ms: expect.any(Number),
        remaining_steps: 1,
        steps_remaining: 1,
      },
    })
  })

  it('B a chain that fails', async () => {
    await f.create(chain(once('a'), once('b')))
    await f.ack(await f.fetchOne())
    const b = await f.fetchOne()
    await f.nack(b, { code: 'declined', message: 'no' })
    expect(await workflowTypes()).toEqual([
      'workflow.created',
      'workflow.started',
      'workflow.step_completed',
      'workflow.step_failed',
      'workflow.failed',
    ])
    expect((await find('workflow.step_failed')).data).toMatchObject({
      step_index: 1,
      job_id: b.id,
      error: { code: 'declined', message: 'no' },
    })
    expect((await find('workflow.failed')).data.error).toMatchObject({ code: 'declined' })
  })

  it('B a group: every job as it ends', async () => {
    await f.create(group(once('a'), once('b')))
    const [a, b] = await f.fetch()
    await f.ack(a)
    await f.nack(b)
    expect(await workflowTypes()).toEqual([
      'workflow.created',
      'workflow.started',
      'workflow.job_completed',
      'workflow.job_failed',
      'workflow.failed',
    ])
    expect((await find('workflow.job_completed')).data).toMatchObject({ job_index: 0, job_type: 'a', job_id: a.id })
    expect((await find('workflow.job_failed')).data).toMatchObject({ job_index: 1, job_id: b.id })
  })

  it('B a batch: each callback that fires', async () => {
    await f.create(batch([once('a')]))
    await f.ack(await f.fetchOne())
    const fired = await f.events('workflow.callback_fired')
    expect(fired.map((e) => e.data.callback)).toEqual(['on_complete', 'on_success'])
    const callbacks = await f.fetch()
    expect(fired.map((e) => e.data.job_id).sort()).toEqual(callbacks.map((c) => c.id).sort())
    for (const c of callbacks) await f.ack(c)
    // A callback does not count as a job of the batch.
    expect(await workflowTypes()).toEqual([
      'workflow.created',
      'workflow.started',
      'workflow.job_completed',
      'workflow.callback_fired',
      'workflow.callback_fired',
      'workflow.completed',
    ])
  })

  it('B a cancel is published at once, and once, however long active jobs take', async () => {
    const { id } = await f.create(chain(once('a'), once('b')))
    const a = await f.fetchOne()
    await f.delete(id)
    const expected = ['workflow.created', 'workflow.started', 'workflow.cancelled']
    expect(await workflowTypes()).toEqual(expected)
    await f.ack(a)
    expect(await workflowTypes()).toEqual([...expected, 'workflow.step_completed'])
    expect(await types('job.*')).toEqual(['job.enqueued', 'job.started', 'job.completed'])
  })

  it('10.4 the end of a nested workflow is also that of the step it represents', async () => {
    const { id } = await f.create(chain({ ...group(once('a')), id: 'wf_inner' }, once('b')))
    await f.work()
    const recorded = await f.events('workflow.*')
    expect(recorded.map((e) => [e.type, e.workflow_id === id ? 'outer' : e.workflow_id])).toEqual([
      ['workflow.created', 'outer'],
      ['workflow.created', 'wf_inner'],
      ['workflow.started', 'wf_inner'],
      ['workflow.started', 'outer'],
      ['workflow.job_completed', 'wf_inner'],
      ['workflow.completed', 'wf_inner'],
      ['workflow.step_completed', 'outer'],
      ['workflow.step_completed', 'outer'],
      ['workflow.completed', 'outer'],
    ])
    expect(recorded[1].data.parent_workflow_id).toBe(id)
    expect(recorded[6].data).toMatchObject({
      step_index: 0,
      step_type: 'group',
      nested_workflow_id: 'wf_inner',
      job_id: null,
    })
  })

  it('the events of a job come in their order, each with its data', async () => {
    const retry = { max_attempts: 2, initial_interval: 'PT1S' }
    await f.create(chain(job('flaky', [], { retry, queue: 'default' })))
    const started = await f.fetchOne()
    // Published when it is fetched, not when it ends.
    expect(await types('job.*')).toEqual(['job.enqueued', 'job.started'])
    await f.nack(started, { code: 'first', message: 'one' })
    await s.store.moveClock(60_000)
    await f.nack(await f.fetchOne(), { code: 'second', message: 'two' })
    const events = await f.events('job.*')
    expect(events.map((e) => e.type)).toEqual([
      'job.enqueued',
      'job.started',
      'job.failed',
      'job.retrying',
      'job.started',
      'job.failed',
      'job.discarded',
    ])
    for (const event of events) {
      expect(event).toMatchObject({
        specversion: '1.0',
        subject: started.id,
        data: { job_id: started.id, job_type: 'flaky', queue: 'default', workflow_id: started.workflow_id },
      })
    }
    const [, first, failed, retrying, second, , discarded] = events.map((e) => e.data)
    expect(first).toMatchObject({ worker_id: 'worker-1', attempt: 1 })
    expect(failed).toMatchObject({ attempt: 1, error: { code: 'first', message: 'one' } })
    expect(retrying).toMatchObject({ attempt: 1, next_attempt_at: expect.stringMatching(MOMENT) })
    expect(second).toMatchObject({ attempt: 2 })
    expect(discarded).toMatchObject({ total_attempts: 2, last_error: { code: 'second', message: 'two' } })
    expect(new Set(events.map((e) => e.id)).size).toBe(events.length)
  })

  it('single jobs: completed with its result, scheduled, cancelled, expired', async () => {
    const post = async (type: string, options = {}): Promise<Any> =>
      (await s.post('/ojs/v1/jobs', { type, args: [], options })).body.job
    await post('done')
    await f.ack(await f.fetchOne(), { n: 1 })
    const later = await post('later', { delay_until: '+PT1H' })
    await s.ask('DELETE', `/ojs/v1/jobs/${later.id}`)
    await post('soon', { scheduled_at: '+PT2S' })
    const held = await post('held', { pending: true, queue: 'other' })
    expect((await s.post(`/ojs/v1/jobs/${held.id}/activate`)).status).toBe(200)
    await s.store.moveClock(3000)
    await f.ack(await f.fetchOne('soon'))
    await post('late', { expires_at: '+PT1S', queue: 'other' })
    await s.store.moveClock(8000)
    await s.engine.sweep()
    const recorded = (await f.events('job.*')).map((e) => [e.data.job_type, e.type])
    expect(recorded).toEqual([
      ['done', 'job.enqueued'],
      ['done', 'job.started'],
      ['done', 'job.completed'],
      ['later', 'job.scheduled'],
      ['later', 'job.cancelled'],
      ['soon', 'job.scheduled'],
      ['held', 'job.enqueued'],
      ['soon', 'job.enqueued'],
      ['soon', 'job.started'],
      ['soon', 'job.completed'],
      ['late', 'job.enqueued'],
      ['late', 'job.expired'],
      ['late', 'job.discarded'],
    ])
    expect((await find('job.completed')).data).toMatchObject({
      result: { n: 1 },
      attempt: 1,
      duration_ms: expect.any(Number),
    })
  })

  it("a worker of the server's own process publishes the same events", async () => {
    const { id } = await f.create(chain(once('a'), once('b')))
    const session = await s.engine.workers.open(
      { name: 'inside', runtime: 'node', queues: null, types: null, concurrency: 1, tenant: null },
      { room: () => 0, deliver: () => {}, wake: () => {}, holding: () => [], stop: () => {} },
    )
    for (const reportId of ['r1', 'r2']) {
      const [delivery] = await session.claim(1)
      await session.settle({
        delivery: delivery as Any,
        reportId: `${id}${reportId}`,
        startedAt: await s.store.now(),
        outcome: { kind: 'succeeded', result: '1' },
        wantNext: false,
      })
    }
    await session.close()
    expect(await types()).toEqual([
      'workflow.created',
      'job.enqueued',
      'workflow.started',
      'job.started',
      'job.completed',
      'workflow.step_completed',
      'job.enqueued',
      'job.started',
      'job.completed',
      'workflow.step_completed',
      'workflow.completed',
    ])
    const [started] = await f.events('job.started')
    expect(started.data).toMatchObject({ worker_id: 'inside', attempt: 1 })
  })
})
