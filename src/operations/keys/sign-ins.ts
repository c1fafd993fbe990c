/**
 * Sign-ins of browsers. Each method of proving who somebody is ends in `signIn`; what follows is the same for all. The
 * argument of each operation is the permission: an identity that was proven, or the hash of a secret token.
 */
import type { SignInRow } from '../../model/access/sign-ins.ts'
import { operation } from '../operation.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Without use. */
const IDLE_MS = 12 * HOUR_MS
/** However much it is used. */
export const LONGEST_MS = 7 * 24 * HOUR_MS
/** No write for each request. */
const EXTENDED_EVERY_MS = 5 * MINUTE_MS

/** Someone who has proven to be this. */
export type Identity = Pick<SignInRow, 'method' | 'subject' | 'tenant' | 'roles' | 'scopes' | 'keyId'>

export const signIn = operation(
  'none',
  async ({ engine }, { hash, ...identity }: Identity & { readonly hash: string }): Promise<SignInRow> => {
    const createdAt = await engine.queries.now()
    const row = { ...identity, hash, createdAt, expiresAt: createdAt + IDLE_MS }
    await engine.records.signIns.add(row)
    return row
  },
)

/** One that has not ended, extended by its use. */
export const findSignIn = operation(
  'none',
  async ({ engine }, { hash }: { readonly hash: string }): Promise<SignInRow | null> => {
    const found = await engine.records.signIns.find(hash)
    if (found === null) return null
    const { row, now } = found
    const expiresAt = Math.min(now + IDLE_MS, row.createdAt + LONGEST_MS)
    if (expiresAt - row.expiresAt < EXTENDED_EVERY_MS) return row
    await engine.records.signIns.extend({ hash, until: expiresAt })
    return { ...row, expiresAt }
  },
)

export const signOut = operation(
  'none',
  ({ engine }, { hash }: { readonly hash: string }): Promise<void> => engine.records.signIns.remove(hash),
)
