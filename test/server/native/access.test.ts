/** Access to instances: scopes and tenants. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, requests, work, workflow } from './stage.ts'

onBothStores('access to instances over HTTP', (stage) => {
  let s: Serving
  const { start, unchanged } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false }, maxBodyBytes: 200_000 })
    await deploy(s, workflow('order', { version: '1.0' }))
    await deploy(s, workflow('order', { version: '2.0', steps: ['pay'] }))
  })
  // Work left over by one test would be taken by the next.
  beforeEach(() => work(s))

  describe('permissions', () => {
    it('start, cancel, retry and patch need the scope enqueue; reading needs read', async () => {
      const id = await start({ start: false })
      const reader = await key(s, 'rita', ['read'])
      const asks: [string, string, unknown][] = [
        ['POST', '/v1/instances', { workflow: 'order' }],
        ['POST', `/v1/instances/${id}/start`, undefined],
        ['POST', `/v1/instances/${id}/cancel`, undefined],
        ['POST', `/v1/instances/${id}/retry`, undefined],
        ['PATCH', `/v1/instances/${id}/context`, { set: { a: 1 } }],
        ['POST', '/v1/events', { type: 'a' }],
      ]
      for (const [method, path, body] of asks) {
        const reply = await unchanged(() => s.ask(method, path, { body, headers: reader }))
        expect([path, reply.status, reply.body.error.details.required_scope]).toEqual([path, 403, 'enqueue'])
      }
      expect((await s.get(`/v1/instances/${id}`, reader)).status).toBe(200)
      expect((await s.get('/v1/instances', await key(s, 'wim', ['work']))).status).toBe(403)
    })

    it('a key of a tenant sees and changes only its own', async () => {
      const acme = await key(s, 'ann', ['admin'], 'acme')
      const other = await key(s, 'bob', ['admin'], 'other')
      await deploy(s, workflow('order'), acme)
      await deploy(s, workflow('order'), other)
      const made = await s.post('/v1/instances', { workflow: 'order', start: false, start_key: 'tenant:1' }, acme)
      expect(made.body.instance).toMatchObject({ tenant: 'acme', state: 'idle' })
      const path = `/v1/instances/${made.body.id}`
      for (const [method, at, body] of [
        ['GET', path, undefined],
        ['GET', `${path}/events`, undefined],
        ['GET', `${path}/net`, undefined],
        ['POST', `${path}/start`, undefined],
        ['POST', `${path}/cancel`, undefined],
        ['POST', `${path}/retry`, undefined],
        ['PATCH', `${path}/context`, { set: { a: 1 } }],
      ] as const) {
        const reply = await unchanged(() => s.ask(method, at, { body, headers: other }))
        expect([at, reply.status]).toEqual([at, 404])
      }
      expect((await s.get('/v1/instances', other)).body.instances).toEqual([])
      expect((await s.get('/v1/instances?start_key=tenant:1', other)).body.instances).toEqual([])
      const own = await s.post('/v1/instances', { workflow: 'order', start_key: 'tenant:1' }, other)
      expect([own.status, own.body.instance.tenant]).toEqual([201, 'other'])
      expect(own.text).not.toContain(made.body.id)
      expect((await s.post(`${path}/start`, undefined, acme)).body.instance.state).toBe('running')
    })
  })
})
