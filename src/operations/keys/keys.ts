/** API keys: access to the server. */
import { PetrelError } from '../../kernel/errors.ts'
import { isStorable } from '../../kernel/json-limits.ts'
import type { KeyRow } from '../../model/rows.ts'
import { type Caller, maySee, type Scope } from '../caller.ts'
import { operation } from '../operation.ts'
import { makeKey } from './api-key.ts'

/** A caller that belongs to a tenant manages the keys of that tenant. */
const ADMIN = { scope: 'admin' } as const

export interface KeyAsked {
  readonly subject: string
  readonly scopes: readonly Scope[]
  readonly roles: readonly string[]
  readonly tenant: string | null
  /** Its period of validity; null: until it is revoked. */
  readonly validMs: number | null
}

export interface KeyMade {
  readonly row: KeyRow
  /** Returned once, stored nowhere. */
  readonly text: string
}

export const addKey = operation(
  ADMIN,
  async ({ engine, caller }, { validMs, ...asked }: KeyAsked): Promise<KeyMade> => {
    refuseOtherTenants(caller, asked.tenant)
    const { id, hash, text } = makeKey()
    const createdAt = await engine.queries.now()
    const expiresAt = validMs === null ? null : createdAt + validMs
    const row: KeyRow = { id, hash, ...asked, createdAt, expiresAt, revokedAt: null }
    await engine.records.keys.add(row)
    return { row, text }
  },
)

/** Oldest first, revoked ones too. */
export const listKeys = operation(
  ADMIN,
  async ({ engine, caller }, _: null): Promise<readonly KeyRow[]> =>
    (await engine.records.keys.list()).filter((row) => maySee(caller, row)),
)

/** By its id, or by the whole key. */
export const revokeKey = operation(
  ADMIN,
  async ({ engine, caller }, { key }: { readonly key: string }): Promise<KeyRow> => {
    const id = /^petrel_([0-9a-f]{16})_/.exec(key)?.[1] ?? key
    const { keys } = engine.records
    const found = isStorable(id) ? await keys.find(id) : null
    if (found === null || !maySee(caller, found)) throw new PetrelError('not_found', `there is no key ${id}`, { id })
    const row = await keys.revoke(id)
    if (row !== null) return row
    throw new PetrelError('conflict', `key ${id} was revoked before`, { id })
  },
)

function refuseOtherTenants({ bound, tenant }: Caller, asked: string | null): void {
  if (!bound || asked === tenant) return
  throw new PetrelError('permission_denied', 'a key that belongs to a tenant makes keys of this tenant alone', {
    tenant,
    hint: `Ask for a key of the tenant ${tenant}.`,
  })
}
