/** The caller of an operation, and its permissions. */

import { PetrelError } from '../kernel/errors.ts'
import { scopedName } from '../kernel/scoped-names.ts'
import { UNVERIFIED } from '../model/gates.ts'

/** read: read; enqueue: start and cancel work; work: fetch and report it; admin: everything. */
export type Scope = 'read' | 'enqueue' | 'work' | 'admin'

export const SCOPES: readonly Scope[] = ['read', 'enqueue', 'work', 'admin']

export interface Caller {
  /** The name recorded as actor or initiator; null: unknown. */
  readonly subject: string | null
  readonly scopes: ReadonlySet<Scope>
  readonly roles: readonly string[]
  /** Sees and claims only what belongs to this tenant; null: all tenants. */
  readonly tenant: string | null
  /** true: the caller belongs to the tenant; false: the request only named one. */
  readonly bound: boolean
  /** false: the subject is only a claim of the request. */
  readonly verified: boolean
}

/** The access that an operation requires of its caller. */
export interface Access {
  readonly scope: Scope
  /** It reads or changes what all tenants share, so a caller that is bound to a tenant is refused. */
  readonly shared?: boolean
}

const EVERYTHING: ReadonlySet<Scope> = new Set(SCOPES)

/** The caller of processes that open the store themselves: the command line, and programs that embed the engine. */
export function operator(subject: string | null): Caller {
  return { subject, scopes: EVERYTHING, roles: [], tenant: null, bound: false, verified: true }
}

export function mayDo(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || caller.scopes.has('admin')
}

/** Throws if the caller lacks this access. */
export function permit(caller: Caller, { scope, shared }: Access): void {
  if (!mayDo(caller, scope)) {
    throw new PetrelError('permission_denied', `this key is not allowed to ${scope}`, {
      required_scope: scope,
      scopes: [...caller.scopes],
    })
  }
  if (shared === true && caller.bound) {
    throw new PetrelError('permission_denied', 'this key belongs to one tenant, and this concerns all of them', {
      tenant: caller.tenant,
      hint: 'Use a key that is bound to no tenant.',
    })
  }
}

/** The tenant of a caller that sees only what belongs to no tenant. */
export const NO_TENANT = ''

/** Items of other tenants do not exist for the caller. */
export function maySee({ tenant }: Caller, row: { readonly tenant: string | null }): boolean {
  return tenant === null || (row.tenant ?? NO_TENANT) === tenant
}

/** The stored name of a worker: two tenants may have workers of the same name. */
export function holderOf({ tenant }: Caller, worker: string): string {
  return scopedName(worker, tenant)
}

/** The name written into the history. An unverified one is marked. */
export function actorOf(caller: Caller): string | null {
  if (caller.subject === null || caller.verified) return caller.subject
  return `${caller.subject}${UNVERIFIED}`
}
