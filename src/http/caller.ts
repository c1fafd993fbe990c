/** Who sent a request, as far as the server knows. */

import { scopedName } from '../kernel/scoped-names.ts'
import { UNVERIFIED } from '../model/gates.ts'

/** read: look; enqueue: start and cancel work; work: fetch and report it; admin: everything. */
export type Scope = 'read' | 'enqueue' | 'work' | 'admin'

export const SCOPES: readonly Scope[] = ['read', 'enqueue', 'work', 'admin']

export interface Caller {
  /** Name to record as actor or initiator; null: nobody said. */
  readonly subject: string | null
  readonly scopes: ReadonlySet<Scope>
  readonly roles: readonly string[]
  /** Sees and claims only what belongs to this tenant; null: everything. */
  readonly tenant: string | null
  /** true: the key itself belongs to the tenant; false: the request only named one. */
  readonly bound: boolean
  /** false: the subject is only what the request claims (no keys in use, request from this machine). */
  readonly verified: boolean
}

export function mayDo(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || caller.scopes.has('admin')
}

/** A worker as the store knows it: two tenants may have workers of the same name. */
export function holderOf({ tenant }: Caller, worker: string): string {
  return scopedName(worker, tenant)
}

/** What a client is allowed and asks is counted per caller: a key that may name any tenant is one caller. */
export function callerKey(request: { readonly caller: Caller; readonly ip: string }): string {
  const { verified, bound, subject, tenant } = request.caller
  return verified ? `key ${subject} ${bound ? tenant : ''}` : `ip ${request.ip}`
}

/** Who did it, as it is written into the history. A name nobody vouches for says so. */
export function actorOf(caller: Caller): string | null {
  if (caller.subject === null || caller.verified) return caller.subject
  return `${caller.subject}${UNVERIFIED}`
}
