/**
 * Signatures of webhooks: HMAC-SHA256 over `timestamp.body`, so that neither can be changed, and an old request cannot
 * be sent again.
 */
import { createHmac } from 'node:crypto'
import type { WebhookRow } from '../../../model/webhooks.ts'

/** Value of X-OJS-Signature: one signature per secret, the newest first. */
export function signature(params: {
  readonly secrets: readonly string[]
  /** Unix seconds, as in X-OJS-Timestamp. */
  readonly timestamp: number
  readonly body: string
}): string {
  const { secrets, timestamp, body } = params
  return secrets
    .map((secret) => `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`)
    .join(',')
}

/** A replaced secret remains valid for its grace period. */
export function secretsOf(row: WebhookRow, now: number): readonly string[] {
  const old = row.oldSecret !== null && row.oldSecretUntil !== null && row.oldSecretUntil > now
  return old ? [row.secret, row.oldSecret as string] : [row.secret]
}
