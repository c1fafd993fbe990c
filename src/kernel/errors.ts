/**
 * Every error code of Petrel, in one table: its HTTP status, the exit code of a command, whether the same request may
 * succeed later, and what a person can do about it, over HTTP and at a shell. Codes are stable. The class of an error
 * that a handler throws decides what happens to its run.
 */

interface ErrorKind {
  readonly status: number
  readonly exit: number
  readonly retryable: boolean
  readonly hint: string
  /** Replaces the hint of HTTP, which does not help at a shell. Without one a command prints none. */
  readonly shellHint?: string
}

export const ERRORS = {
  invalid_request: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'The message names the field; send the request again with it put right.',
  },
  invalid_payload: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'Send one JSON object as the body, in UTF-8.',
  },
  invalid_workflow: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'details.validation_errors lists every mistake with its path in the body.',
  },
  invalid_definition: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'details.problems lists every mistake with its line and column; `petrel check FILE` prints the same.',
  },
  schema_validation: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'The arguments do not fit the schema registered for this type.',
  },
  unauthenticated: {
    status: 401,
    exit: 4,
    retryable: false,
    hint: 'Send a key as "Authorization: Bearer KEY"; `petrel keys add` makes one.',
  },
  permission_denied: {
    status: 403,
    exit: 4,
    retryable: false,
    hint: 'Use a key that may do this; details say what it needs.',
  },
  not_found: {
    status: 404,
    exit: 3,
    retryable: false,
    hint: 'Check the id and the path; what has ended is removed after the retention time.',
    shellHint: '`petrel ls` lists the instances, `petrel show ID` the runs and gates of one',
  },
  unknown_event: {
    status: 404,
    exit: 3,
    retryable: false,
    hint: 'details.known lists the events that deployed definitions wait for.',
    shellHint: '`petrel definitions` shows which events start what',
  },
  method_not_allowed: {
    status: 405,
    exit: 2,
    retryable: false,
    hint: 'The Allow header lists the methods of this path.',
  },
  conflict: {
    status: 409,
    exit: 1,
    retryable: false,
    hint: 'Read the current state; this change is not allowed from it.',
  },
  duplicate: {
    status: 409,
    exit: 1,
    retryable: false,
    hint: 'It exists already; details name the one that does.',
  },
  payload_too_large: {
    status: 413,
    exit: 2,
    retryable: false,
    hint: 'Keep large data elsewhere and send a reference to it.',
  },
  unsupported: {
    status: 422,
    exit: 2,
    retryable: false,
    hint: 'This server speaks OJS 1.0; GET /ojs/manifest lists what it can do.',
  },
  validation_error: {
    status: 422,
    exit: 2,
    retryable: false,
    hint: 'The message names the value and its allowed range.',
  },
  rate_limited: {
    status: 429,
    exit: 1,
    retryable: true,
    hint: 'Wait as long as the Retry-After header requires.',
  },
  QUEUE_FULL: {
    status: 429,
    exit: 1,
    retryable: true,
    hint: 'Wait until workers have caught up, or raise the bound of the queue.',
  },
  engine_error: {
    status: 500,
    exit: 1,
    retryable: true,
    hint: "The server's log has the cause under this request_id.",
    shellHint: 'PETREL_DEBUG=1 shows where it happened; `petrel doctor` checks the database',
  },
  backend_error: {
    status: 500,
    exit: 1,
    retryable: true,
    hint: "The server's log has the cause under this request_id.",
  },
  unusable_store: {
    status: 500,
    exit: 2,
    retryable: false,
    hint: 'Run `petrel doctor` and `petrel migrate` on the store.',
  },
  unavailable: {
    status: 503,
    exit: 1,
    retryable: true,
    hint: 'The store cannot be reached at the moment; try again shortly.',
    shellHint: 'is the database up and reachable? The command may be tried again',
  },
  invalid_net: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'The message names the node or arc that is wrong.',
  },
  unstorable: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'Leave out NUL characters and lone surrogates.',
  },
  too_deep: {
    status: 400,
    exit: 2,
    retryable: false,
    hint: 'Nest less deeply; GET /ojs/manifest names the limit.',
  },
  mismatch: {
    status: 409,
    exit: 1,
    retryable: false,
    hint: 'The ids do not belong together; send both as they came with the command.',
  },
  stale_lease: {
    status: 409,
    exit: 1,
    retryable: false,
    hint: 'The lease has ended; another worker may hold this work by now. Fetch again.',
  },
  denied: {
    status: 403,
    exit: 4,
    retryable: false,
    hint: 'The caller may not do this.',
  },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERRORS

/** What an error can be about. */
export type Subject =
  | 'run'
  | 'instance'
  | 'gate'
  | 'worker'
  | 'schedule'
  | 'debounced start'
  | 'definition'
  | 'saga'
  | 'net'
  | 'step'
  | 'reference'
  | 'limit'
  | 'tenant'
  | 'dead letter'
  | 'webhook subscription'
  | 'webhook delivery'
  | 'key'
  | 'registry entry'
  | 'bulk operation'
  | 'error group'

/**
 * Facts about an error, in the engine's terms. Adapters word the text for their callers:
 * wire/error-details.ts for /v1 and `--json`, notations/ojs/http/jobs/job-problem.ts for jobs.
 */
export interface ErrorDetails {
  readonly kind?: Subject
  readonly id?: string
  /** The current status. */
  readonly status?: string
  /** The required status. */
  readonly expected?: string
  /** For input: the place of the mistake. */
  readonly path?: string
  /** The message without its subject: an adapter with another name for the subject puts that in front. */
  readonly problem?: string
  /** What would be right, if the hint of the code does not contain it. */
  readonly hint?: string
  readonly [more: string]: unknown
}

export class PetrelError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message)
    this.name = 'PetrelError'
    this.code = code
    this.details = details
  }
}

/** About one run: `problem` completes the sentence that begins with it. */
export function runError(code: ErrorCode, id: string, problem: string, facts: ErrorDetails = {}): PetrelError {
  return new PetrelError(code, `run ${id} ${problem}`, { kind: 'run', id, problem, ...facts })
}

export function missing(kind: Subject, id: string): PetrelError {
  return new PetrelError('not_found', `there is no ${kind} ${id}`, { kind, id })
}

/** About one part of the input. */
export function inputError(code: ErrorCode, path: string, problem: string, facts: ErrorDetails = {}): PetrelError {
  return new PetrelError(code, `${path}: ${problem}`, { ...facts, path, problem })
}

/** What would be right, derived from the facts; null: it does not follow from them. */
export function hintOf({ hint, known, kind, required_scope: scope }: ErrorDetails): string | null {
  if (hint !== undefined) return hint
  if (typeof scope === 'string') {
    return `Use a key with the scope ${scope}: petrel keys add --scope ${scope} --subject NAME`
  }
  if (!Array.isArray(known)) return null
  if (known.length === 0)
    return kind === 'definition' ? 'Deploy it first: petrel deploy FILE, or POST /v1/definitions.' : null
  return `There are: ${known.slice(0, 10).join(', ')}${known.length > 10 ? ' …' : '.'}`
}

/** What a command prints below the message; null: nothing. */
export function shellHintOf(code: ErrorCode): string | null {
  const { shellHint }: ErrorKind = ERRORS[code]
  return shellHint ?? null
}
