/** Steps, why and telemetry over HTTP: small workflows in one reply, ten thousand steps page by page. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, MISSING, work, workflow } from './stage.ts'

onBothStores('steps, why and telemetry', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
  })

  async function start(name: string, more: object = {}): Promise<string> {
    const { body, status } = await s.post('/v1/instances', { workflow: name, ...more })
    expect([status, body.error]).toEqual([201, undefined])
    return body.instance.id
  }

  it('GET /v1/instances/:id of a DAG workflow has its status block', async () => {
    await deploy(s, workflow('block', { steps: ['pay', 'ask'] }))
    const id = await start('block')
    await work(s, { 'block.pay': { usage: { tokens: 3, cost: 1, currency: 'CHF' } } })
    const { body } = await s.get(`/v1/instances/${id}`)
    expect(body.status).toMatchObject({
      state: 'blocked',
      currentStep: 'ask',
      completedSteps: ['pay'],
      failedSteps: [],
      skippedSteps: [],
      completedAt: null,
      retries: 0,
      costAccumulated: { tokens: 3, cost: 1, currency: 'CHF' },
      conditions: [
        { type: 'Blocked', status: 'True', reason: 'ApprovalRequired', message: 'waits for a decision: ask' },
      ],
    })
    expect(body.status.transitions.map((t: { state: string }) => t.state)).toEqual([
      'idle',
      'queued',
      'executing',
      'blocked',
    ])
    expect(body.status.latency).toMatch(/^\d+(\.\d+)?s$/)
  })

  it('GET /steps has each step with its state, attempts, times, error and undo', async () => {
    await deploy(s, workflow('listed', { steps: ['pay', 'ship', 'tell'] }))
    const id = await start('listed')
    await work(s, { 'listed.ship': new Error('no stock') })
    const { body } = await s.get(`/v1/instances/${id}/steps`)
    expect(body).toMatchObject({ instance_id: id, total: 3, next_after: null })
    const [pay, ship, tell] = body.steps
    expect(pay).toMatchObject({
      name: 'pay',
      kind: 'run',
      state: 'completed',
      type: 'listed.pay',
      attempts: 1,
      error: null,
    })
    expect([typeof pay.duration_ms, pay.depends_on, pay.undo]).toEqual(['number', [], null])
    expect(ship).toMatchObject({ state: 'failed', depends_on: ['pay'], error: { message: 'no stock' }, attempts: 1 })
    expect(tell).toMatchObject({ state: 'pending', run_id: null, started_at: null })
  })

  it('GET /why explains in a sentence what each step waits for', async () => {
    await deploy(s, workflow('held', { steps: ['pay', 'ask'] }))
    const id = await start('held')
    const { body } = await s.get(`/v1/instances/${id}/why`)
    expect(body.instance).toMatchObject({ id, state: 'running' })
    expect(body.waits.map((w: { node: string; state: string }) => [w.node, w.state])).toEqual([
      ['pay', 'pending'],
      ['ask', 'pending'],
    ])
    const texts = body.waits.map((w: { reasons: { text: string }[] }) => w.reasons.map(({ text }) => text))
    expect(texts).toEqual([
      ["no live worker takes 'held.pay' on queue 'held.pay'", "none before it in queue 'held.pay'"],
      ['waits for pay (pending)'],
    ])
    await work(s)
    const asked = await s.get(`/v1/instances/${id}/why`)
    const [gate] = asked.body.waits[0].reasons
    expect(gate).toMatchObject({ kind: 'gate', approvals: 0, quorum: 1, missing: null, on_timeout: 'reject' })
    expect(gate.text).toBe(`waits for people: 0 of 1 approval; rejected at ${gate.due_at}`)
  })

  it('GET /telemetry of one instance and of all, in pages that continue where the last one ended', async () => {
    await deploy(s, workflow('steps'))
    const id = await start('steps', { correlation_id: 'order-17' })
    await work(s)
    const seen: string[] = []
    for (let after = 0, more = true; more; ) {
      const { body } = await s.get(`/v1/instances/${id}/telemetry?limit=2&after=${after}`)
      seen.push(...body.events.map((e: { type: string }) => e.type))
      after = body.next_after
      more = body.has_more
    }
    expect(seen).toEqual([
      'steps.workflow_idle',
      'steps.workflow_queued',
      'steps.workflow_started',
      'steps.workflow_step_queued',
      'steps.workflow_step_started',
      'steps.workflow_step_completed',
      'steps.workflow_step_queued',
      'steps.workflow_step_started',
      'steps.workflow_step_completed',
      'steps.workflow_completed',
    ])
    const all: { type: string; correlationId: string }[] = []
    for (let after = 0, more = true; more; ) {
      const { body } = await s.get(`/v1/telemetry?limit=3&after=${after}`)
      all.push(...body.events)
      after = body.next_after
      more = body.has_more
    }
    const ours = all.filter(({ correlationId }) => correlationId === 'order-17')
    expect(ours.map(({ type }) => type)).toEqual(seen)
  })

  it('reports mistakes in a request: unknown instance, parameter, cursor, notation', async () => {
    for (const path of ['steps', 'why', 'telemetry']) {
      expect((await s.get(`/v1/instances/${MISSING}/${path}`)).status).toBe(404)
      expect((await s.get(`/v1/instances/nonsense/${path}`)).status).toBe(404)
    }
    await deploy(s, workflow('wrong'))
    const id = await start('wrong')
    for (const path of ['steps?after=nowhere', 'why?after=x', 'why?limit=0', 'steps?page=1', 'telemetry?after=-1']) {
      const { status, body } = await s.get(`/v1/instances/${id}/${path}`)
      expect([path, status, body.error.code]).toEqual([path, 400, 'invalid_request'])
    }
    const plain = await s.post('/ojs/v1/workflows', { type: 'chain', steps: [{ type: 'x', args: [] }] })
    const other = plain.body.workflow.id
    expect(await s.get(`/v1/instances/${other}/telemetry`)).toMatchObject({ status: 422 })
    expect((await s.get(`/v1/instances/${other}/steps`)).body.steps).toMatchObject([{ name: '0', state: 'pending' }])
    expect((await s.get(`/v1/instances/${other}`)).body.status).toBeUndefined()
  })

  it('another tenant’s instance is not found', async () => {
    const theirs = await key(s, 'ann', ['admin'], 'blue')
    const other = await key(s, 'bob', ['admin'], 'red')
    await deploy(s, workflow('secret'), theirs)
    const { body } = await s.post('/v1/instances', { workflow: 'secret' }, theirs)
    for (const path of ['steps', 'why', 'telemetry']) {
      expect((await s.get(`/v1/instances/${body.instance.id}/${path}`, theirs)).status).toBe(200)
      expect((await s.get(`/v1/instances/${body.instance.id}/${path}`, other)).status).toBe(404)
    }
    expect((await s.get('/v1/telemetry', other)).body.events).toEqual([])
    expect((await s.get('/v1/telemetry', theirs)).body.events.length).toBeGreaterThan(0)
  })

  it('ten thousand steps: pages of steps and of why, the whole status', async () => {
    const names = Array.from({ length: 9_999 }, (_, i) => `s${i}`)
    const { net, node } = await import('../../engine/drive.ts')
    const nodes = [node('first', names), ...names.map((name) => node(name))]
    const [started] = await s.engine.start([{ net: net(nodes, { name: 'wide', dialect: 'dag' }) }])
    const id = started?.id ?? ''
    const [first] = await s.engine.leases.fetch({
      queues: null,
      types: ['first'],
      limit: 1,
      holder: 'hand',
      runtime: null,
      tenant: null,
      leaseMs: () => 60_000,
      waitMs: 0,
    })
    await s.engine.leases.settle([
      { runId: first?.id ?? '', holder: 'hand', attempt: null, outcome: { kind: 'succeeded', result: null } },
    ])
    for (let round = 0; round < 20; round++) await s.engine.sweep()
    const { body: page } = await s.get(`/v1/instances/${id}/steps?limit=999&after=s8998`)
    expect([page.total, page.steps.length, page.steps[0].name, page.next_after]).toEqual([
      10_000,
      999,
      's8999',
      's9997',
    ])
    const { body } = await s.get(`/v1/instances/${id}/why?limit=200`)
    expect([body.waits.length, body.waits[0].node, body.next_after]).toEqual([200, 's0', '0.200.-1'])
    expect(body.waits[199].reasons.at(-1).kind).toBe('queue')
    const whole = await s.get(`/v1/instances/${id}`)
    expect(whole.body.status).toMatchObject({ state: 'executing', completedSteps: ['first'] })
  }, 120_000)
})
