/** The cookie of a sign-in, which holds a random token and nothing else. */
import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { sha256 } from '../../kernel/hash.ts'
import { LONGEST_MS } from '../../operations/keys/sign-ins.ts'

const NAME = 'petrel_session'
const TOKEN = /^(?:local_)?[A-Za-z0-9_-]{43}$/
const LOCAL = 'local_'

/** `local`: of a sign-in with the token of a server. */
export function newToken(local: boolean): string {
  return `${local ? LOCAL : ''}${randomBytes(32).toString('base64url')}`
}

/** null: the request carries none, or something that is none. */
export function tokenOf({ headers: { cookie } }: Pick<FastifyRequest, 'headers'>): string | null {
  for (const part of (cookie ?? '').split(';')) {
    const at = part.indexOf('=')
    const value = part.slice(at + 1).trim()
    if (part.slice(0, at).trim() === NAME && TOKEN.test(value)) return value
  }
  return null
}

/**
 * The name of its row. A sign-in with the token of a server is found only by servers that have the same token, so a new token
 * ends it. null: this server has none.
 */
export function hashOf(token: string, own: string | null): string | null {
  if (!token.startsWith(LOCAL)) return sha256(token)
  return own === null ? null : sha256(`${token} ${own}`)
}

/** It lasts as long as a sign-in can; the row has its real end. */
export function cookieOf(token: string, request: FastifyRequest): string {
  return `${NAME}=${token}; Max-Age=${LONGEST_MS / 1000}; ${attributes(request)}`
}

export function noCookie(request: FastifyRequest): string {
  return `${NAME}=; Max-Age=0; ${attributes(request)}`
}

function attributes(request: FastifyRequest): string {
  return `Path=/; HttpOnly; SameSite=Strict${isSecure(request) ? '; Secure' : ''}`
}

/**
 * The server itself speaks plain HTTP; a proxy in front of it may not. The page that signs in knows (Origin), and proxies say so.
 * Neither has to be trusted: a client that claims https without having it only loses its own cookie.
 */
function isSecure({ headers }: FastifyRequest): boolean {
  const first = (header: string | readonly string[] | undefined): string => String(header ?? '').split(',')[0] as string
  return (
    (headers.origin ?? '').startsWith('https://') ||
    first(headers['x-forwarded-proto']).trim().toLowerCase() === 'https' ||
    /(?:^|;)\s*proto="?https"?\s*(?:;|$)/i.test(first(headers.forwarded))
  )
}
