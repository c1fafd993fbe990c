/** OJS codes of errors; their table is kernel/errors.ts. */
import type { ErrorCode } from '../kernel/errors.ts'

/** The engine's codes that have other names in OJS; /v1 shows them unchanged. */
export const OJS_WORDS: Partial<Record<ErrorCode, ErrorCode>> = {
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
