/** /v1/session: the sign-in of a browser. */
import type { FastifyRequest } from 'fastify'
import type { Authentication, Identified } from '../../http/auth.ts'
import { RequestError } from '../../http/request-error.ts'
import { cookieOf, noCookie } from '../../http/sign-in/cookie.ts'
import { refuseOtherOrigins } from '../../http/sign-in/same-origin.ts'
import type { SignInRow } from '../../model/access/sign-ins.ts'
import { SCOPES, type Scope } from '../../operations/caller.ts'
import { storeTime } from '../../operations/clock.ts'
import type { Perform } from '../../operations/operation.ts'
import {
  asked,
  flag,
  line,
  list,
  time as moment,
  named,
  nullable,
  object,
  text,
  type Value,
  word,
} from '../../wire/schema.ts'
import { time } from '../../wire/value.ts'
import { serverRoute as route, type ServerContext } from '../context.ts'

const Session = named(
  'Session',
  object({
    signed_in: flag('By a key, a token or the cookie of this request.'),
    sign_in: word(
      ['none', 'key', 'token'],
      'What this server needs: nothing, an API key, or the token that `petrel dev` prints.',
    ),
    subject: nullable(text()),
    tenant: nullable(text()),
    roles: list(text()),
    scopes: list(word(SCOPES), 'What the caller may do; if `sign_in` is none, without signing in.'),
    verified: flag('The subject has been proven.'),
    version: text('Of the server.'),
    store: word(['sqlite', 'postgres']),
    expires_at: nullable(moment('When the sign-in ends unless it is used. null: the caller has no cookie.')),
    now: moment('The clock of the store.'),
  }),
)

const NOBODY = { subject: null, tenant: null, roles: [], scopes: new Set<Scope>(), verified: false }

export const SIGN_IN_ROUTES = [
  route(
    'GET /v1/session',
    {
      tag: 'Server',
      summary: 'Who is the caller, and what does the server need?',
      description: 'Open to any caller. A key that is not valid is refused; a cookie that is not valid counts as none.',
      does: 'none',
      answers: { '200': { description: 'Of this request.', schema: Session } },
      errors: ['unauthenticated', 'permission_denied'],
    },
    async ({ request, perform }, context) => {
      const found = await identified(context.authentication, request)
      return sessionWire(found, found?.signedIn ?? null, context, perform)
    },
  ),

  route(
    'POST /v1/session',
    {
      tag: 'Server',
      summary: 'Sign in',
      description:
        'The answer sets the cookie `petrel_session` (HttpOnly, SameSite=Strict), which later requests of the browser are ' +
        'authenticated by. A change with it must come from a page of this server. A sign-in ends 12 hours after its last use, ' +
        'and with its key.',
      does: 'none',
      body: {
        schema: asked('a sign-in', { key: line(500, 'An API key, or the token that `petrel dev` prints.') }),
        example: { key: 'petrel_0123456789abcdef_…' },
      },
      answers: { '201': { description: 'Signed in.', schema: Session, headers: ['Set-Cookie'] } },
      errors: ['unauthenticated', 'permission_denied'],
    },
    async ({ request, reply, body, perform }, context) => {
      refuseOtherOrigins(request)
      const { token, row } = await context.authentication.signIn(request, body.key)
      reply.code(201).header('set-cookie', cookieOf(token, request))
      const { subject, tenant, roles, method } = row
      const scopes = new Set(row.scopes as readonly Scope[])
      const caller = { subject, tenant, roles, scopes, verified: method === 'key' }
      return sessionWire({ caller }, row, context, perform)
    },
  ),

  route(
    'DELETE /v1/session',
    {
      tag: 'Server',
      summary: 'Sign out',
      description: 'Other servers of the same store accept the cookie for at most two more seconds.',
      does: 'none',
      answers: { '200': { description: 'Signed out, or it was not signed in.', schema: Session } },
      errors: ['permission_denied'],
    },
    async ({ request, reply, perform }, context) => {
      const { authentication } = context
      const found = await identified(authentication, request)
      if (found?.signedIn != null) await authentication.signOut(found.signedIn)
      reply.header('set-cookie', noCookie(request))
      return sessionWire(found?.signedIn != null ? null : found, null, context, perform)
    },
  ),
]

/** null: it has not signed in where that is needed. */
async function identified(authentication: Authentication, request: FastifyRequest): Promise<Identified | null> {
  try {
    return await authentication.identify(request)
  } catch (error) {
    const isMissing = error instanceof RequestError && error.code === 'unauthenticated'
    if (!isMissing || request.headers.authorization !== undefined) throw error
    return null
  }
}

async function sessionWire(
  found: { readonly caller: Omit<Identified['caller'], 'bound'> } | null,
  row: SignInRow | null,
  { authentication, version, store }: ServerContext,
  perform: Perform,
): Promise<Value<typeof Session>> {
  const { subject, tenant, roles, scopes, verified } = found?.caller ?? NOBODY
  const now = await perform(storeTime, null)
  return {
    signed_in: found !== null && (authentication.needs !== 'none' || row !== null || verified),
    sign_in: authentication.needs,
    subject,
    tenant,
    roles,
    scopes: [...scopes],
    verified,
    version,
    store,
    expires_at: time(row?.expiresAt ?? null),
    now: time(now),
  }
}
