/** Access to the inbox: scopes of keys, and keys of one tenant. */
import { beforeAll, expect, it } from 'vitest'
import type { Scope } from '../../../src/operations/caller.ts'
import { makeKey } from '../../../src/operations/keys/api-key.ts'
import { onBothStores, type Serving } from '../serving.ts'

type As = Record<string, string>

async function keyOf(s: Serving, tenant: string | null, scopes: readonly Scope[]): Promise<As> {
  const { id, hash, text } = makeKey()
  const times = { createdAt: Date.now(), expiresAt: null, revokedAt: null }
  await s.store.keys.add({ id, hash, subject: `${tenant ?? 'all'}-${scopes}`, scopes, roles: [], tenant, ...times })
  return { authorization: `Bearer ${text}` }
}

const NOBODY = '01900000-0000-7000-8000-000000000000'
const HELD = { worker_id: 'w', epoch: 0 }

/** The scope that each route requires; a key without it is refused before anything is read. */
const ROUTES: readonly (readonly [Scope, string, string, unknown])[] = [
  ['enqueue', 'POST', '/v1/runs', { type: 'scope.a.v1', payload: {} }],
  ['read', 'GET', '/v1/runs', undefined],
  ['read', 'GET', `/v1/runs/${NOBODY}`, undefined],
  ['read', 'GET', `/v1/runs/${NOBODY}/events`, undefined],
  ['enqueue', 'POST', `/v1/runs/${NOBODY}/cancel`, {}],
  ['enqueue', 'DELETE', `/v1/runs/${NOBODY}`, undefined],
  ['work', 'POST', '/v1/runs/claim', { worker_id: 'w', types: ['none.%'] }],
  ['work', 'POST', '/v1/runs/claim/stop', { worker_id: 'w' }],
  ['work', 'POST', `/v1/runs/${NOBODY}/heartbeat`, HELD],
  ['work', 'POST', `/v1/runs/${NOBODY}/complete`, HELD],
  ['work', 'POST', `/v1/runs/${NOBODY}/fail`, { ...HELD, error: { message: 'x' } }],
  ['work', 'POST', `/v1/runs/${NOBODY}/later`, { ...HELD, delay_seconds: 1 }],
  ['work', 'POST', `/v1/runs/${NOBODY}/release`, HELD],
  ['read', 'GET', '/v1/registry', undefined],
  ['read', 'GET', '/v1/registry/none.v1', undefined],
  ['admin', 'PUT', '/v1/registry/none.v1', { runtime: 'go' }],
  ['admin', 'DELETE', '/v1/registry/none.v1', undefined],
  ['admin', 'POST', '/v1/schedules', { type: 'scope.a.v1', schedule: '0 6 * * *' }],
  ['read', 'GET', '/v1/schedules', undefined],
  ['read', 'GET', `/v1/schedules/${NOBODY}`, undefined],
  ['admin', 'POST', `/v1/schedules/${NOBODY}/pause`, {}],
  ['admin', 'POST', `/v1/schedules/${NOBODY}/resume`, {}],
  ['admin', 'DELETE', `/v1/schedules/${NOBODY}`, undefined],
  ['read', 'GET', `/v1/schedules/${NOBODY}/next`, undefined],
  ['read', 'GET', `/v1/schedules/${NOBODY}/fires`, undefined],
  ['enqueue', 'POST', `/v1/schedules/${NOBODY}/run`, {}],
]

onBothStores('keys of the inbox', (stage) => {
  let s: Serving
  const by = {} as Record<Scope, As>
  let anna: As
  let boris: As
  beforeAll(async () => {
    by.admin = await keyOf(await stage.serve(), null, ['admin'])
    s = await stage.serve({ auth: 'required' })
    for (const scope of ['read', 'enqueue', 'work'] as const) by[scope] = await keyOf(s, null, [scope])
    anna = await keyOf(s, 'a', ['enqueue', 'read', 'work'])
    boris = await keyOf(s, 'b', ['enqueue', 'read', 'work'])
  })
  const submit = async (as: As, type: string, more: object = {}) =>
    (await s.post('/v1/runs', { type, payload: {}, ...more }, as)).body
  const claim = async (as: As, type: string): Promise<any[]> =>
    (await s.post('/v1/runs/claim', { worker_id: 'w', types: [type], limit: 10 }, as)).body.runs

  it.each(ROUTES)('scope %s: %s %s', async (scope, method, path, body) => {
    const ask = async (headers: As): Promise<number> => (await s.ask(method, path, { headers, body })).status
    expect(await ask({})).toBe(401)
    for (const other of ['read', 'enqueue', 'work'] as const) {
      if (other !== scope) expect([other, await ask(by[other])]).toEqual([other, 403])
    }
    expect([401, 403]).not.toContain(await ask(by[scope]))
    expect([401, 403]).not.toContain(await ask(by.admin))
  })

  it('a submit gets the tenant of its key, and only that tenant can claim it', async () => {
    const mine = await submit(anna, 'tenant.a.v1')
    const theirs = await submit(boris, 'tenant.a.v1')
    const untenanted = await submit(by.enqueue, 'tenant.a.v1')
    expect([mine.run.tenant, theirs.run.tenant, untenanted.run.tenant]).toEqual(['a', 'b', null])
    expect((await claim(boris, 'tenant.%')).map((run) => run.id)).toEqual([theirs.id])
    expect((await claim(anna, 'tenant.%')).map((run) => run.id)).toEqual([mine.id])
    expect((await claim(by.work, 'tenant.%')).map((run) => run.id)).toEqual([untenanted.id])
  })

  it('lists and reads show a tenant only its own runs', async () => {
    const { id } = await submit(anna, 'see.a.v1', { idempotency_key: 'see:1' })
    const listed = async (as: As, query = '') =>
      (await s.get(`/v1/runs?type=see.%25${query}`, as)).body.runs.map((run: any) => run.id)
    expect(await listed(anna)).toEqual([id])
    expect(await listed(boris)).toEqual([])
    expect(await listed(boris, '&idempotency_key=see:1')).toEqual([])
    expect(await listed(by.read)).toEqual([id])
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['GET', '/events', undefined],
      ['POST', '/cancel', {}],
      ['DELETE', '', undefined],
    ] as const) {
      expect([path, (await s.ask(method, `/v1/runs/${id}${path}`, { headers: boris, body })).status]).toEqual([
        path,
        404,
      ])
    }
    expect((await s.get(`/v1/runs/${id}`, anna)).body.run.status).toBe('pending')
  })

  it('a tenant cannot report or renew the runs of another', async () => {
    const { id } = await submit(anna, 'hold.a.v1')
    const [{ epoch }] = (await claim(anna, 'hold.%')) as [any]
    const held = { worker_id: 'w', epoch }
    for (const [verb, more] of [
      ['heartbeat', {}],
      ['complete', { result: 1 }],
      ['fail', { error: { message: 'x' } }],
      ['later', { delay_seconds: 1 }],
      ['release', {}],
    ] as const) {
      expect((await s.post(`/v1/runs/${id}/${verb}`, { ...held, ...more }, boris)).status).toBe(404)
    }
    expect((await s.post(`/v1/runs/${id}/complete`, held, anna)).body.run.status).toBe('succeeded')
  })

  it('a key used by another tenant is a separate key, and reveals nothing of the other run', async () => {
    const { id } = await submit(anna, 'key.a.v1', { idempotency_key: 'shared' })
    const reply = await s.post('/v1/runs', { type: 'key.a.v1', payload: {}, idempotency_key: 'shared' }, boris)
    expect([reply.status, reply.body.created]).toEqual([201, true])
    expect(reply.text).not.toContain(id)
    expect((await submit(anna, 'key.a.v1', { idempotency_key: 'shared' })).id).toBe(id)
  })

  it('the registry, new schedules of the inbox and metrics belong to all tenants: 403 for a key of one', async () => {
    const admin = await keyOf(s, 'a', ['admin'])
    const shared = ROUTES.filter(
      ([, method, path]) => path.startsWith('/v1/registry') || `${method} ${path}` === 'POST /v1/schedules',
    )
    expect(shared).toHaveLength(5)
    for (const [, method, path, body] of shared) {
      const reply = await s.ask(method, path, { headers: admin, body })
      expect([method, path, reply.status, reply.body.error.code]).toEqual([method, path, 403, 'permission_denied'])
    }
    expect((await s.get('/metrics', admin)).status).toBe(403)
  })
})
