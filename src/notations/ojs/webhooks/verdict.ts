/**
 * The state of a delivery after an attempt:
 *
 *   2xx                      delivered
 *   4xx but 408, 425, 429    dead: the receiver will not take it however often it is sent
 *   anything else            pending again after a pause, up to the greatest number of attempts; then dead
 *
 * A redirect is "anything else": it is not followed, and may be temporary.
 */
import type { Attempted, DeliveryRow, WebhookRow } from '../../../model/webhooks.ts'
import type { Posted } from './post.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Before the second attempt, the third … About 41 hours in all. */
const PAUSES = [30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, 24 * HOUR]
const LONGEST = 24 * HOUR

const WORTH_RETRYING: ReadonlySet<number> = new Set([408, 425, 429])

export function verdict(row: WebhookRow, delivery: DeliveryRow, posted: Posted): Attempted {
  const { status, ms } = posted
  const about = { id: delivery.id, status, ms }
  if (status !== null && status >= 200 && status < 300) return { ...about, state: 'delivered', delayMs: 0, error: null }
  const attempts = delivery.attempts + 1
  const final = status !== null && status >= 400 && status < 500 && !WORTH_RETRYING.has(status)
  const error = posted.error ?? `the receiver answered ${status}`
  if (final || attempts >= row.maxAttempts) return { ...about, state: 'dead', delayMs: 0, error }
  const pause = Math.max(PAUSES[attempts - 1] ?? LONGEST, Math.min(posted.retryAfterMs ?? 0, LONGEST))
  // Receivers that were unavailable at the same time should not all be tried at once.
  return { ...about, state: 'pending', delayMs: Math.round(pause * (1 + Math.random() / 10)), error }
}
