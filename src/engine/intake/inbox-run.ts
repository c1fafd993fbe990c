/** What the inbox asks of a run: the same of an INSERT by plain SQL (the triggers of both stores) and of an enqueue. */

import { inputError } from '../../kernel/errors.ts'
import { MAX_IDEMPOTENCY_KEY_LENGTH, MAX_INBOX_ATTEMPTS, MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'
import { VERSIONED } from '../../model/inbox.ts'

/** `place`: how the caller calls these params, such as `enqueue[0]`. */
export function checkInboxRun(params: EnqueueParams, place: string): void {
  const { type, queue, idempotencyKey: key, maxAttempts } = params
  if (!VERSIONED.test(type)) refuse(`${place}.type`, `must be dotted and end in a version such as .v1, not "${type}"`)
  for (const [name, value] of Object.entries({ type, queue })) {
    if (value !== undefined && (value === '' || value.length > MAX_TYPE_LENGTH)) {
      refuse(`${place}.${name}`, `must have 1 to ${MAX_TYPE_LENGTH} characters`)
    }
  }
  if (typeof key === 'string' && (key === '' || [...key].length > MAX_IDEMPOTENCY_KEY_LENGTH)) {
    refuse(`${place}.idempotencyKey`, `must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters`)
  }
  if (maxAttempts !== undefined && maxAttempts > MAX_INBOX_ATTEMPTS) {
    refuse(`${place}.maxAttempts`, `must be at most ${MAX_INBOX_ATTEMPTS}`)
  }
}

function refuse(path: string, rule: string): never {
  throw inputError('invalid_request', path, rule)
}
