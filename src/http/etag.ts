/** Validators: a client that has the same content already is not sent it again. */
import type { FastifyRequest } from 'fastify'

/** Whether the client has it. Weak comparison, as If-None-Match requires. */
export function isKnown({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): boolean {
  const known = headers['if-none-match']
  if (known === undefined) return false
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '')
  return known.trim() === '*' || known.split(',').some((tag) => bare(tag) === bare(etag))
}
