import { inputError } from '../../kernel/errors.ts'
import { MAX_PAUSE_REASON } from '../../model/pauses/pauses.ts'

/** Refuses a reason that is too long, or that a store cannot hold. */
export function checkReason(reason: string | null): void {
  if (reason === null) return
  const fits = typeof reason === 'string' && reason.length > 0 && reason.length <= MAX_PAUSE_REASON
  if (fits && reason.isWellFormed() && !reason.includes('\0')) return
  throw inputError('invalid_request', 'reason', `text of 1 to ${MAX_PAUSE_REASON} characters`)
}
