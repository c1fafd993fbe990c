/**
 * Requests that a browser sends with the cookie of a sign-in although another page asked for them. SameSite keeps the cookie
 * from other sites, but pages of another port or subdomain are the same site, and WebSockets know no CORS.
 */
import type { FastifyRequest } from 'fastify'
import { RequestError } from '../request-error.ts'

/** own: of a page of this server. unknown: no browser, or an address that was typed. */
function senderOf({ headers }: FastifyRequest): 'own' | 'other' | 'unknown' {
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return 'own'
  if (site === 'none') return 'unknown'
  if (site !== undefined) return 'other'
  const { origin, host } = headers
  if (origin === undefined) return 'unknown'
  return origin === `http://${host}` || origin === `https://${host}` ? 'own' : 'other'
}

/** A change needs proof that a page of this server sent it. */
export function refuseOtherPages(request: FastifyRequest): void {
  const sender = senderOf(request)
  const reads = request.method === 'GET' || request.method === 'HEAD'
  if (sender === 'own' || (reads && sender === 'unknown')) return
  throw new RequestError(
    'permission_denied',
    sender === 'other'
      ? 'a page of another origin may not use the sign-in of this server'
      : 'a change with the cookie of a sign-in must show that a page of this server sent it',
    {
      details: { reason: 'cross_site' },
      hint: 'Browsers send Sec-Fetch-Site: same-origin, or Origin. Programs send an API key as "Authorization: Bearer KEY".',
    },
  )
}

/** The request that signs in carries no cookie yet: a page of another origin may not choose who is signed in. */
export function refuseOtherOrigins(request: FastifyRequest): void {
  if (senderOf(request) === 'other') refuseOtherPages(request)
}
