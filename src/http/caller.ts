/** The caller of a request, as the guards of the server count it. */
import type { Access, Caller } from '../operations/caller.ts'

/** Limits apply per caller: a key that may name any tenant is one caller. */
export function callerKey(request: { readonly caller: Caller; readonly ip: string }): string {
  const { verified, bound, subject, tenant } = request.caller
  return verified ? `key ${subject} ${bound ? tenant : ''}` : `ip ${request.ip}`
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler runs. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** The access that the operation of the route requires. */
    access?: Access | 'none'
    /** Whether an answer may be a stream, which stays open: always, or if the caller accepts one. */
    stream?: 'always' | 'accepted'
    /** The answer is compressed if the caller accepts that. */
    compressed?: true
  }
}
