/** A failure in the terms of OJS. */
import type { Failure } from '../../../net/marking.ts'
import type { JsonObject } from './envelope.ts'

/** Ends of leases that OJS does not define, in its terms. */
const WORDS: { readonly [code: string]: string } = { lease_expired: 'visibility_timeout', worker_lost: 'worker_death' }

export function errorCode(error: Failure): string {
  return WORDS[error.code] ?? error.code
}

/** `code` is the kind of failure, `type` the error: clients match either. */
export function errorObject(error: Failure) {
  const code = errorCode(error)
  const { details } = error
  const named = details !== null && typeof details === 'object' && !Array.isArray(details) ? details : {}
  const errorClass = (named as JsonObject)['error_class']
  return {
    code,
    type: error.type ?? (typeof errorClass === 'string' ? errorClass : code),
    message: error.message,
    ...(error.category === undefined ? {} : { category: error.category }),
    retryable: error.retryable ?? true,
    ...(details === undefined ? {} : { details }),
  } satisfies JsonObject
}
