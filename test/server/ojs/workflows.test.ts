/** Chains, groups and batches over HTTP, by the sections of the workflow specification. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'
import { type Any, batch, chain, Flow, group, job, MOMENT, once, states, UUID7 } from './flow.ts'

onBothStores('workflows', (stage) => {
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

  const errors = async (body: unknown): Promise<[string, string][]> => {
    const reply = await f.post(body)
    expect(reply.status, reply.text).toBe(400)
    expect(reply.body.error).toMatchObject({ code: 'invalid_workflow', retryable: false })
    return reply.body.error.details.validation_errors.map((e: Any) => [e.path, e.message])
  }
  const count = async (): Promise<number> => (await s.get('/ojs/v1/workflows')).body.pagination.total

  describe('3 the envelope', () => {
    it('3.1 a workflow without an id gets a UUIDv7, in a 201 with its location', async () => {
      const { status, headers, body } = await f.post({ ...chain(job('a')), name: 'order' })
      expect(status).toBe(201)
      expect(body.workflow.id).toMatch(UUID7)
      expect(headers.get('location')).toBe(`/ojs/v1/workflows/${body.workflow.id}`)
      expect(body.workflow).toMatchObject({ type: 'chain', name: 'order', state: 'running' })
      const { workflow, ...flat } = body
      expect(flat).toEqual(workflow)
      expect(await f.get(workflow.id)).toEqual(workflow)
    })

    it.each(['wf_019539a4-chain-example', '019539a4-aaaa-7000-8000-111111111111', 'Order:2026.02'])(
      '3.1 a client may choose the id %s, once',
      async (id) => {
        const { status, headers, body } = await f.post({ ...chain(once('a')), id })
        expect(status).toBe(201)
        expect(body.workflow.id).toBe(id)
        expect(headers.get('location')).toBe(`/ojs/v1/workflows/${id}`)
        const again = await f.post({ ...group(once('b')), id })
        expect(again.status).toBe(409)
        expect(again.body.error).toMatchObject({ code: 'duplicate', details: { existing_workflow_id: id } })
        expect(await count()).toBe(1)
        const a = await f.fetchOne('a')
        expect(a).toMatchObject({ workflow_id: id, workflow: { id, root_id: id, type: 'chain', step_index: 0 } })
        await f.ack(a)
        expect(await f.get(id)).toMatchObject({ id, state: 'completed' })
        // The name is used permanently, not only while the workflow runs.
        expect((await f.post({ ...chain(job('a')), id })).status).toBe(409)
      },
    )

    it('3.1 of many simultaneous requests for one id exactly one gets it', async () => {
      const replies = await Promise.all(Array.from({ length: 12 }, () => f.post({ ...chain(job('a')), id: 'wf_one' })))
      expect(replies.map((r) => r.status).sort()).toEqual([201, ...Array.from({ length: 11 }, () => 409)])
      expect(await count()).toBe(1)
    })

    it.each<[unknown]>([[''], ['a b'], ['-x'], ['x/y'], [7], [null], ['x'.repeat(256)]])(
      '3.1 %j is not a valid id',
      async (id) => {
        expect(await errors({ ...chain(job('a')), id })).toEqual([
          ['$.id', 'id must be 1 to 255 letters, digits and any of . _ : - (a letter or digit first)'],
        ])
        expect(await count()).toBe(0)
      },
    )

    it('3.3 state, metadata and counters sent by a client are not kept', async () => {
      const sent = {
        ...chain(job('a'), job('b')),
        state: 'completed',
        metadata: { created_at: '1999-01-01T00:00:00Z', job_count: 99, completed_count: 98, mine: 1 },
        steps_completed: 7,
        created_at: '1999-01-01T00:00:00Z',
      }
      const workflow = await f.create(sent)
      expect(workflow).toMatchObject({ state: 'running', steps_total: 2, steps_completed: 0 })
      expect(workflow.metadata).toEqual({
        created_at: expect.stringMatching(MOMENT),
        job_count: 2,
        completed_count: 0,
        failed_count: 0,
      })
      expect(workflow.metadata.created_at).not.toContain('1999')
      expect(JSON.stringify(await f.get(workflow.id))).not.toMatch(/1999|mine/)
    })

    it('3.3 metadata has the start and end times, and the counts', async () => {
      const { id } = await f.create(chain(once('a'), once('b')))
      const a = await f.fetchOne('a')
      const begun = await until(
        () => f.get(id),
        (w) => w.metadata.started_at !== undefined,
      )
      expect(begun.metadata).toMatchObject({ started_at: expect.stringMatching(MOMENT), completed_count: 0 })
      expect(begun.metadata.completed_at).toBeUndefined()
      await f.ack(a)
      await f.work(() => new Error('no'))
      const { metadata } = await f.get(id)
      expect(metadata).toMatchObject({
        job_count: 2,
        completed_count: 1,
        failed_count: 1,
        started_at: begun.metadata.started_at,
        completed_at: expect.stringMatching(MOMENT),
      })
      expect(metadata.completed_at >= metadata.started_at && metadata.started_at >= metadata.created_at).toBe(true)
    })

    it('3.2 its jobs take the options of any job, and unknown attributes are kept', async () => {
      await f.create(
        chain({
          type: 'a',
          args: [1, { x: null }],
          meta: { trace: 't1' },
          x_vendor: [1],
          options: {
            priority: 7,
            tags: ['red'],
            timeout_ms: 5000,
            retry: { max_attempts: 5, initial_interval: 'PT2S' },
          },
        }),
      )
      const a = await f.fetchOne()
      expect(a).toMatchObject({
        args: [1, { x: null }],
        meta: { trace: 't1' },
        x_vendor: [1],
        priority: 7,
        tags: ['red'],
        timeout_ms: 5000,
        max_attempts: 5,
        retry: { max_attempts: 5, initial_interval: 'PT2S' },
      })
    })
  })

  describe('4 chain', () => {
    it('4.3.1 only the first step is enqueued, the others wait', async () => {
      const workflow = await f.create(chain(job('a'), job('b'), job('c')))
      expect(states(workflow)).toEqual(['pending', 'waiting', 'waiting'])
      expect(workflow.steps.map((step: Any) => step.job_id)).toEqual([expect.stringMatching(UUID7), null, null])
      expect((await f.fetch()).map((j) => j.type)).toEqual(['a'])
      expect(await f.fetch()).toEqual([])
    })

    it('4.3.2 each step is enqueued when the one before it has completed; 4.3.4 the last completes the chain', async () => {
      const { id } = await f.create(chain(job('a'), job('b')))
      await f.ack(await f.fetchOne('a'), { n: 1 })
      expect(states(await f.get(id))).toEqual(['completed', 'pending'])
      const b = await f.fetchOne('b')
      expect(states(await f.get(id))).toEqual(['completed', 'active'])
      await f.ack(b)
      expect(await f.get(id)).toMatchObject({ state: 'completed', steps_completed: 2 })
    })

    it('4.3.3, 9.2 a failed step fails the chain; later steps are cancelled and never enqueued', async () => {
      const { id } = await f.create(chain(once('a'), once('b'), once('c'), once('d')))
      await f.ack(await f.fetchOne('a'))
      const b = await f.fetchOne('b')
      await f.nack(b, { code: 'card_declined', message: 'no money' })
      const workflow = await f.get(id)
      expect(workflow.state).toBe('failed')
      expect(states(workflow)).toEqual(['completed', 'failed', 'cancelled', 'cancelled'])
      expect(workflow.steps[1].error).toEqual({ code: 'card_declined', message: 'no money', attempt: 1 })
      expect(workflow.metadata).toMatchObject({
        failed_step_index: 1,
        failed_job_ids: [b.id],
        errors: [{ job_id: b.id, code: 'card_declined', message: 'no money', attempt: 1 }],
      })
      expect(await f.fetch()).toEqual([])
    })

    it('4.3.5, 9.1 a step is retried by its own policy; meanwhile the chain has not failed', async () => {
      const { id } = await f.create(chain(job('a', [], { retry: { max_attempts: 2, initial_interval: 'PT1S' } })))
      await f.nack(await f.fetchOne('a'))
      expect(await f.get(id)).toMatchObject({ state: 'running', metadata: { failed_count: 0 } })
      expect(states(await f.get(id))).toEqual(['pending'])
      expect((await f.get(id)).metadata.errors).toBeUndefined()
      await s.store.moveClock(60_000)
      await f.nack(await f.fetchOne('a'), { message: 'again' })
      const { state, metadata } = await f.get(id)
      expect(state).toBe('failed')
      expect(metadata.errors).toMatchObject([{ message: 'again', attempt: 2 }])
    })

    it('4.4, 11.2 steps show their state, job, result, error and times', async () => {
      const { id } = await f.create(chain(job('a'), job('b')))
      await f.ack(await f.fetchOne(), { total: 99.99 })
      const [a] = (await f.get(id)).steps
      expect(a).toEqual({
        index: 0,
        id: '0',
        type: 'a',
        state: 'completed',
        job_id: expect.stringMatching(UUID7),
        result: { total: 99.99 },
        started_at: expect.stringMatching(MOMENT),
        completed_at: expect.stringMatching(MOMENT),
      })
    })

    it('a step may be named by its author; its job still has a separate id', async () => {
      const workflow = await f.create(chain({ id: 'validate', ...job('a') }))
      expect(workflow.steps[0]).toMatchObject({ id: 'validate', job_id: expect.stringMatching(UUID7) })
    })
  })

  describe('5 group', () => {
    it('5.3.1 all jobs are enqueued at once', async () => {
      const workflow = await f.create(group(job('a'), job('b'), job('c')))
      expect(states(workflow)).toEqual(['pending', 'pending', 'pending'])
      expect(workflow).toMatchObject({ jobs_total: 3, jobs_completed: 0 })
      expect((await f.fetch()).map((j) => j.type).sort()).toEqual(['a', 'b', 'c'])
    })

    it('5.3.2 it completes with the last of its jobs', async () => {
      const { id } = await f.create(group(job('a'), job('b')))
      const [a, b] = await f.fetch()
      await f.ack(a)
      expect((await f.get(id)).state).toBe('running')
      await f.ack(b)
      expect(await f.get(id)).toMatchObject({ state: 'completed', jobs_completed: 2 })
    })

    it('5.3.3, 5.3.4, 9.3 a failed job does not affect the others; the group fails when all have ended', async () => {
      const { id } = await f.create(group(once('a'), once('b'), once('c')))
      const [a, b, c] = await f.fetch()
      await f.nack(a)
      expect((await f.get(id)).state).toBe('running')
      expect((await f.job(b.id)).state).toBe('active')
      await f.ack(b, 'fine')
      expect((await f.get(id)).state).toBe('running')
      await f.nack(c)
      const workflow = await f.get(id)
      expect(workflow.state).toBe('failed')
      expect(states(workflow)).toEqual(['failed', 'completed', 'failed'])
      expect(workflow.jobs[1].result).toBe('fine')
      expect(workflow.metadata).toMatchObject({ completed_count: 1, failed_count: 2, failed_job_ids: [a.id, c.id] })
      expect(workflow.metadata.failed_step_index).toBeUndefined()
    })
  })

  describe('6 batch', () => {
    const all = [once('a'), once('b'), once('c')]

    it('6.4.1, 6.4.3, 6.5 all succeed: on_complete and on_success fire, on_failure does not', async () => {
      const created = await f.create(batch(all))
      expect(states(created)).toEqual(['pending', 'pending', 'pending'])
      expect(Object.values(created.callbacks).map((c: Any) => c.state)).toEqual(['waiting', 'waiting', 'waiting'])
      expect(created).toMatchObject({ jobs_total: 3, metadata: { job_count: 3 } })
      for (const one of await f.fetch()) await f.ack(one)
      const { id } = created
      const running = await f.get(id)
      expect(running.state).toBe('running')
      expect(running.callbacks).toMatchObject({
        on_complete: { type: 'on.complete', state: 'pending', job_id: expect.stringMatching(UUID7) },
        on_success: { type: 'on.success', state: 'pending' },
        on_failure: { type: 'on.failure', state: 'cancelled', job_id: null },
      })
      expect((await f.work()).sort()).toEqual(['on.complete', 'on.success'])
      expect(await f.get(id)).toMatchObject({ state: 'completed', metadata: { completed_count: 3, failed_count: 0 } })
    })

    it('6.5, 8.3 one fails: on_complete and on_failure fire, and their success completes the batch', async () => {
      const { id } = await f.create(batch(all))
      const done = await f.work((j) => (j.type === 'b' ? new Error('no') : null))
      expect(done.sort()).toEqual(['a', 'b', 'c', 'on.complete', 'on.failure'])
      const workflow = await f.get(id)
      expect(workflow.state).toBe('completed')
      expect(workflow.callbacks.on_success).toMatchObject({ state: 'cancelled', job_id: null })
      expect(workflow.metadata).toMatchObject({ completed_count: 2, failed_count: 1, errors: [{ message: 'no' }] })
    })

    it('8.3 a job fails and there is no callback for that: the batch is completed', async () => {
      const { id } = await f.create(batch(all, { on_success: once('on.success') }))
      expect(await f.work((j) => (j.type === 'a' ? new Error('no') : null))).not.toContain('on.success')
      expect(await f.get(id)).toMatchObject({ state: 'completed', metadata: { failed_count: 1 } })
    })

    it('6.4.7, 9.5 a callback is retried by its policy; when its attempts are used up the batch fails, naming it', async () => {
      const retry = { max_attempts: 2, initial_interval: 'PT1S' }
      const { id } = await f.create(batch([once('a')], { on_complete: job('report', [], { retry }) }))
      await f.ack(await f.fetchOne('a'))
      await f.nack(await f.fetchOne('report'))
      expect((await f.get(id)).state).toBe('running')
      await s.store.moveClock(60_000)
      const report = await f.fetchOne('report')
      await f.nack(report, { code: 'no_printer', message: 'out of paper' })
      const workflow = await f.get(id)
      expect(workflow.state).toBe('failed')
      expect(workflow.callbacks.on_complete).toMatchObject({
        state: 'failed',
        error: { code: 'no_printer', message: 'out of paper', attempt: 2 },
      })
      const error = {
        callback: 'on_complete',
        job_id: report.id,
        code: 'no_printer',
        message: 'out of paper',
        attempt: 2,
      }
      expect(workflow.metadata).toMatchObject({ failed_count: 0, callback_errors: [error], errors: [error] })
    })
  })

  describe('7 data passing', () => {
    it('7.2 a step receives the results of all earlier steps, as a list and by index', async () => {
      await f.create(chain(job('a'), job('b'), job('c')))
      const a = await f.fetchOne()
      expect(a.parent_results).toEqual([])
      expect(a.workflow.parent_results).toEqual({})
      await f.ack(a, { order: 1 })
      const b = await f.fetchOne()
      expect(b.parent_results).toEqual([{ order: 1 }])
      expect(b.workflow.parent_results).toEqual({ 0: { order: 1 } })
      await f.ack(b)
      const c = await f.fetchOne()
      expect(c.parent_results).toEqual([{ order: 1 }, null])
      expect(c.workflow.parent_results).toEqual({ 0: { order: 1 }, 1: null })
      // Read later, it shows the results it received, not later ones.
      expect((await f.job(b.id)).parent_results).toEqual([{ order: 1 }])
    })

    it('7.3 jobs of a group receive no results of each other', async () => {
      await f.create(group(job('a'), job('b')))
      const [a, b] = await f.fetch()
      await f.ack(a, 1)
      expect([a.parent_results, b.parent_results]).toEqual([[], []])
      expect((await f.job(b.id)).parent_results).toEqual([])
    })

    it('7.4 callbacks receive the outcome of every job, failures too', async () => {
      await f.create(batch([once('a'), once('b'), once('c')]))
      const [a, b, c] = await f.fetch()
      await f.ack(a, { n: 1 })
      await f.nack(b, { code: 'bounced', message: 'no such box' })
      await f.nack(c, { code: 'bounced' }, { result: { status: 'bounced' } })
      for (const callback of await f.fetch()) {
        const failed = { state: 'failed', error: { job_id: b.id, code: 'bounced', message: 'no such box', attempt: 1 } }
        expect(callback.parent_results).toEqual([{ n: 1 }, failed, { status: 'bounced' }])
        expect(callback.workflow).toMatchObject({
          type: 'batch',
          callback: callback.type.replace('.', '_'),
          parent_results: { 0: { n: 1 }, 1: failed, 2: { status: 'bounced' } },
        })
        expect(callback.workflow_step).toBeUndefined()
      }
    })

    it('7.5 a result of 64 KB and more is kept and passed on', async () => {
      const { id } = await f.create(chain(job('a'), job('b')))
      const big = { text: 'x'.repeat(200_000), more: Array.from({ length: 1000 }, (_, i) => `é${i}`) }
      await f.ack(await f.fetchOne(), big)
      const b = await f.fetchOne()
      expect(b.parent_results).toEqual([big])
      expect((await f.get(id)).steps[0].result).toEqual(big)
    })

    it('7.5 beyond the limit a result is refused and the job continues', async () => {
      await f.create(chain(job('a')))
      const a = await f.fetchOne()
      const refused = await f.tryAck(a, 'x'.repeat(1024 * 1024))
      expect(refused.status).toBe(413)
      expect((await f.job(a.id)).state).toBe('active')
      await f.ack(a, 'small')
    })
  })

  describe('8 states', () => {
    it('8.1 pending until a job is due, running from then on', async () => {
      const { id, state } = await f.create(chain(job('a', [], { scheduled_at: '+PT1M' }), job('b')))
      expect(state).toBe('pending')
      expect(await f.fetch()).toEqual([])
      await s.store.moveClock(61_000)
      expect((await f.get(id)).state).toBe('running')
      await f.ack(await f.fetchOne('a'))
      expect((await f.get(id)).state).toBe('running')
    })

    it('8.2 pending → cancelled', async () => {
      const { id } = await f.create(group(job('a', [], { delay_until: '+PT1M' })))
      const { status, body } = await f.delete(id)
      expect([status, body.workflow.state]).toEqual([200, 'cancelled'])
    })

    it.each([
      ['completed', () => null],
      ['failed', () => new Error('no')],
    ])('8.2 %s is final', async (state, answer) => {
      const { id } = await f.create(chain(once('a')))
      await f.work(answer)
      const before = await f.get(id)
      expect(before.state).toBe(state)
      const refused = await f.delete(id)
      expect(refused.status).toBe(409)
      expect(refused.body.error).toMatchObject({
        code: 'conflict',
        message: `Workflow ${id} is already in terminal state '${state}'`,
        details: { current_state: state },
      })
      expect(await f.get(id)).toEqual(before)
    })

    it('a job of a workflow can wait for activation, be delayed, or expire', async () => {
      const { id } = await f.create(chain(once('a', { pending: true }), once('b', { expires_at: '+PT10S' })))
      expect((await f.get(id)).state).toBe('pending')
      const [step] = (await f.get(id)).steps
      expect((await s.post(`/ojs/v1/jobs/${step.job_id}/activate`)).status).toBe(200)
      await f.ack(await f.fetchOne('a'))
      await s.store.moveClock(11_000)
      const workflow = await until(
        () => f.get(id),
        (w) => w.state === 'failed',
      )
      expect(workflow.metadata).toMatchObject({ failed_step_index: 1, errors: [{ code: 'expired' }] })
    })
  })

  describe('9 failures', () => {
    it('a single cancelled job counts as failed, and the workflow continues', async () => {
      const { id } = await f.create(batch([once('a'), once('b')]))
      const [a, b] = await f.fetch()
      expect((await s.ask('DELETE', `/ojs/v1/jobs/${a.id}`)).status).toBe(200)
      await f.ack(b)
      expect((await f.work()).sort()).toEqual(['on.complete', 'on.failure'])
      const workflow = await f.get(id)
      expect(workflow.state).toBe('completed')
      expect(states(workflow)).toEqual(['cancelled', 'completed'])
      expect(workflow.metadata).toMatchObject({ failed_count: 1, errors: [{ job_id: a.id, code: 'cancelled' }] })
    })

    it('a lease that expires for good fails the step', async () => {
      const { id } = await f.create(chain(once('a'), once('b')))
      await s.post('/ojs/v1/workers/fetch', { queues: ['default'], visibility_timeout_ms: 5000 })
      await s.store.moveClock(6000)
      const workflow = await until(
        () => f.get(id),
        (w) => w.state === 'failed',
      )
      expect(workflow.metadata.errors).toMatchObject([{ code: 'visibility_timeout', attempt: 1 }])
      expect(states(workflow)).toEqual(['failed', 'cancelled'])
    })
  })

  describe('11 operations', () => {
    it('11.1 every mistake is reported at once, with its path, and nothing is stored', async () => {
      const found = await errors({
        type: 'batch',
        id: 'no spaces please',
        name: 7,
        jobs: [
          { type: 'Bad Type', args: [] },
          { args: {} },
          'job',
          { type: 'chain', steps: [] },
          { type: 'group', jobs: 'x' },
          job('ok', [], { queue: 'NO', retry: { max_attempts: -1 }, scheduled_at: 'soon' }),
        ],
        callbacks: { on_complete: { type: 'x' }, on_finish: job('y'), on_success: chain(job('z')) },
      })
      expect(found.map(([path]) => path)).toEqual([
        '$.id',
        '$.name',
        '$.jobs[0].type',
        '$.jobs[1].type',
        '$.jobs[1].args',
        '$.jobs[2]',
        '$.jobs[2].type',
        '$.jobs[2].args',
        '$.jobs[3].steps',
        '$.jobs[4].jobs',
        '$.jobs[5].options.queue',
        '$.jobs[5].options.scheduled_at',
        '$.jobs[5].options.retry.max_attempts',
        '$.callbacks.on_finish',
        '$.callbacks.on_complete.args',
        '$.callbacks.on_success',
      ])
      expect(await count()).toBe(0)
      expect(await f.fetch()).toEqual([])
    })

    it.each([
      [{}, [['$.type', 'type must be one of: chain, group, batch']]],
      [{ type: 'dag', steps: [] }, [['$.type', 'type must be one of: chain, group, batch']]],
      [{ type: 'chain' }, [['$.steps', 'a chain needs steps']]],
      [{ type: 'chain', steps: [] }, [['$.steps', 'steps array must contain at least one element']]],
      [{ type: 'chain', jobs: [job('a')] }, [['$.steps', 'a chain needs steps']]],
      [{ type: 'group', jobs: [] }, [['$.jobs', 'jobs array must contain at least one element']]],
      [{ type: 'group', jobs: {} }, [['$.jobs', 'jobs must be an array']]],
      [
        { type: 'batch', jobs: [job('a')], callbacks: {} },
        [['$.callbacks', 'callbacks must contain at least one of on_complete, on_success, on_failure']],
      ],
      [
        { type: 'batch', jobs: [job('a')] },
        [
          [
            '$.callbacks',
            'a batch needs callbacks: callbacks must contain at least one of on_complete, on_success, on_failure',
          ],
        ],
      ],
      [{ ...group(job('a')), callbacks: {} }, [['$.callbacks', 'a group has no callbacks']]],
    ])('11.1 %j is refused', async (body, expected) => {
      expect(await errors(body)).toEqual(expected)
    })

    it.each([
      ['', 400, 'invalid_payload'],
      ['{', 400, 'invalid_payload'],
      ['[]', 400, 'invalid_payload'],
      ['"chain"', 400, 'invalid_payload'],
    ])('11.1 the body %j is refused', async (body, status, code) => {
      const reply = await s.ask('POST', '/ojs/v1/workflows', {
        body,
        headers: { 'content-type': 'application/json' },
      })
      expect([reply.status, reply.body.error.code]).toEqual([status, code])
    })

    it('11.2 an unknown workflow is not found', async () => {
      for (const id of ['wf_nonexistent', '019539a4-aaaa-7000-8000-111111111111', 'x y', '%00']) {
        for (const [method, path] of [
          ['GET', ''],
          ['DELETE', ''],
          ['POST', '/cancel'],
          ['POST', '/retry'],
          ['GET', '/progress'],
        ]) {
          const reply = await s.ask(method as string, `/ojs/v1/workflows/${encodeURIComponent(id)}${path}`)
          expect([id, method, path, reply.status]).toEqual([id, method, path, 404])
          expect(reply.body.error).toMatchObject({
            code: 'not_found',
            message: `Workflow ${id} not found`,
            hint: expect.any(String),
            docs_url: expect.any(String),
            details: { resource_type: 'workflow', resource_id: id },
          })
        }
      }
    })

    it('11.3 a cancel cancels pending jobs at once; active jobs end by themselves and nothing advances', async () => {
      const later = { retry: { max_attempts: 3, initial_interval: 'PT5M' } }
      const { id } = await f.create(
        batch([
          once('active'),
          once('other'),
          once('waits'),
          job('again', [], later),
          once('later', { delay_until: '+PT1H' }),
        ]),
      )
      const held = await f.fetch()
      const by = (type: string): Any => held.find((j) => j.type === type)
      await f.nack(by('again'))
      expect(
        (
          await s.post('/ojs/v1/workers/nack', {
            job_id: by('waits').id,
            error: { code: 'x', message: 'x' },
            requeue: true,
          })
        ).status,
      ).toBe(200)
      expect(states(await f.get(id))).toEqual(['active', 'active', 'pending', 'pending', 'pending'])
      const { status, body } = await f.delete(id)
      expect(status).toBe(200)
      expect(body.workflow).toMatchObject({
        id,
        state: 'cancelled',
        metadata: { cancelled_at: expect.stringMatching(MOMENT), completed_count: 0, failed_count: 0 },
      })
      expect(states(body.workflow)).toEqual(['active', 'active', 'cancelled', 'cancelled', 'cancelled'])
      expect(Object.values(body.workflow.callbacks).map((c: Any) => c.state)).toEqual([
        'cancelled',
        'cancelled',
        'cancelled',
      ])
      expect(await f.fetch()).toEqual([])
      // A second cancel is refused although a job is still active.
      expect((await f.delete(id)).status).toBe(409)
      await f.ack(by('active'), 'kept')
      await f.nack(by('other'), { code: 'late' })
      const after = await f.get(id)
      expect(after.state).toBe('cancelled')
      expect(states(after)).toEqual(['completed', 'failed', 'cancelled', 'cancelled', 'cancelled'])
      expect(after.jobs[0].result).toBe('kept')
      expect(after.metadata).toMatchObject({
        completed_count: 1,
        failed_count: 1,
        cancelled_at: body.workflow.metadata.cancelled_at,
      })
      expect(await f.fetch()).toEqual([])
      expect((await f.delete(id)).body.error.code).toBe('conflict')
    })

    it('11.3 thousands of jobs: nothing can be fetched once the cancel is answered', async () => {
      const jobs = Array.from({ length: 3500 }, () => job('a'))
      for (const body of [group(...jobs), chain(group(...jobs), job('b'))]) {
        const { id } = await f.create(body)
        await until(
          () => s.get('/ojs/v1/queues/default/stats'),
          (r) => r.body.available === 3500,
        )
        expect((await f.delete(id)).body.workflow.state).toBe('cancelled')
        expect(await f.fetch()).toEqual([])
      }
    }, 60_000)

    it('11.3 of many simultaneous cancels exactly one succeeds', async () => {
      const { id } = await f.create(chain(job('a'), job('b')))
      await f.fetchOne('a')
      const replies = await Promise.all(Array.from({ length: 8 }, () => f.delete(id)))
      expect(replies.map((r) => r.status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409])
    })

    it('11.3 after a cancel an active job that times out or expires is not retried', async () => {
      const { id } = await f.create(chain(job('a', [], { retry: { max_attempts: 5 } }), job('b')))
      await s.post('/ojs/v1/workers/fetch', { queues: ['default'], visibility_timeout_ms: 5000 })
      await f.delete(id)
      await s.store.moveClock(6000)
      await until(
        () => f.get(id),
        (w) => w.steps[0].state === 'failed',
      )
      expect(states(await f.get(id))).toEqual(['failed', 'cancelled'])
      await s.store.moveClock(600_000)
      expect(await f.fetch()).toEqual([])
    })

    it('lists workflows, newest first, by name, type and state, page by page', async () => {
      const made: Any[] = []
      for (const body of [
        { ...chain(once('a')), name: 'one' },
        { ...group(once('a')), name: 'one' },
        batch([once('a')]),
        { ...chain(job('a', [], { delay_until: '+PT1H' })), name: 'two' },
        { ...chain(group(once('b'))), name: 'two' },
      ])
        made.push(await f.create(body))
      const ids = async (query: string): Promise<number[]> => {
        const { status, body, text } = await s.get(`/ojs/v1/workflows?${query}`)
        expect(status, text).toBe(200)
        expect(body.pagination.total).toBe(body.workflows.length)
        return body.workflows.map((w: Any) => made.findIndex((m) => m.id === w.id))
      }
      expect(await ids('')).toEqual([4, 3, 2, 1, 0])
      expect(await ids('name=one')).toEqual([1, 0])
      expect(await ids('type=chain')).toEqual([4, 3, 0])
      expect(await ids('type=group')).toEqual([1])
      expect(await ids('type=batch')).toEqual([2])
      expect(await ids('state=pending')).toEqual([3])
      expect(await ids('state=running')).toEqual([4, 2, 1, 0])
      expect(await ids('state=running&type=chain&name=two')).toEqual([4])
      await f.delete(made[3].id)
      await f.work((j) => (j.workflow_id === made[1].id ? new Error('no') : null))
      expect(await ids('state=completed')).toEqual([4, 2, 0])
      expect(await ids('state=failed')).toEqual([1])
      expect(await ids('state=cancelled')).toEqual([3])
      expect(await ids('state=pending')).toEqual([])
      const summary = (await s.get('/ojs/v1/workflows?state=failed')).body.workflows[0]
      const { jobs: _, ...rest } = await f.get(made[1].id)
      expect(summary).toMatchObject({ id: rest.id, type: 'group', name: 'one', jobs_total: 1, state: 'failed' })
      const first = (await s.get('/ojs/v1/workflows?limit=2')).body
      expect(first.pagination).toMatchObject({ total: 5, has_more: true })
      const second = (await s.get(`/ojs/v1/workflows?limit=2&cursor=${first.pagination.next_cursor}`)).body
      const third = (await s.get(`/ojs/v1/workflows?page=3&per_page=2`)).body
      expect([first, second, third].flatMap((p) => p.workflows.map((w: Any) => w.id))).toEqual(
        [4, 3, 2, 1, 0].map((i) => made[i].id),
      )
      for (const query of ['state=nonsense', 'type=dag', 'limit=0', 'nmae=x', 'cursor=!']) {
        expect((await s.get(`/ojs/v1/workflows?${query}`)).status).toBe(400)
      }
    })

    it('a group of thousands is shown in windows; the counts include all of it', async () => {
      const { id, jobs_total, jobs, jobs_truncated, jobs_next_offset } = await f.create(
        group(...Array.from({ length: 2500 }, (_, i) => once(`job.n${i % 7}`))),
      )
      expect({ jobs_total, shown: jobs.length, jobs_truncated, jobs_next_offset }).toEqual({
        jobs_total: 2500,
        shown: 1000,
        jobs_truncated: true,
        jobs_next_offset: 1000,
      })
      const last = await until(
        () => f.get(id, '?jobs_offset=2400&jobs_limit=500'),
        (w) => states(w).every((state) => state === 'pending'),
      )
      expect(last.jobs).toHaveLength(100)
      expect(last.jobs.at(-1)).toMatchObject({ index: 2499, state: 'pending' })
      expect(last.jobs_next_offset).toBeUndefined()
      const failed: string[] = []
      for (let left = 2500; left > 0; ) {
        const portion = await f.fetch(100)
        left -= portion.length
        const bad = portion.filter((j) => j.workflow.job_index >= 2490)
        for (const one of bad) {
          await f.nack(one)
          failed.push(one.id)
        }
        const acks = portion.filter((j) => !bad.includes(j)).map((j) => ({ job_id: j.id }))
        if (acks.length > 0) expect((await s.post('/ojs/v1/workers/ack/batch', { acks })).body.failed).toBe(0)
      }
      const { state, metadata } = await f.get(id)
      expect(state).toBe('failed')
      expect(metadata).toMatchObject({ job_count: 2500, completed_count: 2490, failed_count: 10 })
      expect([...metadata.failed_job_ids].sort()).toEqual(failed.sort())
    }, 120_000)

    it('a failed workflow can be retried as a new one that carries over completed jobs', async () => {
      const old = await f.create({ ...chain(once('a'), once('b'), once('c')), id: 'wf_first', name: 'order' })
      await f.ack(await f.fetchOne('a'), { n: 1 })
      expect((await s.post('/ojs/v1/workflows/wf_first/retry')).status).toBe(409)
      await f.nack(await f.fetchOne('b'))
      const before = await f.get('wf_first')
      const { status, body, headers } = await s.post('/ojs/v1/workflows/wf_first/retry')
      expect(status).toBe(201)
      const { workflow } = body
      expect(headers.get('location')).toBe(`/ojs/v1/workflows/${workflow.id}`)
      expect(workflow).toMatchObject({ type: 'chain', name: 'order', state: 'running' })
      expect(workflow.id).not.toBe(old.id)
      expect(states(workflow)).toEqual(['completed', 'pending', 'waiting'])
      const b = await f.fetchOne('b')
      expect(b.parent_results).toEqual([{ n: 1 }])
      await f.ack(b)
      await f.work()
      expect((await f.get(workflow.id)).state).toBe('completed')
      expect(await f.get('wf_first')).toEqual(before)
      expect((await s.post(`/ojs/v1/workflows/${workflow.id}/retry`)).status).toBe(409)
    })

    it('reports its progress, and can be cancelled by POST too', async () => {
      const { id } = await f.create(group(once('a'), once('b'), once('c'), once('d')))
      const [a, b] = await f.fetch()
      await f.ack(a)
      await f.nack(b)
      expect((await s.get(`/ojs/v1/workflows/${id}/progress`)).body).toMatchObject({
        workflow_id: id,
        state: 'running',
        job_count: 4,
        completed_count: 1,
        failed_count: 1,
        progress: 0.5,
      })
      expect((await s.post(`/ojs/v1/workflows/${id}/cancel`)).body.workflow.state).toBe('cancelled')
    })
  })

  describe('tenants', () => {
    it('see only their own workflows, and have separate names', async () => {
      const as = (tenant: string) => ({ 'x-ojs-tenant': tenant })
      const body = { ...chain(once('a')), id: 'wf_same' }
      for (const tenant of ['one', 'two']) {
        expect((await s.post('/ojs/v1/workflows', body, as(tenant))).status).toBe(201)
        expect((await s.post('/ojs/v1/workflows', body, as(tenant))).status).toBe(409)
      }
      const one = (await s.get('/ojs/v1/workflows/wf_same', as('one'))).body.workflow
      const two = (await s.get('/ojs/v1/workflows/wf_same', as('two'))).body.workflow
      expect(one.steps[0].job_id).not.toBe(two.steps[0].job_id)
      expect((await s.get('/ojs/v1/workflows/wf_same', as('three'))).status).toBe(404)
      expect((await s.get('/ojs/v1/workflows', as('one'))).body.workflows).toHaveLength(1)
      expect((await s.ask('DELETE', '/ojs/v1/workflows/wf_same', { headers: as('two') })).status).toBe(200)
      expect((await s.get('/ojs/v1/workflows/wf_same', as('one'))).body.state).toBe('running')
    })
  })
})
