/**
 * Access control. Three modes:
 *
 *   loopback   (default on 127.0.0.1) no key needed, unless the server has a token (`petrel dev`); any client that
 *              reaches this machine's own address may do everything.
 *              X-Petrel-Actor names the person, unverified. Requests that a browser sends for another site, or that a
 *              proxy passes on, are refused: they only seem to come from this machine.
 *   required   (everywhere else, or with --require-key) every route but health, manifest and documents needs a key.
 *   insecure   (only with --insecure) no key needed, for anyone who can connect. Names are unverified.
 *
 * A key that is sent is always checked, also where none is needed. Its scopes determine its permissions; bound to
 * a tenant, it sees and changes only the tenant's data.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Keys } from '../model/registry.ts'
import type { KeyRow } from '../model/rows.ts'
import { type Access, type Caller, permit, SCOPES, type Scope } from '../operations/caller.ts'
import { judgeKey, splitKey } from '../operations/keys/api-key.ts'
import { RequestError } from './request-error.ts'

export type AuthMode = 'loopback' | 'required' | 'insecure'

/** Servers that have just read a key may still accept it for this long after it was revoked. */
const REMEMBER_MS = 2_000
const REMEMBER_MOST = 1_000

const NAME = /^[\x20-\x7e]{1,200}$/
const TENANT = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
const EVERYTHING: ReadonlySet<Scope> = new Set(SCOPES)
const NOTHING: ReadonlySet<Scope> = new Set()

/** Whether a path exists is for callers to know that may read. */
const UNKNOWN_PATH: Access = { scope: 'read' }

const ANONYMOUS: Caller = { subject: null, scopes: NOTHING, roles: [], tenant: null, bound: false, verified: false }

/** `token`: required in every request without a key on loopback; null: none. */
export function authenticate(app: FastifyInstance, keys: Keys, mode: AuthMode, token: string | null): void {
  const known = new KnownKeys(keys)
  const refusals = new WeakMap<FastifyRequest, RequestError>()
  app.decorateRequest('caller')
  // Does not refuse yet: requests with wrong keys count for the rate guard, which runs between this hook and the next.
  app.addHook('onRequest', async (request) => {
    request.caller = ANONYMOUS
    // These routes need neither a name nor an available store.
    if (request.routeOptions.config.access === 'none') return
    try {
      request.caller = await identify(request, known, mode, token)
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      refusals.set(request, error)
    }
  })
  app.addHook('preParsing', async (request) => {
    const { access = UNKNOWN_PATH } = request.routeOptions.config
    if (access === 'none') return
    const refusal = refusals.get(request)
    if (refusal !== undefined) throw refusal
    permit(request.caller, access)
  })
}

async function identify(request: FastifyRequest, keys: KnownKeys, mode: AuthMode, own: string | null): Promise<Caller> {
  const token = bearerOf(request)
  const isOwn = own !== null && token !== null && isSame(token, own)
  if (token !== null && !isOwn) {
    const key = await keys.check(token)
    return {
      subject: key.subject,
      scopes: new Set(key.scopes as readonly Scope[]),
      roles: key.roles,
      tenant: tenantOf(request, key.tenant),
      bound: key.tenant !== null,
      verified: true,
    }
  }
  if (mode === 'required') {
    throw new RequestError('unauthenticated', 'this server wants an API key', {
      headers: { 'www-authenticate': 'Bearer realm="petrel"' },
    })
  }
  if (own !== null && !isOwn) {
    throw new RequestError(
      'unauthenticated',
      'this server wants the token that `petrel dev` keeps in its data directory',
      {
        headers: { 'www-authenticate': 'Bearer realm="petrel"' },
        hint: 'curl -H "Authorization: Bearer $(cat .petrel/dev-token)" …, or as page http://localhost:PORT/?token=TOKEN',
      },
    )
  }
  if (mode === 'loopback') refuseOutsiders(request)
  return {
    subject: claimedActor(request, mode),
    scopes: EVERYTHING,
    roles: [],
    tenant: tenantOf(request, null),
    bound: false,
    verified: false,
  }
}

/** Without a hint of how much of it is correct. */
function isSame(given: string, own: string): boolean {
  const [a, b] = [given, own].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}

/** A page in a browser cannot send a header: `/` may have the token in its address. */
function bearerOf(request: FastifyRequest): string | null {
  const { authorization } = request.headers
  if (authorization === undefined) {
    const { token } = request.query as { readonly token?: unknown }
    return request.routeOptions.url === '/' && typeof token === 'string' ? token : null
  }
  const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (token !== undefined) return token
  throw new RequestError('unauthenticated', 'the Authorization header is not "Bearer KEY"', {
    headers: { 'www-authenticate': 'Bearer realm="petrel"' },
  })
}

/** The tenant of the key; with a key for all tenants, or without a key, the tenant named by the request. */
function tenantOf(request: FastifyRequest, bound: string | null): string | null {
  const header = request.headers['x-ojs-tenant'] ?? request.headers['x-ojs-tenant-id']
  if (header === undefined || header === '') return bound
  if (typeof header !== 'string' || !TENANT.test(header)) {
    throw new RequestError('invalid_request', 'X-OJS-Tenant is not the name of a tenant', {
      hint: 'Up to 128 letters, digits, and . _ : - after the first.',
    })
  }
  if (bound === null || bound === header) return header
  throw new RequestError('permission_denied', `this key belongs to another tenant than ${header}`, {
    details: { tenant: bound },
    hint: 'Leave X-OJS-Tenant out, or use a key of that tenant.',
  })
}

function claimedActor(request: FastifyRequest, mode: AuthMode): string | null {
  const header = request.headers['x-petrel-actor']
  if (header === undefined || header === '') return null
  if (mode !== 'loopback' || !isLoopback(request.socket.remoteAddress ?? '')) {
    throw new RequestError('permission_denied', 'X-Petrel-Actor is taken only from this machine', {
      hint: 'Use an API key: its subject is the name that is recorded.',
    })
  }
  if (typeof header === 'string' && NAME.test(header)) return header
  throw new RequestError('invalid_request', 'X-Petrel-Actor is up to 200 printable ASCII characters')
}

const PASSED_ON = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'] as const

/** Loopback without a key: only requests sent deliberately from this machine to this machine. */
function refuseOutsiders(request: FastifyRequest): void {
  const passedOn = PASSED_ON.find((name) => request.headers[name] !== undefined)
  if (passedOn !== undefined) {
    throw new RequestError(
      'permission_denied',
      `a proxy passed this request on (${passedOn}); without keys that is refused`,
      {
        hint: 'Behind a proxy start the server with --require-key and send an API key.',
      },
    )
  }
  const { host } = request.headers
  if (host !== undefined && !isLocalName(host)) {
    throw new RequestError('permission_denied', `this server answers without a key only as localhost, not as ${host}`, {
      hint: 'Ask for localhost or 127.0.0.1, or start the server with --require-key and send an API key.',
    })
  }
  const { origin } = request.headers
  if (origin !== undefined && origin !== `http://${host}`) {
    throw new RequestError('permission_denied', `a page of ${origin} may not use this server without a key`, {
      hint: 'Start the server with --require-key and send an API key.',
    })
  }
}

/** Names that a foreign DNS server cannot resolve to this machine: addresses, and localhost. */
function isLocalName(host: string): boolean {
  const name = host.replace(/:\d+$/, '')
  return /^(?:localhost|.+\.localhost|\d+\.\d+\.\d+\.\d+|\[[0-9a-f:.]+\])$/i.test(name)
}

export function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address) || /^(?:.+\.)?localhost$/i.test(address)
}

/** Keys as last read, cached briefly: one read of the store per key and two seconds, not per request. */
class KnownKeys {
  readonly #keys: Keys
  readonly #recent = new Map<string, { readonly row: KeyRow; readonly until: number }>()

  constructor(keys: Keys) {
    this.#keys = keys
  }

  async check(token: string): Promise<KeyRow> {
    const parts = splitKey(token)
    if (parts === null) throw refused('this is not an API key of Petrel')
    const row = await this.#find(parts.id)
    const verdict = judgeKey(row, parts.secret, Date.now())
    if (verdict === 'ok') return row as KeyRow
    throw refused(verdict === 'wrong' ? 'there is no such API key' : `this API key is ${verdict}`)
  }

  async #find(id: string): Promise<KeyRow | null> {
    const known = this.#recent.get(id)
    if (known !== undefined && known.until > performance.now()) return known.row
    const row = await this.#keys.find(id)
    this.#recent.delete(id)
    if (row === null) return null
    if (this.#recent.size >= REMEMBER_MOST) this.#recent.clear()
    this.#recent.set(id, { row, until: performance.now() + REMEMBER_MS })
    return row
  }
}

function refused(message: string): RequestError {
  return new RequestError('unauthenticated', message, {
    headers: { 'www-authenticate': 'Bearer realm="petrel", error="invalid_token"' },
    hint: '`petrel keys ls` lists the keys; `petrel keys add` makes a new one.',
  })
}
