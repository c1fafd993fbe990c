/** The sender of a message as a caller: NATS has checked that it may use the subject, and the subject implies the rest. */
import type { Caller, Scope } from '../../../operations/caller.ts'

export function senderOf(
  scope: Scope,
  { subject, tenant }: { readonly subject: string | null; readonly tenant: string | null },
): Caller {
  return { subject, scopes: new Set([scope]), roles: [], tenant, bound: tenant !== null, verified: true }
}
