/** Errors a store raises. The class is the policy: Busy may be retried, Data concerns one row, Closed ends it. */

export class StoreError extends Error {
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** The database refused a value (bad JSON, unrepresentable text, out of range). Bisect the batch to find it. */
export class StoreDataError extends StoreError {}

/** A unique key was taken between load and write: load and decide again. */
export class StoreConflictError extends StoreError {}

/** Connection lost or database locked for too long; nothing was written, or the outcome of the commit is unknown. */
export class StoreUnavailableError extends StoreError {}

/** The holder of a locked row, as far as the database reveals it. */
export interface LockHolder {
  readonly pid: number
  /** The application name of the connection; empty: none. */
  readonly application: string
  /** When its transaction began, in ms; null: hidden from this role. */
  readonly since: number | null
}

/** A row that another transaction holds. `key`: the id, or the key under which the table has it. */
export interface LockedRow {
  readonly table: 'run' | 'instance' | 'limit' | 'unique' | 'schedule' | 'idempotency_key'
  readonly key: string
  readonly holder: LockHolder | null
}

/**
 * Another transaction holds rows that this one needs, and has held them for longer than a transaction of ours takes.
 * Nothing was written. `rows`: the known ones; empty: it is only known that there are some.
 */
export class StoreLockedError extends StoreUnavailableError {
  readonly rows: readonly LockedRow[]
  constructor(rows: readonly LockedRow[], options?: ErrorOptions) {
    super('row_locked', lockMessage(rows), options)
    this.rows = rows
  }
}

export function lockMessage(rows: readonly LockedRow[]): string {
  const [row] = rows
  if (row === undefined)
    return 'another transaction holds a row that this needs, and has not ended; end it, or try again'
  const { table, key, holder } = row
  const more = rows.length > 1 ? ` (and ${rows.length - 1} more rows)` : ''
  const since = holder === null || holder.since === null ? '' : ` since ${new Date(holder.since).toISOString()}`
  const name = holder === null || holder.application === '' ? '' : ` (${holder.application})`
  const who = holder === null ? 'another transaction' : `the transaction of process ${holder.pid}${name}`
  return `${who} holds the row of ${table.replace('_', ' ')} ${key}${since}${more}; end it, or try again`
}

/** The database itself cannot be used: newer schema, changed migration, corrupt file, unknown URL. */
export class StoreUnusableError extends StoreError {}

/** The store does not answer: that concerns all rows. */
export function isStoreAway(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return !OF_THE_ROWS.has(error.code)
  return error instanceof StoreUnusableError
}

const OF_THE_ROWS: ReadonlySet<string> = new Set(['row_locked', 'statement_timeout', 'collided'])
