/** Subscriptions and deliveries as JSON, without the secret. */
import type { DeliveryHead, WebhookRow } from '../../../../model/webhooks.ts'
import {
  anything,
  flag,
  list,
  named,
  object,
  optional,
  text,
  time,
  type Value,
  whole,
  word,
} from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { settingsWire } from './settings.ts'

export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const

const WEBHOOK = {
  id: text(),
  url: text(),
  events: list(text()),
  filter: optional(object({ queues: optional(list(text())), job_types: optional(list(text())) })),
  active: flag(),
  ordered: flag(),
  timeout_ms: whole(),
  max_attempts: whole(),
  metadata: optional(anything({ type: 'object' })),
  tenant: optional(text()),
  created_by: optional(text()),
  created_at: time(),
  updated_at: time(),
  failure_count: whole('Failed attempts since the last success.'),
  last_delivery_at: optional(time()),
  last_delivery_status: optional(whole()),
  old_secret_valid_until: optional(time()),
}

export const Webhook = named('Webhook', object(WEBHOOK))

const WITH_SECRET = { secret: optional(text('Shown only when it is created.')) }

export const WebhookReply = named(
  'WebhookReply',
  object(
    { ...WEBHOOK, ...WITH_SECRET, subscription: object({ ...WEBHOOK, ...WITH_SECRET }) },
    'The fields of the subscription are at the top as well.',
  ),
)

const DELIVERY = {
  id: text('The same for every attempt, so that receivers can recognise duplicates.'),
  subscription_id: text(),
  event_id: text(),
  event_type: text(),
  state: word(DELIVERY_STATES),
  attempts: whole(),
  created_at: time(),
  next_attempt_at: optional(time()),
  status_code: optional(whole('Of the last response.')),
  error: optional(text()),
  response_time_ms: optional(whole()),
  delivered_at: optional(time()),
  dead_at: optional(time()),
  event: optional(anything('The body that is sent.')),
}

export const WebhookDelivery = named('WebhookDelivery', object(DELIVERY))

export const DeliveryReply = named(
  'WebhookDeliveryReply',
  object({ ...DELIVERY, delivery: WebhookDelivery }, 'The fields of the delivery are at the top as well.'),
)

export function webhookWire(row: WebhookRow): Value<typeof Webhook> {
  return {
    id: row.id,
    ...settingsWire(row),
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
    ...(row.createdBy === null ? {} : { created_by: row.createdBy }),
    created_at: timeText(row.createdAt),
    updated_at: timeText(row.updatedAt),
    failure_count: row.failures,
    ...(row.lastAt === null ? {} : { last_delivery_at: timeText(row.lastAt) }),
    ...(row.lastStatus === null ? {} : { last_delivery_status: row.lastStatus }),
    ...(row.oldSecretUntil === null ? {} : { old_secret_valid_until: timeText(row.oldSecretUntil) }),
  }
}

export function deliveryWire(row: DeliveryHead): Value<typeof WebhookDelivery> {
  const ended = row.endedAt === null ? null : timeText(row.endedAt)
  return {
    id: row.id,
    subscription_id: row.webhookId,
    event_id: row.eventId,
    event_type: row.eventType,
    state: row.state,
    attempts: row.attempts,
    created_at: timeText(row.createdAt),
    ...(row.state === 'pending' ? { next_attempt_at: timeText(row.nextAt) } : {}),
    ...(row.lastStatus === null ? {} : { status_code: row.lastStatus }),
    ...(row.lastError === null ? {} : { error: row.lastError }),
    ...(row.lastMs === null ? {} : { response_time_ms: row.lastMs }),
    ...(ended === null ? {} : row.state === 'delivered' ? { delivered_at: ended } : { dead_at: ended }),
  }
}
