/**
 * Errors of the engine. `code` is stable; the table says what each means for HTTP and for a shell. Errors a handler
 * throws are told apart by class: the class is the policy.
 */

export const ERROR_TABLE = {
  invalid_request: { http: 400, exit: 2 },
  invalid_net: { http: 400, exit: 2 },
  invalid_definition: { http: 400, exit: 2 },
  payload_too_large: { http: 413, exit: 2 },
  unstorable: { http: 400, exit: 2 },
  too_deep: { http: 400, exit: 2 },
  not_found: { http: 404, exit: 3 },
  unknown_event: { http: 404, exit: 3 },
  conflict: { http: 409, exit: 1 },
  duplicate: { http: 409, exit: 1 },
  mismatch: { http: 409, exit: 1 },
  stale_lease: { http: 409, exit: 1 },
  denied: { http: 403, exit: 4 },
  unavailable: { http: 503, exit: 1 },
  unusable_store: { http: 500, exit: 2 },
  engine_error: { http: 500, exit: 1 },
} as const satisfies Record<string, { http: number; exit: number }>

export type ErrorCode = keyof typeof ERROR_TABLE

export class PetrelError extends Error {
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>
  constructor(code: ErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.name = 'PetrelError'
    this.code = code
    this.details = details
  }
}

/** Whoever looked for a name in vain says in `known` which there are. */
export function knownHint({ known, resource_type }: PetrelError['details']): string | null {
  if (!Array.isArray(known)) return null
  if (known.length === 0)
    return resource_type === 'definition' ? 'Deploy it first: petrel deploy FILE, or POST /v1/definitions.' : null
  return `There are: ${known.slice(0, 10).join(', ')}${known.length > 10 ? ' …' : '.'}`
}
