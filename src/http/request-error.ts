/**
 * Errors of routes that the engine does not have. Thrown like a PetrelError; status, retryable and hint come from the
 * table in kernel/errors.ts unless given here.
 */
import { ERRORS, type ErrorCode } from '../kernel/errors.ts'

export interface RequestErrorHow {
  readonly details?: Readonly<Record<string, unknown>>
  /** The suggested remedy; default: the hint of its code. */
  readonly hint?: string
  /** `error.type` on the wire, e.g. `validation_error`. */
  readonly type?: string
  /** Default: the status of its code. */
  readonly status?: number
  readonly retryable?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

export class RequestError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly type: string | null
  readonly details: Readonly<Record<string, unknown>>
  readonly hint: string | null
  readonly retryable: boolean
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, message: string, how: RequestErrorHow = {}) {
    super(message)
    const known = ERRORS[code]
    this.name = 'RequestError'
    this.code = code
    this.status = how.status ?? known.status
    this.type = how.type ?? null
    this.details = how.details ?? {}
    this.hint = how.hint ?? null
    this.retryable = how.retryable ?? known.retryable
    this.headers = how.headers ?? {}
  }
}

/** 404 with the fields that clients read: resource_type and resource_id. */
export function notFound(resource: string, id: string, hint?: string): RequestError {
  return new RequestError('not_found', `there is no ${resource} ${id}`, {
    details: { resource_type: resource, resource_id: id },
    ...(hint === undefined ? {} : { hint }),
  })
}
