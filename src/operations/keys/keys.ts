/** API keys: access to the server. */
import { PetrelError } from '../../kernel/errors.ts'
import type { KeyRow } from '../../model/rows.ts'
import type { Scope } from '../caller.ts'
import { operation } from '../operation.ts'
import { makeKey } from './api-key.ts'

const ADMIN = { scope: 'admin', shared: true } as const

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

export const addKey = operation(ADMIN, async ({ engine }, { validMs, ...asked }: KeyAsked): Promise<KeyMade> => {
  const { id, hash, text } = makeKey()
  const createdAt = await engine.queries.now()
  const expiresAt = validMs === null ? null : createdAt + validMs
  const row: KeyRow = { id, hash, ...asked, createdAt, expiresAt, revokedAt: null }
  await engine.records.keys.add(row)
  return { row, text }
})

/** Oldest first, revoked ones too. */
export const listKeys = operation(
  ADMIN,
  ({ engine }, _: null): Promise<readonly KeyRow[]> => engine.records.keys.list(),
)

/** By its id, or by the whole key. */
export const revokeKey = operation(ADMIN, async ({ engine }, { key }: { readonly key: string }): Promise<KeyRow> => {
  const id = /^petrel_([0-9a-f]{16})_/.exec(key)?.[1] ?? key
  const { keys } = engine.records
  const row = await keys.revoke(id)
  if (row !== null) return row
  if ((await keys.find(id)) === null) throw new PetrelError('not_found', `there is no key ${id}`, { id })
  throw new PetrelError('conflict', `key ${id} was revoked before`, { id })
})
