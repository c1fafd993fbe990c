/** What an owner says of a webhook: read, checked, and shown again without the secret. */

import { isPublic, literalAddress } from '../../../../kernel/addresses.ts'
import type { DeliveryHead, WebhookRow, WebhookSettings } from '../../../../model/webhooks.ts'
import type { Json } from '../../../../net/net.ts'
import { kindOf, type Part } from '../../../source/reader.ts'
import type { JsonObject } from '../../project/envelope.ts'
import { timeText } from '../../project/time.ts'

const MOST_NAMES = 100
const MAX_METADATA = 16 * 1024
const EVENT = /^(?:\*|[a-z][a-z_]*(?:\.[a-z_]+)*(?:\.\*)?)$/
const SHORTEST_SECRET = 8
const LONGEST_SECRET = 256

export const DEFAULT_TIMEOUT_MS = 30_000

/** Only what the body names; mistakes are noted. */
export function readSettings(
  part: Part,
  { allowPrivate }: { readonly allowPrivate: boolean },
): Partial<WebhookSettings> {
  part.hasOnly(
    ['url', 'events', 'filter', 'secret', 'active', 'ordered', 'timeout_ms', 'max_attempts', 'metadata'],
    'a subscription',
  )
  const url = readUrl(part.get('url'), allowPrivate)
  const events = part.has('events') ? readEvents(part.get('events')) : null
  const active = part.get('active').flag('active')
  const ordered = part.get('ordered').flag('ordered')
  const timeoutMs = part.get('timeout_ms').whole('timeout_ms', { least: 1_000, most: 60_000 })
  const maxAttempts = part.get('max_attempts').whole('max_attempts', { least: 1, most: 20 })
  return {
    ...(url === null ? {} : { url }),
    ...(events === null ? {} : { events }),
    ...(part.has('filter') ? readFilter(part.get('filter')) : {}),
    ...(active === null ? {} : { active }),
    ...(ordered === null ? {} : { ordered }),
    ...(timeoutMs === null ? {} : { timeoutMs }),
    ...(maxAttempts === null ? {} : { maxAttempts }),
    ...(part.has('metadata') ? { metadata: readMetadata(part.get('metadata')) } : {}),
  }
}

/** null: not given. */
export function readSecret(part: Part): string | null {
  const secret = part.text('secret')
  if (secret === null || (secret.length >= SHORTEST_SECRET && secret.length <= LONGEST_SECRET)) return secret
  part.wrong(`secret has ${SHORTEST_SECRET} to ${LONGEST_SECRET} characters`, 'leave it out and one is made')
  return null
}

function readUrl(part: Part, allowPrivate: boolean): string | null {
  if (!part.given) return null
  const url = typeof part.value === 'string' && part.value.length <= 2000 ? parsed(part.value) : null
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    part.wrong('url is an https URL of at most 2000 characters', 'such as "https://example.com/hooks"')
    return null
  }
  if (url.username !== '' || url.password !== '') {
    part.wrong('url holds a name or password', 'tell the receiver who we are by the signature instead')
    return null
  }
  if (!allowPrivate) {
    if (url.protocol === 'http:') part.wrong('url must be https', 'plain http only with --allow-private-webhooks')
    const literal = literalAddress(url)
    const closed = literal === null ? /(?:^|\.)localhost$/i.test(url.hostname) : !isPublic(literal)
    if (closed) part.wrong(`${url.hostname} is not a public address`, 'allowed only with --allow-private-webhooks')
  }
  return url.href === `${part.value as string}/` ? (part.value as string) : url.href
}

function parsed(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

function readEvents(part: Part): readonly string[] {
  const items = part.items('events')
  if (items.length === 0 || items.length > MOST_NAMES) {
    part.wrong(`events names 1 to ${MOST_NAMES} types of events`, 'such as ["job.completed", "workflow.*"], or ["*"]')
  }
  return items.flatMap((item) => {
    if (typeof item.value === 'string' && EVENT.test(item.value)) return item.value
    item.wrong(`a type of event is a name such as job.completed or job.*, this is ${kindOf(item.value)}`)
    return []
  })
}

function readFilter(part: Part): Pick<WebhookSettings, 'queues' | 'jobTypes'> {
  if (part.value === null) return { queues: null, jobTypes: null }
  if (!part.isObject) part.wrong(`filter is an object, this is ${kindOf(part.value)}`, '{ "queues": ["payments"] }')
  else part.hasOnly(['queues', 'job_types'], 'filter')
  return { queues: readNames(part.get('queues'), 'queues'), jobTypes: readNames(part.get('job_types'), 'job_types') }
}

function readNames(part: Part, what: string): readonly string[] | null {
  if (!part.given || part.value === null) return null
  const names = part.items(what).flatMap((item) => item.text('a name') ?? [])
  if (names.length > MOST_NAMES) part.wrong(`at most ${MOST_NAMES} ${what}, these are ${names.length}`)
  return names
}

function readMetadata(part: Part): string | null {
  if (part.value === null) return null
  const text = JSON.stringify(part.value)
  if (!part.isObject) part.wrong(`metadata is an object, this is ${kindOf(part.value)}`)
  if (text.length > MAX_METADATA) part.wrong(`metadata has ${text.length} characters; at most ${MAX_METADATA}`)
  return text
}

export function webhookWire(row: WebhookRow): JsonObject {
  const { queues, jobTypes } = row
  return {
    id: row.id,
    url: row.url,
    events: [...row.events],
    ...(queues === null && jobTypes === null
      ? {}
      : {
          filter: {
            ...(queues === null ? {} : { queues: [...queues] }),
            ...(jobTypes === null ? {} : { job_types: [...jobTypes] }),
          },
        }),
    active: row.active,
    ordered: row.ordered,
    timeout_ms: row.timeoutMs,
    max_attempts: row.maxAttempts,
    ...(row.metadata === null ? {} : { metadata: JSON.parse(row.metadata) as Json }),
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

export function deliveryWire(row: DeliveryHead): JsonObject {
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
    ...(row.endedAt === null
      ? {}
      : { [row.state === 'delivered' ? 'delivered_at' : 'dead_at']: timeText(row.endedAt) }),
  }
}
