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
 * a tenant, it sees and changes only the tenant's data. Instead of a key, browsers send the cookie of a sign-in, which has the
 * permissions of the key it was made with; one that has ended counts as none. A key that is sent takes precedence.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SignInRow } from '../model/access/sign-ins.ts'
import type { Keys } from '../model/registry.ts'
import type { KeyRow } from '../model/rows.ts'
import { type Access, type Caller, permit, SCOPES, type Scope } from '../operations/caller.ts'
import { findSignIn, type Identity, signIn, signOut } from '../operations/keys/sign-ins.ts'
import type { Operations } from '../operations/operation.ts'
import { RequestError } from './request-error.ts'
import { hashOf, newToken, tokenOf } from './sign-in/cookie.ts'
import { KnownKeys } from './sign-in/known-keys.ts'
import { Remembered } from './sign-in/remembered.ts'
import { refuseOtherPages } from './sign-in/same-origin.ts'

export type AuthMode = 'loopback' | 'required' | 'insecure'

const NAME = /^[\x20-\x7e]{1,200}$/
const TENANT = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
const EVERYTHING: ReadonlySet<Scope> = new Set(SCOPES)
const NOTHING: ReadonlySet<Scope> = new Set()

/** Whether a path exists is for callers to know that may read. */
const UNKNOWN_PATH: Access = { scope: 'read' }

const ANONYMOUS: Caller = { subject: null, scopes: NOTHING, roles: [], tenant: null, bound: false, verified: false }

export interface AuthParams {
  readonly operations: Operations
  readonly keys: Keys
  readonly mode: AuthMode
  /** Required in every request without a key on loopback; null: none. */
  readonly token: string | null
}

/** Requests get their callers; those that the routes must not serve are refused before their bodies are read. */
export function authenticate(app: FastifyInstance, params: AuthParams): Authentication {
  const authentication = new Authentication(params)
  const refusals = new WeakMap<FastifyRequest, RequestError>()
  app.decorateRequest('caller')
  // Does not refuse yet: requests with wrong keys count for the rate guard, which runs between this hook and the next.
  app.addHook('onRequest', async (request) => {
    request.caller = ANONYMOUS
    // These routes need neither a name nor an available store.
    if (request.routeOptions.config.access === 'none') return
    try {
      request.caller = (await authentication.identify(request)).caller
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
  return authentication
}

/** `signedIn`: by the cookie of this request. */
export interface Identified {
  readonly caller: Caller
  readonly signedIn: SignInRow | null
}

export class Authentication {
  readonly #operations: Operations
  readonly #mode: AuthMode
  readonly #own: string | null
  readonly #keys: KnownKeys
  readonly #signIns: Remembered<SignInRow>

  constructor({ operations, keys, mode, token }: AuthParams) {
    this.#operations = operations
    this.#mode = mode
    this.#own = token
    this.#keys = new KnownKeys(keys)
    this.#signIns = new Remembered((hash) => operations.perform(ANONYMOUS, findSignIn, { hash }))
  }

  /** What a request without a sign-in needs. */
  get needs(): 'none' | 'key' | 'token' {
    if (this.#mode === 'required') return 'key'
    return this.#own === null ? 'none' : 'token'
  }

  async identify(request: FastifyRequest): Promise<Identified> {
    const bearer = bearerOf(request)
    if (bearer !== null && !this.#isOwn(bearer)) return { caller: await this.#ofKey(request, bearer), signedIn: null }
    const signedIn = bearer === null ? await this.#signedIn(request) : null
    if (signedIn !== null) {
      refuseOtherPages(request)
      if (signedIn.method === 'token') refuseOutsiders(request)
      return { caller: callerOf(request, signedIn), signedIn }
    }
    if (bearer === null && this.needs !== 'none') throw this.#wanted()
    return { caller: this.#local(request), signedIn: null }
  }

  /** The token of the cookie. `secret`: an API key, or the token of this server. */
  async signIn(request: FastifyRequest, secret: string): Promise<{ readonly token: string; readonly row: SignInRow }> {
    const isOwn = this.#isOwn(secret)
    if (isOwn) refuseOutsiders(request)
    const identity: Identity = isOwn
      ? {
          method: 'token',
          subject: claimedActor(request, this.#mode),
          tenant: null,
          roles: [],
          scopes: SCOPES,
          keyId: null,
        }
      : { ...identityOf(await this.#keys.check(secret)) }
    const token = newToken(isOwn)
    const hash = hashOf(token, this.#own) as string
    return { token, row: await this.#operations.perform(ANONYMOUS, signIn, { ...identity, hash }) }
  }

  async signOut({ hash }: SignInRow): Promise<void> {
    await this.#operations.perform(ANONYMOUS, signOut, { hash })
    this.#signIns.forget(hash)
  }

  #isOwn(secret: string): boolean {
    return this.#own !== null && isSame(secret, this.#own)
  }

  async #signedIn(request: FastifyRequest): Promise<SignInRow | null> {
    const token = tokenOf(request)
    const hash = token === null ? null : hashOf(token, this.#own)
    return hash === null ? null : this.#signIns.find(hash)
  }

  async #ofKey(request: FastifyRequest, text: string): Promise<Caller> {
    return callerOf(request, identityOf(await this.#keys.check(text)))
  }

  #local(request: FastifyRequest): Caller {
    if (this.#mode === 'loopback') refuseOutsiders(request)
    return {
      subject: claimedActor(request, this.#mode),
      scopes: EVERYTHING,
      roles: [],
      tenant: tenantOf(request, null),
      bound: false,
      verified: false,
    }
  }

  #wanted(): RequestError {
    const headers = { 'www-authenticate': 'Bearer realm="petrel"' }
    if (this.needs === 'key') return new RequestError('unauthenticated', 'this server wants an API key', { headers })
    return new RequestError(
      'unauthenticated',
      'this server wants the token that `petrel dev` keeps in its data directory',
      {
        headers,
        hint: 'curl -H "Authorization: Bearer $(cat .petrel/dev-token)" …, or in a browser http://localhost:PORT/?token=TOKEN',
      },
    )
  }
}

function identityOf({ id, subject, tenant, roles, scopes }: KeyRow): Identity {
  return { method: 'key', subject, tenant, roles, scopes, keyId: id }
}

function callerOf(request: FastifyRequest, { method, subject, tenant, roles, scopes }: Identity): Caller {
  return {
    subject,
    scopes: new Set(scopes as readonly Scope[]),
    roles,
    tenant: tenantOf(request, tenant),
    bound: tenant !== null,
    verified: method === 'key',
  }
}

/** Without a hint of how much of it is correct. */
function isSame(given: string, own: string): boolean {
  const [a, b] = [given, own].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}

function bearerOf({ headers: { authorization } }: FastifyRequest): string | null {
  if (authorization === undefined) return null
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
