/**
 * Links that let one person decide one gate without a key. The token is a JWT (HS256) that names the person, the roles,
 * the gate, its expiry and a unique id; the secret is created once per store. A link works once because a person votes
 * once.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { isId } from '../../kernel/ids.ts'
import type { Keys } from '../../model/registry.ts'

export const DECIDE_PATH = '/gates/decide/'
export const LONGEST_LINK_SECONDS = 366 * 86_400

const AUDIENCE = 'petrel:gate'
/** The router rejects longer ones. */
const LONGEST_TOKEN = 1000

export interface LinkAsked {
  readonly gateId: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly expiresInSeconds: number
  /** Who creates it. */
  readonly actor: string | null
}

export interface MadeLink {
  readonly id: string
  readonly path: string
  readonly expiresAt: number
}

/** The content of a valid token. */
export interface Invitation {
  readonly id: string
  readonly gateId: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly expiresAt: number
}

export async function makeLink(engine: EngineApi, asked: LinkAsked): Promise<MadeLink> {
  const { gateId, subject, roles, expiresInSeconds, actor } = asked
  if (expiresInSeconds > LONGEST_LINK_SECONDS)
    throw new PetrelError('invalid_request', 'a link is good for a year at most')
  const { SignJWT } = await import('jose')
  const id = randomUUID()
  const now = Math.floor((await engine.queries.now()) / 1000)
  const token = await new SignJWT({ gate: gateId, roles: [...roles] })
    .setProtectedHeader({ alg: 'HS256' })
    .setAudience(AUDIENCE)
    .setSubject(subject)
    .setJti(id)
    .setIssuedAt(now)
    .setExpirationTime(now + expiresInSeconds)
    .sign(await secretOf(engine.records.keys))
  if (token.length > LONGEST_TOKEN)
    throw new PetrelError('invalid_request', 'subject and roles are too long for a link')
  const expiresAt = (now + expiresInSeconds) * 1000
  await engine.noteLink({ gateId, subject, roles, expiresAt, link: id, actor })
  return { id, path: `${DECIDE_PATH}${token}`, expiresAt }
}

/**
 * Throws `denied` for a token with a wrong signature or past its expiry; a text that is not a token at all is not
 * found.
 */
export async function readLink(engine: EngineApi, token: string): Promise<Invitation> {
  if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) {
    throw new PetrelError('not_found', 'there is no such link; is it whole?', { reason: 'malformed' })
  }
  const { jwtVerify, errors } = await import('jose')
  const how = { algorithms: ['HS256'], audience: AUDIENCE, currentDate: new Date(await engine.queries.now()) }
  try {
    const { payload } = await jwtVerify(token, await secretOf(engine.records.keys), how)
    const { gate, sub, jti, exp, roles } = payload
    if (typeof gate === 'string' && isId(gate) && sub !== undefined && jti !== undefined && exp !== undefined) {
      return { id: jti, gateId: gate, subject: sub, roles: (roles ?? []) as string[], expiresAt: exp * 1000 }
    }
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      const at = new Date((error.payload.exp ?? 0) * 1000).toISOString()
      throw new PetrelError('denied', `this link expired at ${at}; ask for a new one`, { reason: 'expired', at })
    }
    if (!(error instanceof errors.JOSEError)) throw error
  }
  throw new PetrelError('denied', 'this link is not one that was made here, or it was changed', { reason: 'forged' })
}

const SECRETS = new WeakMap<Keys, Promise<Uint8Array>>()

function secretOf(keys: Keys): Promise<Uint8Array> {
  let secret = SECRETS.get(keys)
  if (secret === undefined) {
    const fresh = randomBytes(32).toString('base64url')
    secret = keys.signing(fresh).then((text) => Buffer.from(text, 'base64url'))
    secret.catch(() => SECRETS.delete(keys))
    SECRETS.set(keys, secret)
  }
  return secret
}
