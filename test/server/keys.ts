/** API keys created for a test, as the headers that carry them. */

import type { Scope } from '../../src/operations/caller.ts'
import { makeKey } from '../../src/operations/keys/api-key.ts'
import type { Serving } from './serving.ts'

export type As = Record<string, string>

/** `tenant` null: not bound to a tenant. */
export async function keyOf(
  s: Serving,
  subject: string,
  tenant: string | null,
  scopes: readonly Scope[] = ['admin'],
): Promise<As> {
  const { id, hash, text } = makeKey()
  const times = { createdAt: Date.now(), expiresAt: null, revokedAt: null }
  await s.store.keys.add({ id, hash, subject, scopes, roles: [], tenant, ...times })
  return { authorization: `Bearer ${text}` }
}
