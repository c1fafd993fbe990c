/** Pause and resume over HTTP, and the list of what is paused. */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, MISSING, requests, work, workflow } from './stage.ts'

onBothStores('pauses over HTTP', (stage) => {
  let s: Serving
  const { start, look } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
    await deploy(s, workflow('order'))
  })
  beforeEach(() => work(s))

  it('pauses with a reason, shows it, refuses a second pause with the facts, and resumes', async () => {
    const id = await start({})
    const paused = await s.post(`/v1/instances/${id}/pause`, { reason: 'audit', timeouts: 'run' })
    expect(paused.status).toBe(200)
    expect(paused.body).toMatchObject({
      instance: { id, state: 'running', paused: true },
      pause: { kind: 'instance', name: id, reason: 'audit', timeouts: 'run', resumed_at: null },
    })
    expect(await work(s)).toEqual([])
    const { instance, runs } = await look(id)
    expect([instance.paused, runs[0].paused]).toEqual([true, true])
    const why = (await s.get(`/v1/instances/${id}/why`)).body
    expect(why.about[0]).toMatchObject({ kind: 'paused', what: 'instance', instance: id, reason: 'audit' })
    const again = await s.post(`/v1/instances/${id}/pause`)
    expect([again.status, again.body.error.code]).toEqual([409, 'conflict'])
    expect(again.body.error.details).toMatchObject({ instance_id: id, paused: { reason: 'audit', timeouts: 'run' } })
    expect(again.body.error.hint).toContain('Resume it')
    const resumed = await s.post(`/v1/instances/${id}/resume`)
    expect(resumed.body).toMatchObject({ instance: { paused: false }, pause: { reason: 'audit' } })
    const other = await s.post(`/v1/instances/${id}/resume`)
    expect([other.status, other.body.error.details.paused]).toEqual([409, false])
    expect(await work(s)).toEqual(['order.pay', 'order.ship'])
    const ended = await s.post(`/v1/instances/${id}/pause`)
    expect([ended.status, ended.body.error.details.state]).toEqual([409, 'completed'])
  })

  it('a run that waits for a pause is shown with the time at which it is due without it', async () => {
    const id = await start({})
    const before = (await look(id)).runs[0].run_at
    const { body } = await s.post('/v1/runs', { type: 'parked.a.v1', payload: {}, run_at: '2090-01-01T00:00:00Z' })
    expect((await s.post(`/v1/instances/${id}/pause`)).status).toBe(200)
    expect((await s.post('/v1/registry/parked.a.v1/pause')).status).toBe(200)
    const { runs } = await look(id)
    expect(runs[0]).toMatchObject({ paused: true, run_at: before })
    const found = (await s.get(`/v1/runs?q=instance:${id}`)).body.runs
    expect(found).toMatchObject([{ paused: true, run_at: before }])
    expect((await s.get(`/v1/runs/${found[0].id}`)).body.run.run_at).toBe(before)
    expect((await s.get(`/v1/runs/${body.id}`)).body.run.run_at).toBe('2090-01-01T00:00:00.000Z')
    expect(JSON.stringify((await s.get(`/ojs/v1/jobs/${found[0].id}`)).body)).not.toContain('9999-')
    await s.post('/v1/registry/parked.a.v1/resume')
    await s.post(`/v1/instances/${id}/resume`)
    expect((await look(id)).runs[0].paused).toBe(false)
  })

  it.each([
    [{ reason: '' }, 'reason'],
    [{ reason: 'x'.repeat(1_001) }, 'reason'],
    [{ timeouts: 'halt' }, 'timeouts'],
    [{ why: 'x' }, 'why'],
  ])('refuses %j and changes nothing', async (body, field) => {
    const id = await start({})
    const { status, body: answer } = await s.post(`/v1/instances/${id}/pause`, body)
    expect([status, answer.error.code]).toEqual([400, 'invalid_request'])
    expect(JSON.stringify(answer.error)).toContain(field)
    expect((await look(id)).instance.paused).toBe(false)
  })

  it('lists what is paused, newest first and by page; a tenant sees only its own', async () => {
    const ann = await key(s, 'ann', ['read', 'enqueue', 'admin'], 'acme')
    await deploy(s, workflow('order'), ann)
    const ours = (await s.post('/v1/instances', { workflow: 'order' }, ann)).body.id
    const other = await start({})
    for (const id of [other, ours]) expect((await s.post(`/v1/instances/${id}/pause`)).status).toBe(200)
    const first = (await s.get('/v1/pauses?limit=1')).body
    expect(first.pauses).toMatchObject([{ name: ours, tenant: 'acme' }])
    const second = (await s.get(`/v1/pauses?limit=1&before=${encodeURIComponent(first.next_before)}`)).body
    expect(second).toMatchObject({ pauses: [{ name: other }], next_before: null })
    expect((await s.get('/v1/pauses', ann)).body.pauses).toMatchObject([{ name: ours }])
    expect((await s.post(`/v1/instances/${other}/resume`, undefined, ann)).status).toBe(404)
    expect((await s.get('/v1/pauses?before=x')).status).toBe(400)
    for (const id of [other, ours]) await s.post(`/v1/instances/${id}/resume`)
    expect((await s.get('/v1/pauses')).body.pauses).toEqual([])
  })

  it('needs the scope enqueue, and an instance that exists', async () => {
    const reader = await key(s, 'eve', ['read'])
    const id = await start({})
    expect((await s.post(`/v1/instances/${id}/pause`, {}, reader)).status).toBe(403)
    for (const verb of ['pause', 'resume']) expect((await s.post(`/v1/instances/${MISSING}/${verb}`)).status).toBe(404)
  })

  it('a definition: starts are accepted and wait, and begin at the resume', async () => {
    const paused = await s.post('/v1/definitions/order/pause', { reason: 'prices' })
    expect(paused.body).toMatchObject({
      pause: { kind: 'definition', name: 'order', reason: 'prices', timeouts: null },
    })
    const id = await start({})
    expect((await look(id)).instance.state).toBe('queued')
    const why = (await s.get(`/v1/instances/${id}/why`)).body
    expect(why.about[0]).toMatchObject({ kind: 'paused', what: 'definition', definition: 'order', reason: 'prices' })
    const again = await s.post('/v1/definitions/order/pause')
    expect([again.status, again.body.error.details.paused.reason]).toEqual([409, 'prices'])
    expect((await s.post('/v1/definitions/nothing/pause')).status).toBe(404)
    expect((await s.get('/v1/pauses')).body.pauses).toMatchObject([{ kind: 'definition', name: 'order' }])
    expect((await s.post('/v1/definitions/order/resume')).status).toBe(200)
    expect((await s.post('/v1/definitions/order/resume')).status).toBe(409)
    await expect.poll(async () => (await look(id)).instance.state).toBe('running')
    expect(await work(s)).toEqual(['order.pay', 'order.ship'])
  })

  it('a type: all tenants share it, so that only a key of no tenant pauses it', async () => {
    const ann = await key(s, 'ann', ['admin'], 'acme')
    expect((await s.post('/v1/registry/order.ship/pause', {}, ann)).status).toBe(403)
    const paused = await s.post('/v1/registry/order.ship/pause', { reason: 'strike' })
    expect(paused.body).toMatchObject({ pause: { kind: 'type', name: 'order.ship', reason: 'strike' } })
    const id = await start({})
    expect(await work(s)).toEqual(['order.pay'])
    const why = (await s.get(`/v1/instances/${id}/why`)).body
    expect(why.waits[0].reasons[0]).toMatchObject({
      kind: 'paused',
      what: 'type',
      type: 'order.ship',
      reason: 'strike',
    })
    expect((await s.post('/v1/registry/order.ship/pause')).status).toBe(409)
    expect((await s.post('/v1/registry/order.ship/resume')).status).toBe(200)
    expect((await s.post('/v1/registry/order.ship/resume')).status).toBe(409)
    expect(await work(s)).toEqual(['order.ship'])
  })
})
