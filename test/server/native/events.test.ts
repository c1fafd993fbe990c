/** POST /v1/events: an external event starts the definitions that listen to it. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, requests, work, workflow } from './stage.ts'

onBothStores('events over HTTP', (stage) => {
  let s: Serving
  const { look, unchanged } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false }, maxBodyBytes: 200_000 })
    await deploy(s, workflow('bill', { version: '1', trigger: '{ event: order.placed }' }))
    await deploy(s, workflow('check', { trigger: '{ event: order.placed, condition: amount > 100 }' }))
  })
  beforeEach(() => work(s))

  it('starts every definition that listens and whose condition is true, with the payload as input', async () => {
    const ci = await key(s, 'shop', ['enqueue'])
    const small = await s.post('/v1/events', { type: 'order.placed', payload: { amount: 5 }, id: 'e1' }, ci)
    expect(small.status).toBe(200)
    expect(small.body).toEqual({
      id: 'e1',
      started: [{ name: 'bill', version: '1', instance_id: expect.any(String), created: true }],
      passed: [{ name: 'check', condition: 'amount > 100', why: 'the condition does not hold' }],
    })
    const shown = await look(small.body.started[0].instance_id)
    expect(shown).toMatchObject({
      input: { amount: 5 },
      initiator: 'shop',
      meta: { trigger: { kind: 'event', event: 'order.placed', event_id: 'e1' } },
    })
    const large = await s.post('/v1/events', { type: 'order.placed', payload: { amount: 500 } })
    expect(large.body.started.map((one: any) => one.name).sort()).toEqual(['bill', 'check'])
    expect(large.body.id).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('the same id again starts nothing twice', async () => {
    const first = await s.post('/v1/events', { type: 'order.placed', payload: { amount: 500 }, id: 'e2' })
    const again = await s.post('/v1/events', { type: 'order.placed', payload: { amount: 500 }, id: 'e2' })
    expect(again.body.started.map((one: any) => [one.instance_id, one.created])).toEqual(
      first.body.started.map((one: any) => [one.instance_id, false]),
    )
  })

  it('starts an idle instance instead of a new one', async () => {
    const idle = await s.post('/v1/instances', { workflow: 'bill', start: false, input: { mine: true } })
    const { body } = await s.post('/v1/events', { type: 'order.placed', payload: { amount: 1 } })
    expect(body.started).toMatchObject([{ name: 'bill', instance_id: idle.body.id, created: true }])
    expect(await look(idle.body.id)).toMatchObject({ instance: { state: 'running' }, input: { mine: true } })
  })

  it('a payload on which the condition cannot be evaluated: skipped, with the reason', async () => {
    const { status, body } = await s.post('/v1/events', { type: 'order.placed', payload: { amount: {} } })
    expect(status).toBe(200)
    expect(body.passed).toMatchObject([{ name: 'check', why: expect.stringContaining('cannot be evaluated') }])
  })

  it('an event without listeners: 404 with the known events, and nothing is written', async () => {
    const reply = await unchanged(() => s.post('/v1/events', { type: 'order.placd', payload: {} }))
    expect(reply.status).toBe(404)
    expect(reply.body.error).toMatchObject({
      code: 'unknown_event',
      message: expect.stringContaining("did you mean 'order.placed'?"),
      details: { event: 'order.placd', known: ['order.placed'], did_you_mean: 'order.placed' },
    })
  })

  describe('bad input', () => {
    it.each([
      ['no type', { payload: {} }, 'type'],
      ['an empty type', { type: '' }, 'type'],
      ['a type that is no text', { type: ['a'] }, 'type'],
      ['a type that is too long', { type: 'x'.repeat(300) }, 'type'],
      ['an id that is no text', { type: 'order.placed', id: 7 }, 'id'],
      ['an id with NUL', { type: 'order.placed', id: 'a\u0000' }, 'id'],
      ['an id that is too long', { type: 'order.placed', id: 'x'.repeat(300) }, 'id'],
      ['an unknown field', { type: 'order.placed', data: {} }, 'data'],
    ])('%s: 400', async (_, body, field) => {
      const reply = await unchanged(() => s.post('/v1/events', body))
      expect([reply.status, reply.body.error.code, reply.body.error.details.field]).toEqual([
        400,
        'invalid_request',
        field,
      ])
    })

    it('a payload that is too large, or cannot be stored', async () => {
      const large = await unchanged(() => s.post('/v1/events', { type: 'order.placed', payload: 'x'.repeat(300_000) }))
      expect([large.status, large.body.error.code]).toEqual([413, 'payload_too_large'])
      const nul = await unchanged(() => s.post('/v1/events', { type: 'order.placed', payload: { a: '\u0000' } }))
      expect([nul.status, nul.body.error.code]).toEqual([400, 'unstorable'])
      expect((await s.get('/v1/events')).status).toBe(405)
    })
  })

  it('a tenant receives only its own events', async () => {
    const acme = await key(s, 'ann', ['admin'], 'acme')
    const refused = await unchanged(() => s.post('/v1/events', { type: 'order.placed' }, acme))
    expect([refused.status, refused.body.error.details.known]).toEqual([404, []])
    await deploy(s, workflow('bill', { trigger: '{ event: order.placed }' }), acme)
    const { body } = await s.post('/v1/events', { type: 'order.placed', id: 'e1' }, acme)
    expect(body.started).toMatchObject([{ name: 'bill', created: true }])
    expect((await look(body.started[0].instance_id)).instance.tenant).toBe('acme')
  })
})
