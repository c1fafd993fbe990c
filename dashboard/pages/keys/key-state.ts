/** Whether a key still opens anything. */
import type { ApiKey } from './keys.tsx'

export type KeyState = 'active' | 'expired' | 'revoked'

export function stateOf(
  { revoked_at: revoked, expires_at: expires }: Pick<ApiKey, 'revoked_at' | 'expires_at'>,
  now: number,
): KeyState {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'active'
}
