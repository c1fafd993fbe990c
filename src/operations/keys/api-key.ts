/**
 * API keys: `petrel_<id>_<secret>`. The id finds the row, the secret authenticates the caller; only its SHA-256 is
 * stored. A slow hash would add nothing: the secret is 256 random bits, not a password.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { sha256 } from '../../kernel/hash.ts'
import type { KeyRow } from '../../model/rows.ts'

const KEY = /^petrel_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

export interface NewKey {
  readonly id: string
  readonly hash: string
  /** Shown once, stored nowhere. */
  readonly text: string
}

export function makeKey(): NewKey {
  const id = randomBytes(8).toString('hex')
  const secret = randomBytes(32).toString('base64url')
  return { id, hash: hashOf(secret), text: `petrel_${id}_${secret}` }
}

/** null: not in the form of a key. */
export function splitKey(text: string): { readonly id: string; readonly secret: string } | null {
  const found = KEY.exec(text)
  return found === null ? null : { id: found[1] as string, secret: found[2] as string }
}

export type KeyVerdict = 'ok' | 'wrong' | 'revoked' | 'expired'

/** The hash is compared even if the row is missing, so that timing reveals nothing about existing ids. */
export function judgeKey(row: KeyRow | null, secret: string, now: number): KeyVerdict {
  const given = Buffer.from(hashOf(secret), 'hex')
  const stored = row === null ? Buffer.alloc(given.length) : Buffer.from(row.hash, 'hex')
  const same = stored.length === given.length && timingSafeEqual(stored, given)
  if (row === null || !same) return 'wrong'
  if (row.revokedAt !== null) return 'revoked'
  return row.expiresAt !== null && row.expiresAt <= now ? 'expired' : 'ok'
}

function hashOf(secret: string): string {
  return sha256(secret)
}
