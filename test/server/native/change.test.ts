/** Changes to instances over HTTP: start an idle one, cancel, retry, patch the context. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { net as netOf, node } from '../../engine/drive.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, MISSING, requests, work, workflow } from './stage.ts'

onBothStores('changing instances over HTTP', (stage) => {
  let s: Serving
  const { start, look, unchanged } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false }, maxBodyBytes: 200_000 })
    await deploy(s, workflow('order', { version: '1.0' }))
    await deploy(s, workflow('order', { version: '2.0', steps: ['pay'] }))
    await deploy(s, workflow('asking', { steps: ['ask', 'ship'] }))
  })
  // Work left over by one test would be taken by the next.
  beforeEach(() => work(s))

  describe('changing', () => {
    const VERBS = ['start', 'cancel', 'retry'] as const

    it('cancels, and records the actor', async () => {
      const id = await start()
      const { status, body } = await s.post(`/v1/instances/${id}/cancel`, undefined, await key(s, 'op', ['enqueue']))
      expect([status, body.instance.state]).toEqual([200, 'cancelled'])
      const { events } = (await s.get(`/v1/instances/${id}/events`)).body
      expect(events.find((e: any) => e.type === 'instance.cancel_requested').data).toEqual({ actor: 'op' })
    })

    it('retries with its old input, or with another; completed steps are carried over', async () => {
      const id = await start({ version: '1.0', input: { address: 'wrong' } })
      await work(s, { 'order.pay': { paid: 5 }, 'order.ship': new Error('no such address') })
      expect((await look(id)).instance.state).toBe('failed')
      const retried = await s.post(`/v1/instances/${id}/retry`, { input: { address: 'right' } })
      expect(retried.status).toBe(201)
      expect(retried.headers.get('location')).toBe(`/v1/instances/${retried.body.id}`)
      expect(retried.body).toMatchObject({ created: true, retry_of: id, instance: { retry_of: id, state: 'running' } })
      const shown = await look(retried.body.id)
      expect([shown.input, shown.results.pay]).toEqual([{ address: 'right' }, { paid: 5 }])
      expect(await work(s)).toEqual(['order.ship'])
      expect((await look(retried.body.id)).instance.state).toBe('completed')
      expect((await look(id)).input).toEqual({ address: 'wrong' })
      const keyed = await s.post(`/v1/instances/${id}/retry`, { start_key: 'again' })
      const again = await s.post(`/v1/instances/${id}/retry`, { start_key: 'again' })
      expect([keyed.status, again.status, again.body.created]).toEqual([201, 200, false])
      expect(again.body.id).toBe(keyed.body.id)
      const same = await s.post(`/v1/instances/${id}/retry`)
      expect((await look(same.body.id)).input).toEqual({ address: 'wrong' })
    })

    it('patches the context: named entries are written, null removes one, the others stay', async () => {
      const id = await start()
      await s.ask('PATCH', `/v1/instances/${id}/context`, { body: { set: { a: 1, b: { c: [2] } } } })
      const { status, body } = await s.ask('PATCH', `/v1/instances/${id}/context`, {
        body: { set: { a: null, d: 'x' } },
      })
      expect(status).toBe(200)
      expect(body).toMatchObject({ instance: { id, state: 'running' }, context: { b: { c: [2] }, d: 'x' } })
      expect((await look(id)).context).toEqual(body.context)
    })

    it('admits a held token when the context changes', async () => {
      const admit = { rules: [{ when: 'ctx.ready', allow: true }], onDeny: 'hold' as const }
      const [made] = await s.engine.start([{ net: netOf([node('go', [], { admit })], { name: 'held' }) }])
      const id = (made as { id: string }).id
      expect((await look(id)).instance).toMatchObject({ state: 'waiting', held_tokens: 1 })
      await s.ask('PATCH', `/v1/instances/${id}/context`, { body: { set: { ready: true } } })
      expect((await look(id)).instance).toMatchObject({ state: 'running', held_tokens: 0 })
    })

    it.each([
      ['set is missing', {}, 'set'],
      ['set is a list', { set: [] }, 'set'],
      ['set names nothing', { set: {} }, 'set'],
      ['an unknown field', { set: { a: 1 }, unset: ['b'] }, 'unset'],
      ['an empty name', { set: { '': 1 } }, 'set.'],
      ['a name that is too long', { set: { ['n'.repeat(300)]: 1 } }, `set.${'n'.repeat(300)}`],
    ])('a patch where %s: 400', async (_, body, field) => {
      const id = await start()
      const reply = await unchanged(() => s.ask('PATCH', `/v1/instances/${id}/context`, { body }))
      expect([reply.status, reply.body.error.code, reply.body.error.details.field]).toEqual([
        400,
        'invalid_request',
        field,
      ])
    })

    it('in the wrong state is 409 with the state and a remedy', async () => {
      const running = await start()
      const failed = await start({ version: '1.0' })
      await work(s, { 'order.pay': new Error('broken') })
      const waiting = (await s.post('/v1/instances', { workflow: 'asking' })).body.id
      const completed = await start()
      await work(s)
      const cases: [string, string, string, RegExp][] = [
        [waiting, 'start', 'waiting', /idle/],
        [waiting, 'retry', 'waiting', /cancel it/],
        [failed, 'start', 'failed', /retry it/],
        [failed, 'cancel', 'failed', /stays as it is/],
        [completed, 'start', 'completed', /POST \/v1\/instances/],
        [completed, 'cancel', 'completed', /stays as it is/],
        [completed, 'retry', 'completed', /POST \/v1\/instances/],
        [running, 'start', 'failed', /retry it/],
      ]
      for (const [id, verb, state, hint] of cases) {
        const reply = await unchanged(() => s.post(`/v1/instances/${id}/${verb}`))
        expect([verb, reply.status, reply.body.error.code]).toEqual([verb, 409, 'conflict'])
        expect(reply.body.error.details).toMatchObject({ instance_id: id, state })
        expect(reply.body.error.hint).toMatch(hint)
      }
      const patch = await unchanged(() =>
        s.ask('PATCH', `/v1/instances/${failed}/context`, { body: { set: { a: 1 } } }),
      )
      expect([patch.status, patch.body.error.code, patch.body.error.details.state]).toEqual([409, 'conflict', 'failed'])
    })

    it('an unknown instance, an unexpected body, an unknown method', async () => {
      const id = await start({ start: false })
      for (const verb of VERBS) {
        for (const missing of [MISSING, 'x']) {
          expect((await s.post(`/v1/instances/${missing}/${verb}`)).status).toBe(404)
        }
        const reply = await unchanged(() => s.post(`/v1/instances/${id}/${verb}`, { force: true }))
        expect([verb, reply.status, reply.body.error.details.field]).toEqual([verb, 400, 'force'])
        expect((await s.get(`/v1/instances/${id}/${verb}`)).status).toBe(405)
      }
      const patch = await s.ask('PATCH', `/v1/instances/${MISSING}/context`, { body: { set: { a: 1 } } })
      expect(patch.status).toBe(404)
    })
  })
})
