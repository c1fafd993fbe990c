/** Access: keys, scopes, tenants, and no open access by accident. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { KeyRow } from '../../../src/model/rows.ts'
import type { Scope } from '../../../src/operations/caller.ts'
import { makeKey } from '../../../src/operations/keys/api-key.ts'
import type { Store } from '../../../src/store/store.ts'
import { onBothStores, type Serving, serveOn, until } from '../serving.ts'

async function add(store: Store, row: Partial<KeyRow> & { readonly scopes: readonly Scope[] }): Promise<string> {
  const { id, hash, text } = makeKey()
  await store.keys.add({
    id,
    hash,
    subject: 'alice',
    roles: [],
    tenant: null,
    createdAt: Date.now(),
    expiresAt: null,
    revokedAt: null,
    ...row,
  })
  return text
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

onBothStores('keys required', (stage) => {
  let s: Serving
  let admin: string
  beforeAll(async () => {
    const first = await stage.serve()
    admin = await add(first.store, { scopes: ['admin'], subject: 'root' })
    s = await stage.serve({ auth: 'required', allowReset: true })
  })

  it('without a key: 401, with a hint, and without a difference between paths', async () => {
    for (const path of ['/v1/instances', '/ojs/v1/nothing', '/v1/nothing', '/metrics']) {
      const { status, headers, body } = await s.get(path)
      expect([path, status, body.error.code]).toEqual([path, 401, 'unauthenticated'])
      expect(headers.get('www-authenticate')).toContain('Bearer')
      expect(body.error.hint).toContain('petrel keys add')
    }
  })

  it('webhooks do not reach this machine although the server listens on loopback, since clients with keys may be remote', async () => {
    const body = { url: 'http://127.0.0.1:9/', events: ['*'] }
    const headers = { authorization: `Bearer ${admin}` }
    const { status, text } = await s.ask('POST', '/ojs/v1/webhooks/subscriptions', { body, headers })
    expect([status, text]).toEqual([400, expect.stringContaining('url')])
  })

  it('health, readiness, manifest and documents need none', async () => {
    for (const path of ['/health', '/ready', '/ojs/v1/health', '/ojs/manifest', '/openapi.json', '/docs/errors'])
      expect([path, (await s.get(path)).status]).toEqual([path, 200])
  })

  it.each([
    ['Basic abc', 'not "Bearer KEY"'],
    ['Bearer', 'not "Bearer KEY"'],
    ['Bearer nonsense', 'not an API key'],
    [`Bearer petrel_${'0'.repeat(16)}_${'A'.repeat(43)}`, 'no such API key'],
  ])('%s: 401', async (authorization, message) => {
    const { status, body } = await s.get('/v1/instances', { authorization })
    expect(status).toBe(401)
    expect(body.error).toMatchObject({ code: 'unauthenticated', message: expect.stringContaining(message) })
  })

  it('a valid id with a wrong secret: 401', async () => {
    const wrong = admin.slice(0, -1) + (admin.endsWith('A') ? 'B' : 'A')
    expect((await s.get('/v1/instances', bearer(wrong))).status).toBe(401)
    expect((await s.get('/v1/instances', bearer(admin))).status).toBe(200)
    expect((await s.get('/v1/instances', { authorization: `bearer  ${admin}` })).status).toBe(200)
  })

  it('the secret is stored nowhere', async () => {
    // The secret is base64url: it may itself contain the separator, and a piece of it may be a word that occurs in any
    // row.
    const secret = admin.split('_').slice(2).join('_')
    expect(secret).toHaveLength(43)
    expect(JSON.stringify(await s.store.keys.list())).not.toContain(secret)
  })

  it('scopes: each permits its own routes, admin permits all', async () => {
    const reads = await add(s.store, { scopes: ['read'] })
    const works = await add(s.store, { scopes: ['work', 'read'] })
    expect((await s.get('/v1/instances', bearer(reads))).status).toBe(200)
    const denied = await s.post('/ojs/v1/admin/reset', {}, bearer(works))
    expect(denied.status).toBe(403)
    expect(denied.body.error).toMatchObject({
      code: 'permission_denied',
      details: { required_scope: 'admin', scopes: ['work', 'read'] },
    })
    const onlyWork = await add(s.store, { scopes: ['work'] })
    expect((await s.get('/v1/instances', bearer(onlyWork))).status).toBe(403)
    expect((await s.get('/v1/instances', bearer(admin))).status).toBe(200)
  })

  it('expired and revoked keys are refused with that reason; a revoked one within seconds', async () => {
    const old = await add(s.store, { scopes: ['read'], expiresAt: Date.now() - 1000 })
    expect((await s.get('/v1/instances', bearer(old))).body.error.message).toContain('expired')
    const key = await add(s.store, { scopes: ['read'] })
    expect((await s.get('/v1/instances', bearer(key))).status).toBe(200)
    const id = key.split('_')[1] as string
    expect(await s.store.keys.revoke(id)).toMatchObject({ id, revokedAt: expect.any(Number) })
    expect(await s.store.keys.revoke(id)).toBe(null)
    const refused = await until(
      () => s.get('/v1/instances', bearer(key)),
      ({ status }) => status === 401,
    )
    expect(refused.body.error.message).toContain('revoked')
  })

  it('X-Petrel-Actor is ignored', async () => {
    const { status } = await s.get('/v1/instances', { 'x-petrel-actor': 'mallory' })
    expect(status).toBe(401)
  })
})

onBothStores('no keys, on this machine', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('everything is open, and a key that is sent is still checked', async () => {
    expect((await s.get('/v1/instances')).status).toBe(200)
    expect((await s.get('/v1/instances', bearer('nonsense'))).status).toBe(401)
  })

  it('a valid actor name is accepted', async () => {
    expect((await s.get('/v1/instances', { 'x-petrel-actor': 'Anna <anna@example.org>' })).status).toBe(200)
    const { status, body } = await s.get('/v1/instances', { 'x-petrel-actor': 'x'.repeat(300) })
    expect([status, body.error.code]).toEqual([400, 'invalid_request'])
  })

  it.each([
    [{ 'x-forwarded-for': '203.0.113.7' }, 'a proxy'],
    [{ forwarded: 'for=203.0.113.7' }, 'a proxy'],
    [{ origin: 'https://evil.example' }, 'a page of https://evil.example'],
    [{ origin: 'null' }, 'a page of null'],
  ])('%j: refused', async (headers, message) => {
    const { status, body } = await s.ask('POST', '/ojs/v1/admin/reset', { headers: headers as Record<string, string> })
    expect(status).toBe(403)
    expect(body.error).toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining(message),
      hint: expect.stringContaining('--require-key'),
    })
  })

  it('a name that a foreign DNS server could resolve to this machine: refused', async () => {
    const { default: http } = await import('node:http')
    const ask = (host: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const call = http.request({ port: s.server.port, host: '127.0.0.1', path: '/v1/instances', headers: { host } })
        call.on('response', (response) => {
          response.resume()
          resolve(response.statusCode as number)
        })
        call.on('error', reject)
        call.end()
      })
    expect(await ask('rebound.example:7070')).toBe(403)
    for (const host of ['localhost', 'localhost:7070', '127.0.0.1:1', '[::1]:7070']) expect(await ask(host)).toBe(200)
  })
})

onBothStores('on public addresses', (stage) => {
  it('does not start without a key in the store', async () => {
    await expect(stage.serve({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'denied' })
    await expect(stage.serve({ host: '0.0.0.0', auth: 'loopback' })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('--insecure opens it, and unverified names are still ignored', async () => {
    const s = await stage.serve({ host: '0.0.0.0', auth: 'insecure' })
    expect((await s.get('/v1/instances')).status).toBe(200)
    expect((await s.get('/v1/instances', { 'x-petrel-actor': 'mallory' })).status).toBe(403)
  })

  it('with a key it starts, and requires it', async () => {
    const { store, server, engine } = await serveOn(await stage.url())
    const revoked = await add(store, { scopes: ['admin'] })
    await store.keys.revoke(revoked.split('_')[1] as string)
    await expect(stage.serve({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'denied' })
    const key = await add(store, { scopes: ['read'] })
    const s = await stage.serve({ host: '0.0.0.0' })
    expect(s.server.auth).toBe('required')
    expect((await s.get('/v1/instances')).status).toBe(401)
    expect((await s.get('/v1/instances', bearer(key))).status).toBe(200)
    await server.close()
    await engine.close()
    await store.close()
  })
})

onBothStores('the rate limit', (stage) => {
  it('429 with Retry-After per caller; others and probes are not affected', async () => {
    const first = await stage.serve()
    const one = await add(first.store, { scopes: ['read'], subject: 'one' })
    const two = await add(first.store, { scopes: ['read'], subject: 'two' })
    const s = await stage.serve({ auth: 'required', ratePerMinute: 3 })
    const replies = []
    for (let i = 0; i < 4; i++) replies.push(await s.get('/ojs/v1/events', bearer(one)))
    const [fine, , , over] = replies
    expect(fine?.headers.get('x-ratelimit-limit')).toBe('3')
    expect(fine?.headers.get('x-ratelimit-remaining')).toBe('2')
    const reset = Number(fine?.headers.get('x-ratelimit-reset'))
    expect(Math.abs(reset - Date.now() / 1000)).toBeLessThan(65)
    expect(over?.status).toBe(429)
    expect(over?.body.error).toMatchObject({ code: 'rate_limited', retryable: true, details: { limit: 3 } })
    expect(Number(over?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(over?.headers.get('content-type')).toBe('application/openjobspec+json')
    expect((await s.get('/v1/instances', bearer(two))).status).toBe(200)
    for (let i = 0; i < 5; i++) expect((await s.get('/ready')).status).toBe(200)
  })

  it('invalid keys count for their address', async () => {
    const s = await stage.serve({ auth: 'required', ratePerMinute: 3 })
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await s.get('/v1/instances', bearer('nonsense'))).status)
    expect(statuses).toEqual([401, 401, 401, 429, 429])
  })
})

describe('the form of a key', () => {
  it('is different every time', () => {
    const made = new Set(Array.from({ length: 100 }, () => makeKey().text))
    expect(made.size).toBe(100)
    for (const text of made) expect(text).toMatch(/^petrel_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/)
  })
})
