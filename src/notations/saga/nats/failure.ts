/** Decides from an error whether to refuse the message that caused it. */

import { PetrelError } from '../../../kernel/errors.ts'
import { StoreDataError, StoreUnavailableError } from '../../../kernel/store-errors.ts'
import type { CompletionRefusal } from '../../../model/commands.ts'
import type { Message } from './message.ts'
import { Refusal } from './refusal.ts'

export interface Refused {
  /** Stable code for what was wrong. */
  readonly code: string
  readonly message: string
}

/** An error of ours may be temporary; a message that causes it this often is refused. */
const MOST_FAULTS = 20

/** Why it is refused; null: it is worth another try. */
export function refusalOf(error: unknown, { deliveries }: Message): Refused | null {
  if (error instanceof Refusal) return error
  if (error instanceof StoreDataError) return { code: 'unstorable', message: error.message }
  if (isAway(error)) return null
  if (error instanceof PetrelError && error.code !== 'engine_error') {
    const reason = error.details['reason'] as CompletionRefusal | undefined
    const code = error.code === 'conflict' && reason !== undefined ? reason : error.code
    return { code, message: error.message }
  }
  return deliveries < MOST_FAULTS ? null : { code: 'engine_error', message: String(error) }
}

function isAway(error: unknown): boolean {
  if (error instanceof PetrelError) return error.code === 'unavailable' || error.code === 'unusable_store'
  return error instanceof StoreUnavailableError
}
