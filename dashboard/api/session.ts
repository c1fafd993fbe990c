/** Who the user is, and what the user may do: shown, and used to disable actions with the reason. */
import { signal } from '@preact/signals'
import type { Scope } from '../../src/operations/caller.ts'
import { AnswerError, api } from './client.ts'

export interface Session {
  readonly signed_in: boolean
  /** What the server wants of a caller. */
  readonly sign_in: 'none' | 'key' | 'token'
  readonly subject: string | null
  readonly tenant: string | null
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly version: string
  readonly store: string
}

/** null: not read yet. */
export const session = signal<Session | null>(null)

export async function readSession(): Promise<void> {
  try {
    session.value = (await api('GET /v1/session')) as Session
  } catch (error) {
    // The server cannot be reached: the banner says so, and this is tried again.
    if (error instanceof AnswerError) throw error
  }
}

/** Rejects with what the server says of the key. */
export async function signIn(key: string): Promise<void> {
  session.value = (await api('POST /v1/session', { body: { key } })) as Session
}

export async function signOut(): Promise<void> {
  await api('DELETE /v1/session')
  await readSession()
}

/** Whether the user has to sign in before anything can be shown. */
export function mustSignIn({ signed_in, sign_in }: Session): boolean {
  return !signed_in && sign_in !== 'none'
}

/** null: permitted. Otherwise the reason, for the action that it disables. */
export function refusal(scope: Scope): string | null {
  const scopes = session.value?.scopes ?? []
  if (scopes.includes(scope) || scopes.includes('admin')) return null
  return `needs the scope ${scope}; your key has ${scopes.length === 0 ? 'none' : scopes.join(', ')}`
}
