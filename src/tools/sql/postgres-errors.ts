/** Errors of Postgres, or of the connection to it, as errors of envelopes. */
import type { Json } from '../../net/net.ts'
import { type Fault, fault } from '../envelope.ts'
import type { Envelope, ErrorKind } from '../tool.ts'

interface DatabaseError extends Error {
  readonly code?: string
  readonly detail?: string
  readonly hint?: string
  readonly position?: string
  readonly constraint?: string
  readonly table?: string
  readonly column?: string
}

/** By SQLSTATE, then by its class. */
const KINDS: { readonly [state: string]: readonly [kind: ErrorKind, retryable?: boolean] } = {
  '08': ['db_connection'],
  '22': ['schema'],
  '23': ['db_constraint'],
  '28': ['auth'],
  '3D': ['db_connection', false],
  '3F': ['schema'],
  '40': ['db_deadlock'],
  '42': ['schema'],
  '42501': ['storage_access'],
  '42601': ['parse'],
  '53': ['db_connection'],
  '53100': ['storage_quota'],
  '55P03': ['db_timeout'],
  '57': ['db_connection'],
  '57014': ['db_timeout'],
  '58': ['server_error'],
}

export function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code)
}

export function postgresFault(error: unknown, missing: readonly string[]): Envelope {
  const { code, message } = error as DatabaseError
  if (!isSqlState(code)) return fault(connectionFault(error as DatabaseError))
  const [kind, retryable] = KINDS[code] ?? KINDS[code.slice(0, 2)] ?? ['unknown']
  const details = detailsOf(error as DatabaseError)
  const envelope = fault({
    kind,
    code: `PG_${code}`,
    message: code === '42601' && missing.length > 0 ? `${message} (params have no ${missing.join(', ')})` : message,
    ...(retryable === undefined ? {} : { retryable }),
    ...(details === null ? {} : { details }),
  })
  return { ...envelope, pg: { code, sqlstate: code } }
}

function detailsOf(error: DatabaseError): Json | null {
  const names = ['detail', 'hint', 'position', 'constraint', 'table', 'column'] as const
  const found = names.flatMap((name) => (typeof error[name] === 'string' ? [[name, error[name]] as const] : []))
  return found.length === 0 ? null : Object.fromEntries(found)
}

function connectionFault(error: DatabaseError): Fault {
  // All addresses of one name have failed.
  const [first] = error instanceof AggregateError ? (error.errors as DatabaseError[]) : []
  const { code = 'CONN_ERROR', message } = first ?? error
  return { kind: 'db_connection', code: `PG_${code}`, message: message || code }
}
