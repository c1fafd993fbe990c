/** /v1/keys: made once, listed without secrets, revoked; by callers of a tenant for their tenant alone. */
import { beforeAll, expect, it } from 'vitest'
import { checkReply } from '../documented.ts'
import { type As, keyOf } from '../keys.ts'
import { onBothStores, type Serving, until } from '../serving.ts'

onBothStores('keys over HTTP', (stage) => {
  let s: Serving
  let root: As
  beforeAll(async () => {
    root = await keyOf(await stage.serve(), 'root', null)
    s = await stage.serve({ auth: 'required' })
  })
  const make = async (body: object, as: As = root) => checkReply('POST', '/v1/keys', await s.post('/v1/keys', body, as))
  const revoke = async (id: string, as: As = root) => s.ask('DELETE', `/v1/keys/${id}`, { headers: as })

  it('are shown once, work, and are refused after they were revoked', async () => {
    const { status, body } = await make({ subject: 'ci', scopes: ['read', 'read'], roles: ['ops'], expires_in: '90d' })
    expect(status).toBe(201)
    expect(body.key).toMatchObject({ subject: 'ci', scopes: ['read'], roles: ['ops'], tenant: null, revoked_at: null })
    expect(Date.parse(body.key.expires_at) - Date.parse(body.key.created_at)).toBe(90 * 86_400_000)
    const as = { authorization: `Bearer ${body.secret}` }
    expect((await s.get('/v1/instances', as)).status).toBe(200)
    const listed = checkReply('GET', '/v1/keys', await s.get('/v1/keys', root))
    expect(listed.body.keys).toContainEqual(body.key)
    expect(listed.text).not.toContain(body.secret.split('_')[2])
    const gone = checkReply('DELETE', `/v1/keys/${body.key.id}`, await revoke(body.key.id))
    expect([gone.status, gone.body.key.revoked_at !== null]).toEqual([200, true])
    const status401 = await until(
      async () => (await s.get('/v1/instances', as)).status,
      (status) => status === 401,
    )
    expect(status401).toBe(401)
    expect((await revoke(body.key.id)).status).toBe(409)
  })

  it('of a tenant are managed by callers of this tenant, and no others', async () => {
    const acme = await keyOf(s, 'ann', 'acme')
    const umbrella = await keyOf(s, 'bob', 'umbrella')
    const made = await make({ subject: 'x', scopes: ['read'] }, acme)
    expect(made.body.key.tenant).toBe('acme')
    expect((await make({ subject: 'x', scopes: ['admin'], tenant: 'umbrella' }, acme)).status).toBe(403)
    const subjects = async (as: As) => (await s.get('/v1/keys', as)).body.keys.map(({ subject }: any) => subject)
    expect(await subjects(acme)).toEqual(['ann', 'x'])
    expect(await subjects(umbrella)).toEqual(['bob'])
    expect((await revoke(made.body.key.id, umbrella)).status).toBe(404)
    expect((await revoke(made.body.key.id, acme)).status).toBe(200)
  })

  it('need the scope admin', async () => {
    const reader = await keyOf(s, 'r', null, ['read', 'enqueue', 'work'])
    const statuses = [
      (await s.get('/v1/keys', reader)).status,
      (await make({ subject: 'x', scopes: ['admin'] }, reader)).status,
      (await revoke('0'.repeat(16), reader)).status,
    ]
    expect(statuses).toEqual([403, 403, 403])
  })

  it.each([
    [{ scopes: ['read'] }, 'subject'],
    [{ subject: 'a\nb', scopes: ['read'] }, 'subject'],
    [{ subject: 'a', scopes: [] }, 'scopes'],
    [{ subject: 'a', scopes: ['root'] }, 'scopes[0]'],
    [{ subject: 'a', scopes: ['read'], expires_in: 'soon' }, 'expires_in'],
    [{ subject: 'a', scopes: ['read'], tenant: '../x' }, 'tenant'],
    [{ subject: 'x'.repeat(10_000), scopes: ['read'] }, 'subject'],
  ])('%j is refused', async (body, path) => {
    const { status, body: answer } = await make(body)
    expect([status, answer.error.details.validation_errors.map((e: any) => e.path)]).toEqual([400, [path]])
  })

  it.each(['nothing', 'a'.repeat(999), '%00', "'--"])('there is no key %#', async (id) => {
    expect((await revoke(id)).status).toBe(404)
  })
})
