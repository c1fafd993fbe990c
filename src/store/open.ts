/** Opens the store that a URL names. Each kind is loaded only on request: an embedded program never loads `pg`. */
import { StoreUnusableError } from '../kernel/store-errors.ts'
import type { Store } from './store.ts'

export type { Store } from './store.ts'

export interface StoreOptions {
  /** Called right before COMMIT is sent and right after it succeeded: crash tests stop the process there. */
  readonly probe?: (point: 'before-commit' | 'after-commit') => void
  /** Postgres only: transactions in flight at the same time. */
  readonly connections?: number
  /** Postgres only, behind a transaction pooler: no LISTEN, so other processes' commits are found by polling. */
  readonly pollOnly?: boolean
}

export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { openPostgres } = await import('./postgres/store.ts')
    return openPostgres({ ...options, url })
  }
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  if (path !== undefined) {
    const { openSqlite } = await import('./sqlite/store.ts')
    return openSqlite({ ...options, path })
  }
  throw new StoreUnusableError(
    'unknown_store',
    `no store is called ${JSON.stringify(hidePassword(url))}; use sqlite:path/to/file.db, sqlite::memory: or postgres://user@host:5432/database`,
  )
}

/**
 * SQL that lets a role of a Postgres database use the inbox, and nothing else. Throws a RangeError if `role` is not a
 * valid name.
 */
export async function grantsFor(role: string): Promise<string> {
  const postgres = await import('./postgres/grants.ts')
  return postgres.grantsFor(role)
}

function hidePassword(url: string): string {
  return url.replace(/:[^:@/]*@/, ':***@')
}
