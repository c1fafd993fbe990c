/** Sign-ins of browsers: what they may do, when they end, and that no page of another origin can use them. */
import { beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { sha256 } from '../../../src/kernel/hash.ts'
import { MOST_SIGN_INS } from '../../../src/model/access/sign-ins.ts'
import type { Scope } from '../../../src/operations/caller.ts'
import { makeKey } from '../../../src/operations/keys/api-key.ts'
import { checkReply } from '../documented.ts'
import { onBothStores, type Reply, type Serving, until } from '../serving.ts'

const HOUR = 3_600_000
const JSON_TYPE = { 'content-type': 'application/json' }

interface Made {
  readonly id: string
  readonly text: string
}

async function addKey(s: Serving, scopes: readonly Scope[], tenant: string | null = null): Promise<Made> {
  const { id, hash, text } = makeKey()
  const times = { createdAt: Date.now(), expiresAt: null, revokedAt: null }
  await s.store.keys.add({ id, hash, subject: 'ann', scopes, roles: ['ops'], tenant, ...times })
  return { id, text }
}

function cookieFrom(reply: Reply): string {
  return (reply.headers.get('set-cookie') ?? '').split(';')[0] as string
}

async function signedIn(s: Serving, key: string): Promise<{ readonly cookie: string }> {
  const reply = await s.post('/v1/session', { key })
  expect(reply.status).toBe(201)
  return { cookie: cookieFrom(reply) }
}

/** `fetch` sets neither Origin nor Sec-Fetch-Site of its own for a program. */
const OWN = { 'sec-fetch-site': 'same-origin' }
const START = { workflow: 'nothing' }

onBothStores('sign-ins', (stage) => {
  let s: Serving
  let other: Serving
  let admin: Made
  beforeAll(async () => {
    const first = await stage.serve()
    admin = await addKey(first, ['admin'])
    s = await stage.serve({ auth: 'required' })
    other = await stage.serve({ auth: 'required' })
  })

  it('has a cookie that scripts cannot read, and shows who is signed in', async () => {
    const reply = checkReply('POST', '/v1/session', await s.post('/v1/session', { key: admin.text }, JSON_TYPE))
    expect(reply.status).toBe(201)
    expect(reply.headers.get('set-cookie')).toMatch(
      /^petrel_session=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    const shown = checkReply('GET', '/v1/session', await s.get('/v1/session', { cookie: cookieFrom(reply) }))
    expect(shown.body).toMatchObject({
      signed_in: true,
      sign_in: 'key',
      subject: 'ann',
      tenant: null,
      roles: ['ops'],
      scopes: ['admin'],
      verified: true,
      version: '1.2.3',
      store: stage.kind,
    })
    expect(Date.parse(shown.body.expires_at) - Date.parse(shown.body.now)).toBeGreaterThan(11.9 * HOUR)
    expect(reply.body).toEqual({ ...shown.body, now: reply.body.now })
    expect((await s.get('/v1/instances', { cookie: cookieFrom(reply) })).status).toBe(200)
  })

  it('without a sign-in says what is needed', async () => {
    const { status, body } = checkReply('GET', '/v1/session', await s.get('/v1/session'))
    expect([status, body.signed_in, body.sign_in, body.scopes, body.expires_at]).toEqual([200, false, 'key', [], null])
  })

  it.each([
    ['the page was loaded by it', { origin: 'https://petrel.example', ...OWN }],
    ['the proxy says so', { 'x-forwarded-proto': 'https, http' }],
    ['the proxy says so by RFC 7239', { forwarded: 'for=10.0.0.1;proto=https' }],
  ])('is Secure behind https: %s', async (_, headers) => {
    const reply = await s.post('/v1/session', { key: admin.text }, { ...JSON_TYPE, ...headers } as never)
    expect(reply.status).toBe(201)
    expect(reply.headers.get('set-cookie')).toMatch(/; Secure$/)
  })

  it('the store has neither the token nor the key', async () => {
    const { cookie } = await signedIn(s, admin.text)
    const token = cookie.split('=')[1] as string
    const found = await s.store.signIns.find(sha256(token))
    expect(found?.row).toMatchObject({ method: 'key', keyId: admin.id })
    expect(JSON.stringify(found)).not.toContain(token)
    expect(JSON.stringify(found)).not.toContain(admin.text)
  })

  it.each(['', 'nonsense', `petrel_${'0'.repeat(16)}_${'A'.repeat(43)}`, 'x'.repeat(10_000)])(
    'a wrong key %#: no cookie, and an answer without the key',
    async (key) => {
      const reply = await s.post('/v1/session', { key }, JSON_TYPE)
      expect([400, 401]).toContain(reply.status)
      expect(reply.headers.get('set-cookie')).toBeNull()
      if (key.length > 20) expect(reply.text).not.toContain(key)
    },
  )

  it('guesses count for the rate limit as wrong keys do', async () => {
    const limited = await stage.serve({ auth: 'required', ratePerMinute: 5 })
    const statuses: number[] = []
    for (let i = 0; i < 7; i++) statuses.push((await limited.post('/v1/session', { key: 'wrong' }, JSON_TYPE)).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429])
  })

  it.each([
    'petrel_session=',
    `petrel_session=${'A'.repeat(43)}`,
    `petrel_session=local_${'A'.repeat(43)}`,
    `petrel_session=${'A'.repeat(9_000)}`,
    "petrel_session=' OR 1=1 --",
    'petrel_session',
    ';;;=',
  ])('a forged cookie counts as none: %.30s', async (cookie) => {
    const { status, body } = await s.get('/v1/instances', { cookie })
    expect([status, body.error.code]).toEqual([401, 'unauthenticated'])
    expect((await s.get('/v1/session', { cookie })).body.signed_in).toBe(false)
  })

  it('has the scopes and the tenant of its key', async () => {
    const reader = await signedIn(s, (await addKey(s, ['read'], 'acme')).text)
    expect((await s.get('/v1/session', reader)).body).toMatchObject({ tenant: 'acme', scopes: ['read'] })
    const denied = await s.post('/v1/instances', START, { ...JSON_TYPE, ...reader, ...OWN })
    expect([denied.status, denied.body.error.details.required_scope]).toEqual([403, 'enqueue'])
    expect((await s.get('/metrics', reader)).status).toBe(403)
    expect((await s.get('/v1/instances', { ...reader, 'x-ojs-tenant': 'umbrella' })).status).toBe(403)
  })

  it('an Authorization header takes precedence', async () => {
    const reader = await signedIn(s, (await addKey(s, ['read'])).text)
    const headers = { ...JSON_TYPE, ...reader, authorization: `Bearer ${admin.text}` }
    expect((await s.post('/v1/instances', START, headers)).status).toBe(404)
    expect((await s.get('/v1/instances', { ...reader, authorization: 'Bearer wrong' })).status).toBe(401)
  })

  it.each([
    ['a program without a page', {}, 403],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
    ['another port of this machine', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' }, 403],
    ['an address that was typed', { 'sec-fetch-site': 'none' }, 403],
    ['an old browser on another site', { origin: 'https://evil.example' }, 403],
    ['a sandboxed frame', { origin: 'null' }, 403],
    ['a page of this server', OWN, 404],
    ['a page of this server in an old browser', { origin: 'SELF' }, 404],
  ])('a change with the cookie from %s', async (_, headers, expected) => {
    const cookie = await signedIn(s, admin.text)
    const own = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value === 'SELF' ? s.server.url : value]),
    )
    const { status, body } = await s.post('/v1/instances', START, { ...JSON_TYPE, ...cookie, ...own })
    expect([status, body.error.code]).toEqual([expected, expected === 403 ? 'permission_denied' : 'not_found'])
    if (expected === 403) expect(body.error.details).toMatchObject({ reason: 'cross_site' })
  })

  it('no page of another origin reads with it, or opens a stream or a WebSocket', async () => {
    const cookie = await signedIn(s, admin.text)
    for (const headers of [{ 'sec-fetch-site': 'same-site' }, { origin: 'http://localhost:1' }]) {
      const { status, headers: sent } = await s.get('/v1/instances', { ...cookie, ...headers })
      expect([status, sent.get('access-control-allow-origin')]).toEqual([403, null])
      const stream = await s.get('/ojs/v1/events', { ...cookie, ...headers, accept: 'text/event-stream' })
      expect(stream.status).toBe(403)
      expect(await opens(s, { ...cookie, ...headers } as never)).toBe(false)
    }
    expect(await opens(s, { ...cookie, origin: s.server.url })).toBe(true)
    expect(await opens(s, {})).toBe(false)
  })

  it('a page of another origin cannot sign in', async () => {
    const headers = { ...JSON_TYPE, origin: 'https://evil.example' }
    const reply = await s.post('/v1/session', { key: admin.text }, headers)
    expect([reply.status, reply.headers.get('set-cookie')]).toEqual([403, null])
  })

  it('ends with DELETE, on every server', async () => {
    const cookie = await signedIn(s, admin.text)
    expect((await other.get('/v1/instances', cookie)).status).toBe(200)
    expect((await s.ask('DELETE', '/v1/session', { headers: cookie })).status).toBe(403)
    expect((await s.get('/v1/instances', cookie)).status).toBe(200)
    const gone = await s.ask('DELETE', '/v1/session', { headers: { ...cookie, ...OWN } })
    expect([gone.status, gone.body.signed_in]).toEqual([200, false])
    expect(gone.headers.get('set-cookie')).toContain('petrel_session=; Max-Age=0; ')
    expect((await s.get('/v1/instances', cookie)).status).toBe(401)
    expect(
      await until(
        async () => (await other.get('/v1/instances', cookie)).status,
        (status) => status === 401,
      ),
    ).toBe(401)
  })

  it('ends with its key', async () => {
    const key = await addKey(s, ['read'])
    const cookie = await signedIn(s, key.text)
    expect((await s.get('/v1/instances', cookie)).status).toBe(200)
    await s.store.keys.revoke(key.id)
    expect(
      await until(
        async () => (await s.get('/v1/instances', cookie)).status,
        (status) => status === 401,
      ),
    ).toBe(401)
    expect((await s.get('/v1/session', cookie)).body.signed_in).toBe(false)
  })

  it('a key has a bounded number of them', async () => {
    const key = await addKey(s, ['read'])
    const first = await signedIn(s, key.text)
    for (let i = 0; i < MOST_SIGN_INS; i++) await signedIn(s, key.text)
    const last = await signedIn(s, key.text)
    expect((await other.get('/v1/instances', first)).status).toBe(401)
    expect((await other.get('/v1/instances', last)).status).toBe(200)
  })
})

onBothStores('the time of a sign-in', (stage) => {
  it('ends 12 hours after its last use, and after a week in any case; retention removes it', async () => {
    const first = await stage.serve()
    const key = await addKey(first, ['admin'])
    const s = await stage.serve({ auth: 'required' })
    const unused = await signedIn(s, key.text)
    const used = await signedIn(s, key.text)
    const lasts = async (): Promise<boolean> => {
      // A server that has just read a row remembers it.
      const fresh = await stage.serve({ auth: 'required' })
      return (await fresh.get('/v1/session', used)).body.signed_in
    }
    const lasted: boolean[] = []
    for (let hours = 11; hours <= 14 * 11 + 22; hours += 11) {
      await s.store.moveClock(hours * HOUR)
      lasted.push(await lasts())
    }
    expect(lasted).toEqual([...Array(15).fill(true), false])
    const late = await stage.serve({ auth: 'required' })
    expect((await late.get('/v1/instances', unused)).status).toBe(401)
    await s.store.moveClock(0)
    expect((await (await stage.serve({ auth: 'required' })).get('/v1/session', unused)).body.signed_in).toBe(true)
    await s.store.moveClock(200 * HOUR)
    await s.store.sweep.prune({ endedBefore: 0, eventsBefore: 0, limit: 1_000 })
    await s.store.moveClock(0)
    expect((await (await stage.serve({ auth: 'required' })).get('/v1/session', unused)).body.signed_in).toBe(false)
  })
})

onBothStores('where no key is needed', (stage) => {
  it('everything is allowed without signing in; a sign-in with a key narrows it', async () => {
    const s = await stage.serve()
    expect((await s.get('/v1/session')).body).toMatchObject({
      signed_in: false,
      sign_in: 'none',
      scopes: ['read', 'enqueue', 'work', 'admin'],
      verified: false,
    })
    const reader = await signedIn(s, (await addKey(s, ['read'])).text)
    expect((await s.post('/v1/instances', START, { ...JSON_TYPE, ...reader, ...OWN })).status).toBe(403)
    expect((await s.post('/v1/instances', START, JSON_TYPE)).status).toBe(404)
  })
})

onBothStores('the token of petrel dev', (stage) => {
  it('in an address becomes a cookie, and leaves the address', async () => {
    const s = await stage.serve({ token: 'dev_secret' })
    expect((await s.get('/v1/session')).body).toMatchObject({ signed_in: false, sign_in: 'token', scopes: [] })
    const wrong = await fetch(`${s.server.url}/?token=dev_secreT`, { redirect: 'manual' })
    expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null])
    expect(await wrong.text()).not.toContain('dev_secre')
    const reply = await fetch(`${s.server.url}/?token=dev_secret`, { redirect: 'manual' })
    expect([reply.status, reply.headers.get('location'), reply.headers.get('referrer-policy')]).toEqual([
      302,
      '/ui/',
      'no-referrer',
    ])
    const cookie = (reply.headers.get('set-cookie') ?? '').split(';')[0] as string
    expect(cookie).toMatch(/^petrel_session=local_[\w-]{43}$/)
    expect((await s.get('/v1/instances', { cookie })).status).toBe(200)
    expect((await s.get('/v1/session', { cookie })).body).toMatchObject({
      signed_in: true,
      verified: false,
      scopes: ['read', 'enqueue', 'work', 'admin'],
    })
    expect((await s.get('/v1/instances', { cookie, 'x-forwarded-for': '10.0.0.1' })).status).toBe(403)
    // Neither a server with another token nor one without accepts it.
    expect((await (await stage.serve({ token: 'dev_other' })).get('/v1/instances', { cookie })).status).toBe(401)
    await addKey(s, ['read'])
    expect((await (await stage.serve({ auth: 'required' })).get('/v1/instances', { cookie })).status).toBe(401)
  })
})

describe('the log', () => {
  it('has no token of an address', async () => {
    const { serveOn } = await import('../serving.ts')
    const lines: string[] = []
    const logger = {
      info() {},
      warn() {},
      debug() {},
      error: (about: object) => void lines.push(JSON.stringify(about)),
    }
    const s = await serveOn('sqlite::memory:', { token: 'dev_secret', logger: logger as never })
    Object.assign(s.store.signIns, { add: () => Promise.reject(new Error('broken')) })
    const { status, text } = await s.get('/?token=dev_secret')
    expect(status).toBe(500)
    expect(text + lines.join()).not.toContain('dev_secret')
    expect(lines.join()).toContain('token=…')
    await s.server.close()
    await s.engine.close()
    await s.store.close()
  })
})

/** Whether a WebSocket opens. */
function opens(s: Serving, headers: Record<string, string>): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${s.server.url.replace('http', 'ws')}/ojs/v1/ws`, 'ojs.v1', { headers })
    socket.on('open', () => {
      socket.close()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
