/**
 * Sign-ins: what a browser has instead of a key. A cookie holds a random token, and a row its hash with the identity that
 * was proven when it was made, by whatever method.
 */

export interface SignInRow {
  /** SHA-256 of the token, in hex; it is stored nowhere. */
  readonly hash: string
  /** key: an API key. token: the local token of a server, which proves no name. */
  readonly method: 'key' | 'token'
  readonly subject: string | null
  readonly tenant: string | null
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  /** It ends with this key; null: of no key. */
  readonly keyId: string | null
  readonly createdAt: number
  /** Moved on while it is in use. */
  readonly expiresAt: number
}

/** Of one key, and of all local tokens together; the oldest make room. */
export const MOST_SIGN_INS = 100

export interface SignIns {
  /** Also removes expired ones, and the oldest of the same key beyond MOST_SIGN_INS. */
  add(row: SignInRow): Promise<void>
  /** null: none, or it has ended: it has expired, or its key has been revoked or has expired. By the store's clock. */
  find(hash: string): Promise<{ readonly row: SignInRow; readonly now: number } | null>
  /** Never earlier than before. */
  extend(params: { readonly hash: string; readonly until: number }): Promise<void>
  remove(hash: string): Promise<void>
}
