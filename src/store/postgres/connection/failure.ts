/** Maps errors of the server or the socket to classes. The class is the policy: see kernel/store-errors.ts. */
import {
  StoreConflictError,
  StoreDataError,
  StoreError,
  StoreLockedError,
  StoreUnavailableError,
  StoreUnusableError,
} from '../../../kernel/store-errors.ts'
import { FlightError } from './flight.ts'

interface ServerError extends Error {
  readonly code?: string
  readonly severity?: string
  readonly detail?: string
  readonly constraint?: string
}

export function causeOf(error: unknown): ServerError {
  if (error instanceof FlightError) return error.cause as ServerError
  return error instanceof Error ? error : new Error(String(error))
}

/** Raised by workflow.expect_clock. */
export const CLOCK_MOVED = 'PTCLK'
/** Raised by workflow.expect_rows; LOCKED if another transaction holds one of the rows. */
export const ROWS_CHANGED = 'PTROW'
export const LOCKED = '55P03'

const SQLSTATE = /^[0-9A-Z]{5}$/

export function isServerError(error: ServerError): boolean {
  return error.severity !== undefined && error.code !== undefined && SQLSTATE.test(error.code)
}

/** The connection is lost, or the server is shutting down or full: the same call may succeed on another connection. */
export function isConnectionLoss(error: ServerError): boolean {
  if (!isServerError(error)) return true
  const code = error.code as string
  return error.severity === 'FATAL' || error.severity === 'PANIC' || code.startsWith('08') || code.startsWith('57P')
}

/** A deadlock, a serialization failure or a moved clock: decide again. */
export function isCollision(error: ServerError): boolean {
  return error.code === '40P01' || error.code === '40001' || error.code === CLOCK_MOVED
}

/** A retry would not help: wrong password, no such database. */
export function isRefusal(error: ServerError): boolean {
  return isServerError(error) && (error.code?.startsWith('28') || error.code === '3D000') === true
}

const TAKEN: Readonly<Record<string, string>> = {
  idx_workflow_run_idempotency: 'idempotency_key_taken',
  workflow_kept_key_pkey: 'idempotency_key_taken',
  workflow_run_place: 'place_taken',
  workflow_gate_place: 'place_taken',
  workflow_gate_pkey: 'id_taken',
  workflow_run_pkey: 'id_taken',
  workflow_instance_pkey: 'id_taken',
  workflow_instance_start_key: 'start_key_taken',
}

export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const cause = causeOf(error)
  const options = { cause }
  if (!isServerError(cause)) {
    return new StoreUnavailableError('connection_lost', `connection to PostgreSQL lost: ${cause.message}`, options)
  }
  const code = cause.code as string
  if (isRefusal(cause)) return new StoreUnusableError('refused', `PostgreSQL refused: ${cause.message}`, options)
  if (isConnectionLoss(cause)) return new StoreUnavailableError('connection_lost', cause.message, options)
  if (code === '23505') {
    const taken = cause.detail === undefined ? cause.message : cause.detail
    return new StoreConflictError(TAKEN[cause.constraint ?? ''] ?? 'taken', taken, options)
  }
  // the values of one row: class 22, checks and not-nulls, jsonb or index entries beyond their size, nested too deeply
  if (code.startsWith('22') || code.startsWith('540') || code === '23514' || code === '23502' || code === '21000') {
    return new StoreDataError(
      'unstorable',
      cause.detail === undefined ? cause.message : `${cause.message}: ${cause.detail}`,
      options,
    )
  }
  if (code === '42P01' || code === '3F000' || code === '42703' || code === '42883') {
    return new StoreUnusableError(
      'schema_missing',
      `${cause.message}; apply the migrations first (petrel migrate)`,
      options,
    )
  }
  if (code === '42501') return new StoreUnusableError('forbidden', cause.message, options)
  if (code === LOCKED) return new StoreLockedError([], options)
  if (code === '57014') return new StoreUnavailableError('statement_timeout', cause.message, options)
  if (isCollision(cause))
    return new StoreUnavailableError('collided', `gave up after colliding again and again: ${cause.message}`, options)
  if (code === '53100') return new StoreUnavailableError('disk_full', cause.message, options)
  if (code.startsWith('53') || code.startsWith('58'))
    return new StoreUnavailableError('server_short', cause.message, options)
  return new StoreError(`postgres_${code}`, cause.message, options)
}
