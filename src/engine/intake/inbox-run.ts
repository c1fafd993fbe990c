/** What the inbox asks of a run: the same of an INSERT by plain SQL (the triggers of both stores) and of an enqueue. */

import { PetrelError } from '../../kernel/errors.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'

export const VERSIONED = /^[^.\s]+(\.[^.\s]+)*\.v[0-9]+$/
export const LONGEST_NAME = 255
export const LONGEST_KEY = 512
export const MOST_ATTEMPTS = 1000

/** `place`: how the caller calls these params, such as `enqueue[0]`. */
export function checkInboxRun(params: EnqueueParams, place: string): void {
  const { type, queue, idempotencyKey: key, maxAttempts } = params
  if (!VERSIONED.test(type)) refuse(`${place}.type`, `must be dotted and end in a version such as .v1, not "${type}"`)
  for (const [name, value] of Object.entries({ type, queue })) {
    if (value !== undefined && (value === '' || value.length > LONGEST_NAME)) {
      refuse(`${place}.${name}`, `must have 1 to ${LONGEST_NAME} characters`)
    }
  }
  if (typeof key === 'string' && (key === '' || [...key].length > LONGEST_KEY)) {
    refuse(`${place}.idempotencyKey`, `must have 1 to ${LONGEST_KEY} characters`)
  }
  if (maxAttempts !== undefined && maxAttempts > MOST_ATTEMPTS) {
    refuse(`${place}.maxAttempts`, `must be at most ${MOST_ATTEMPTS}`)
  }
}

function refuse(path: string, rule: string): never {
  throw new PetrelError('invalid_request', `${path}: ${rule}`, { path })
}
