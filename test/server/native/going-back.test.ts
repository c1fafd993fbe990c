/** Going back over HTTP: retries from a step, forks, previews, waits cut short, runs done again in place. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { net, node, ONCE } from '../../engine/drive.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, everything, key, MISSING, requests, work, workflow } from './stage.ts'

onBothStores('going back over HTTP', (stage) => {
  let s: Serving
  const { start, look, unchanged } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
    await deploy(s, workflow('order', { steps: ['check', 'pay', 'ship'] }))
  })
  beforeEach(() => work(s))

  const failing = async (): Promise<string> => {
    const id = await start({ input: { n: 1 } })
    await work(s, { 'order.check': 'ok', 'order.pay': 'paid 1', 'order.ship': new Error('no such address') })
    return id
  }

  it('a retry from a step with edited arguments: 201, and the history records it', async () => {
    const id = await failing()
    const operator = await key(s, 'op', ['enqueue'])
    const made = await s.post(
      `/v1/instances/${id}/retry`,
      { from: { step: 'pay' }, args_patch: { input: { n: 2 } } },
      operator,
    )
    expect([made.status, made.headers.get('location')]).toEqual([201, `/v1/instances/${made.body.id}`])
    expect(made.body).toMatchObject({ created: true, retry_of: id, instance: { state: 'running' } })
    expect((await look(made.body.id)).runs.map((run: any) => [run.node, run.status])).toEqual([
      ['check', 'succeeded'],
      ['pay', 'pending'],
    ])
    const { events } = (await s.get(`/v1/instances/${made.body.id}/events`)).body
    expect(events.find((e: any) => e.type === 'instance.retries').data).toMatchObject({
      actor: 'op',
      from: { step: 'pay' },
      args_edited: { keys: expect.arrayContaining(['input']) },
    })
    expect(await work(s)).toEqual(['order.pay', 'order.ship'])
  })

  it('a dry run: 200, pages of steps, and nothing changes', async () => {
    const id = await failing()
    const asked = { from: { step: 'pay' }, dry_run: true, limit: 2 }
    const first = await unchanged(() => s.post(`/v1/instances/${id}/retry`, asked))
    expect([first.status, first.body]).toMatchObject([
      200,
      {
        dry_run: true,
        retry_of: id,
        from: { instance_id: id, step: 'pay', item: null },
        runs_again: [{ step: 'pay', kind: 'run', count: 1, why: 'chosen', at_least: false }],
        carried_over: [{ step: 'check', count: 1 }],
        counts: { runs_again: 1, carried_over: 1 },
        next_after: '0/pay',
      },
    ])
    const second = await s.post(`/v1/instances/${id}/retry`, { ...asked, after: first.body.next_after })
    expect(second.body).toMatchObject({
      runs_again: [{ step: 'ship', why: 'follows' }],
      carried_over: [],
      next_after: null,
    })
  })

  it('a fork of a completed instance, and its dry run', async () => {
    const id = await start()
    await work(s)
    const dry = await s.post(`/v1/instances/${id}/fork`, { dry_run: true })
    expect(dry.body.counts).toEqual({ runs_again: 3, carried_over: 0 })
    const fork = await s.post(`/v1/instances/${id}/fork`, { from: { step: 'ship' }, start_key: 'copy' })
    expect([fork.status, fork.body.retry_of]).toEqual([201, id])
    expect((await s.post(`/v1/instances/${id}/fork`, { start_key: 'copy' })).body).toMatchObject({
      id: fork.body.id,
      created: false,
    })
    expect(await work(s)).toEqual(['order.ship'])
  })

  it.each([
    ['an unknown step', 'retry', { from: { step: 'shp' } }, 400, 'invalid_request', "did you mean 'ship'?"],
    ['no step', 'retry', { from: {} }, 400, 'invalid_request', 'from.step'],
    ['a firing 0', 'retry', { from: { step: 'pay', firing: 0 } }, 400, 'invalid_request', 'firing'],
    ['an item of no list', 'retry', { from: { step: 'pay', item: 0 } }, 400, 'invalid_request', 'not a list'],
    ['arguments without a step', 'fork', { args: {} }, 400, 'invalid_request', 'from'],
    ['an unknown field', 'fork', { form: { step: 'pay' } }, 400, 'invalid_request', 'form'],
  ] as const)('%s: refused, and nothing changes', async (_, verb, body, status, code, message) => {
    const id = await failing()
    const reply = await unchanged(() => s.post(`/v1/instances/${id}/${verb}`, body))
    expect([reply.status, reply.body.error.code]).toEqual([status, code])
    expect(JSON.stringify(reply.body.error)).toContain(message)
    expect(reply.body.error.hint).toBeTruthy()
  })

  it('of what still runs: 409 with its state', async () => {
    const id = await start()
    for (const verb of ['retry', 'fork'] as const) {
      const reply = await unchanged(() => s.post(`/v1/instances/${id}/${verb}`, { from: { step: 'check' } }))
      expect([reply.status, reply.body.error.details.state]).toEqual([409, 'running'])
      expect(reply.body.error.hint).toContain('Wait until it has ended')
    }
  })

  it('another tenant sees and changes nothing; without the scope it is refused', async () => {
    const id = await failing()
    const other = await key(s, 'ben', ['enqueue', 'admin'], 'other')
    const reader = await key(s, 'eve', ['read'])
    const run = (await look(id)).runs[0].id
    const before = await everything(s)
    for (const path of ['retry', 'fork', 'retry-now']) {
      expect((await s.post(`/v1/instances/${id}/${path}`, undefined, other)).status).toBe(404)
      expect((await s.post(`/v1/instances/${id}/${path}`, undefined, reader)).status).toBe(403)
      expect((await s.post(`/v1/instances/${MISSING}/${path}`)).status).toBe(404)
    }
    for (const path of ['retry-now', 'redrive']) {
      expect((await s.post(`/v1/runs/${run}/${path}`, undefined, other)).status).toBe(404)
      expect((await s.post(`/v1/runs/${run}/${path}`, undefined, reader)).status).toBe(403)
    }
    expect(await everything(s)).toEqual(before)
  })

  describe('runs', () => {
    const broken = async (how: 'retry' | 'discard', flow: ReturnType<typeof net>, type: string): Promise<string> => {
      await s.engine.start([{ net: flow }])
      const fetching = {
        queues: null,
        runtime: null,
        tenant: null,
        limit: 1,
        holder: 'w',
        leaseMs: () => 60_000,
        waitMs: 0,
      }
      const [run] = await s.engine.leases.fetch({ ...fetching, types: [type] })
      const outcome = { kind: 'failed', how, error: { code: 'busy', message: 'busy' } } as const
      await s.engine.leases.settle([{ runId: run?.id as string, holder: 'w', attempt: null, outcome }])
      return run?.id as string
    }
    const SLOW = { ...ONCE, maxAttempts: 3, initialMs: 3_600_000, maxMs: 3_600_000 }

    it('one that waits between two attempts is due at once; a second time is refused with its state', async () => {
      const id = await broken('retry', net([node('slow', [], { retry: SLOW })]), 'slow')
      const due = await s.post(`/v1/runs/${id}/retry-now`)
      expect([due.status, due.body.run.status, due.body.run.attempt]).toEqual([200, 'pending', 1])
      const again = await s.post(`/v1/runs/${id}/retry-now`)
      expect([again.status, again.body.error.details.status]).toEqual([409, 'pending'])
      expect(again.body.error.hint).toContain('due already')
      expect(await work(s)).toEqual(['slow'])
    })

    it('of an instance: how many', async () => {
      const id = await broken('retry', net([node('slow', [], { retry: SLOW })]), 'slow')
      const { instance_id } = (await s.get(`/v1/runs/${id}`)).body.run
      const instance = instance_id ?? (await s.store.read.run(id))?.instanceId
      expect((await s.post(`/v1/instances/${instance}/retry-now`)).body).toMatchObject({
        count: 1,
        instance: { state: 'running' },
      })
      expect((await s.post(`/v1/instances/${instance}/retry-now`)).status).toBe(409)
      await work(s)
      const ended = await s.post(`/v1/instances/${instance}/retry-now`)
      expect([ended.status, ended.body.error.details.state]).toEqual([409, 'completed'])
    })

    it('one that failed for good is done again in place, or refused with what stands in the way', async () => {
      const flow = net([node('one', [], { retry: ONCE, onFailure: 'skip' }), node('two', [], { retry: ONCE })], {
        entry: ['one', 'two'],
      })
      const id = await broken('discard', flow, 'one')
      const redriven = await s.post(`/v1/runs/${id}/redrive`)
      expect([redriven.status, redriven.body.run.status]).toEqual([200, 'pending'])
      expect((await work(s)).sort()).toEqual(['one', 'two'])
      const routed = await broken(
        'discard',
        net([node('one', ['two'], { retry: ONCE, onFailure: 'skip' }), node('two')]),
        'one',
      )
      const refused = await s.post(`/v1/runs/${routed}/redrive`)
      expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
      expect(refused.body.error.hint).toContain('retry it from this step')
    })
  })
})
