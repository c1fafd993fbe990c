/** A failure in OJS's words. */
import type { Failure } from '../../../net/marking.ts'
import type { JsonObject } from './envelope.ts'

/** What happens to leases that are not OJS's own, in OJS's words. */
const WORDS: { readonly [code: string]: string } = { lease_expired: 'visibility_timeout', worker_lost: 'worker_death' }

export function errorCode(error: Failure): string {
  return WORDS[error.code] ?? error.code
}

/** `code` says what kind of failure, `type` which error: clients match either. */
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
