/**
 * Every error code that goes over HTTP: its status, whether the same request may succeed later, and what a person can
 * do about it. The one table for /v1 and /ojs; the engine's codes are words of it or are mapped to one below.
 */
import type { ErrorCode } from '../engine/errors.ts'

interface WireError {
  readonly status: number
  readonly retryable: boolean
  readonly hint: string
}

export const WIRE_ERRORS = {
  invalid_request: {
    status: 400,
    retryable: false,
    hint: 'The message names the field; send the request again with it put right.',
  },
  invalid_payload: {
    status: 400,
    retryable: false,
    hint: 'Send one JSON object as the body, in UTF-8.',
  },
  invalid_workflow: {
    status: 400,
    retryable: false,
    hint: 'details.validation_errors lists every mistake with its path in the body.',
  },
  invalid_definition: {
    status: 400,
    retryable: false,
    hint: 'details.problems lists every mistake with its line and column; `petrel check FILE` prints the same.',
  },
  schema_validation: {
    status: 400,
    retryable: false,
    hint: 'The arguments do not fit the schema registered for this type.',
  },
  unauthenticated: {
    status: 401,
    retryable: false,
    hint: 'Send a key as "Authorization: Bearer KEY"; `petrel keys add` makes one.',
  },
  permission_denied: {
    status: 403,
    retryable: false,
    hint: 'Use a key that may do this; details say what it needs.',
  },
  not_found: {
    status: 404,
    retryable: false,
    hint: 'Check the id and the path; what has ended is removed after the retention time.',
  },
  unknown_event: {
    status: 404,
    retryable: false,
    hint: 'details.known lists the events that deployed definitions wait for.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    hint: 'The Allow header lists the methods of this path.',
  },
  conflict: {
    status: 409,
    retryable: false,
    hint: 'Read the current state; this change is not allowed from it.',
  },
  duplicate: {
    status: 409,
    retryable: false,
    hint: 'It exists already; details name the one that does.',
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    hint: 'Keep large data elsewhere and send a reference to it.',
  },
  unsupported: {
    status: 422,
    retryable: false,
    hint: 'This server speaks OJS 1.0; GET /ojs/manifest lists what it can do.',
  },
  validation_error: {
    status: 422,
    retryable: false,
    hint: 'The message names the value and its allowed range.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    hint: 'Wait as long as the Retry-After header says.',
  },
  QUEUE_FULL: {
    status: 429,
    retryable: true,
    hint: 'Wait until workers have caught up, or raise the bound of the queue.',
  },
  engine_error: {
    status: 500,
    retryable: true,
    hint: "The server's log has the cause under this request_id.",
  },
  backend_error: {
    status: 500,
    retryable: true,
    hint: "The server's log has the cause under this request_id.",
  },
  unusable_store: {
    status: 500,
    retryable: false,
    hint: 'Run `petrel doctor` and `petrel migrate` on the store.',
  },
  unavailable: {
    status: 503,
    retryable: true,
    hint: 'The store cannot be reached at the moment; try again shortly.',
  },
  invalid_net: {
    status: 400,
    retryable: false,
    hint: 'The message names the node or arc that is wrong.',
  },
  unstorable: {
    status: 400,
    retryable: false,
    hint: 'Leave out NUL characters and lone surrogates.',
  },
  too_deep: {
    status: 400,
    retryable: false,
    hint: 'Nest less deeply; GET /ojs/manifest names the limit.',
  },
  mismatch: {
    status: 409,
    retryable: false,
    hint: 'The ids do not belong together; send both as they came with the command.',
  },
  stale_lease: {
    status: 409,
    retryable: false,
    hint: 'The lease has ended; someone else may hold this work by now. Fetch again.',
  },
  denied: {
    status: 403,
    retryable: false,
    hint: 'The caller may not do this.',
  },
} as const satisfies Record<string, WireError> & Record<ErrorCode, WireError>

export type WireCode = keyof typeof WIRE_ERRORS

/** The engine's own words that OJS has others for; /v1 shows them as they are. */
export const OJS_WORDS: Partial<Record<WireCode, WireCode>> = {
  engine_error: 'backend_error',
  unusable_store: 'backend_error',
  unavailable: 'backend_error',
  stale_lease: 'conflict',
  mismatch: 'conflict',
  denied: 'permission_denied',
  invalid_net: 'invalid_workflow',
  invalid_definition: 'invalid_workflow',
  unknown_event: 'not_found',
  too_deep: 'invalid_workflow',
  unstorable: 'invalid_payload',
}
