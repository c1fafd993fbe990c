/**
 * Maps SQLite's error codes to our errors. Errors that are not SQLite's (thrown by `decide`) pass through unchanged.
 */
import {
  StoreConflictError,
  StoreDataError,
  StoreError,
  StoreUnavailableError,
  StoreUnusableError,
} from '../../kernel/store-errors.ts'

const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const SCHEMA = 17
const TOOBIG = 18
const CONSTRAINT = 19
const NOTADB = 26
const CONSTRAINT_UNIQUE = 2067
const CONSTRAINT_PRIMARYKEY = 1555

/** The unique key that a message of SQLite refers to. */
const UNIQUES: readonly (readonly [string, string])[] = [
  ['workflow_run.idempotency_key', 'idempotency_key_taken'],
  ['workflow_run.instance_id', 'place_taken'],
  ['workflow_gate.instance_id', 'place_taken'],
  ['workflow_instance.start_key', 'start_key_taken'],
]

export function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  return code === BUSY || code === LOCKED
}

/** `subject` names the row being written, if it is known. */
export function storeFailure(error: unknown, subject: string | null = null): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error
  const about = subject === null ? '' : ` (${subject})`
  const options = { cause: error }
  const extended = extendedCode(error)
  if (extended === null) {
    if ((error as { code?: string }).code !== 'ERR_INVALID_ARG_TYPE') return error
    return new StoreDataError('unstorable', `SQLite cannot store this value: ${error.message}${about}`, options)
  }
  if (extended === CONSTRAINT_UNIQUE || extended === CONSTRAINT_PRIMARYKEY) {
    const code = UNIQUES.find(([column]) => error.message.includes(column))?.[1] ?? 'id_taken'
    return new StoreConflictError(code, `already taken: ${subject ?? error.message}`, options)
  }
  switch (extended & 0xff) {
    case CONSTRAINT:
    case TOOBIG:
      return new StoreDataError('unstorable', `SQLite refused a value: ${error.message}${about}`, options)
    case BUSY:
    case LOCKED:
      return new StoreUnavailableError('busy', 'the database stayed locked by another process', options)
    case FULL:
      return new StoreUnavailableError('disk_full', 'the disk is full; nothing was written', options)
    case IOERR:
      return new StoreUnavailableError('io_error', `reading or writing the database failed: ${error.message}`, options)
    case READONLY:
      return new StoreUnusableError(
        'read_only',
        'the database is read-only; make the file and its folder writable',
        options,
      )
    case CORRUPT:
      return new StoreUnusableError(
        'corrupt',
        `the database file is damaged: ${error.message}; restore a backup`,
        options,
      )
    case NOTADB:
      return new StoreUnusableError('not_a_database', 'the file is not an SQLite database', options)
    case CANTOPEN:
      return new StoreUnusableError('cannot_open', `the database file cannot be opened: ${error.message}`, options)
    case SCHEMA:
      return new StoreUnavailableError('schema_moved', 'the schema changed under way; try again', options)
    default:
      if (error.message.includes('no such table') || error.message.includes('no such column')) {
        return new StoreUnusableError(
          'not_migrated',
          `the database lacks a table: migrate it first (${error.message})`,
          options,
        )
      }
      return error
  }
}

function extendedCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code : null
}

function primaryCode(error: unknown): number | null {
  const code = extendedCode(error)
  return code === null ? null : code & 0xff
}
