/** Webhooks: subscriptions, and the outbox of deliveries for each. */
import type { JsonText } from './rows.ts'

export const DEFAULT_TIMEOUT_MS = 30_000
export const DEFAULT_ATTEMPTS = 8

export interface WebhookRow extends WebhookSettings {
  readonly id: string
  readonly tenant: string | null
  readonly createdBy: string | null
  readonly createdAt: number
  readonly updatedAt: number
  /** Everything in the feed up to this id has been read. */
  readonly cursor: number
  /** Failed attempts since the last one that succeeded. */
  readonly failures: number
  readonly lastAt: number | null
  /** Null also after an attempt that got no answer. */
  readonly lastStatus: number | null
  /** The process that delivers. */
  readonly leaseBy: string | null
  readonly leaseUntil: number | null
}

/** The fields that its owner sets. */
export interface WebhookSettings {
  readonly url: string
  /** Types of events; `job.*` and `*` stand for many. */
  readonly events: readonly string[]
  readonly queues: readonly string[] | null
  readonly jobTypes: readonly string[] | null
  readonly secret: string
  readonly oldSecret: string | null
  readonly oldSecretUntil: number | null
  readonly active: boolean
  /** true: one at a time; a failed one delays those after it. */
  readonly ordered: boolean
  readonly timeoutMs: number
  readonly maxAttempts: number
  readonly metadata: JsonText | null
}

export interface DeliveryRow {
  readonly id: string
  readonly webhookId: string
  /** The event's place in the feed. */
  readonly feedId: number
  readonly part: number
  readonly eventId: string
  readonly eventType: string
  /** As it is sent and signed, byte for byte. */
  readonly body: string
  readonly state: 'pending' | 'delivered' | 'dead'
  readonly attempts: number
  readonly nextAt: number
  readonly lastStatus: number | null
  readonly lastError: string | null
  /** How long the last attempt took. */
  readonly lastMs: number | null
  readonly createdAt: number
  readonly endedAt: number | null
}

export type NewDelivery = Pick<DeliveryRow, 'id' | 'feedId' | 'part' | 'eventId' | 'eventType' | 'body'>

/** The outcome of an attempt. */
export interface Attempted {
  readonly id: string
  readonly state: DeliveryRow['state']
  /** For a pending delivery. */
  readonly delayMs: number
  readonly status: number | null
  readonly error: string | null
  readonly ms: number
}

export interface Webhooks {
  add(row: WebhookRow): Promise<void>
  find(id: string): Promise<WebhookRow | null>
  /** By id, which is by age. tenant null: of all tenants. */
  list(params: { readonly tenant: string | null }): Promise<readonly WebhookRow[]>
  /** `cursor`: continues from there. null: there is no such subscription. */
  update(params: {
    readonly id: string
    readonly set: Partial<WebhookSettings> & { readonly cursor?: number }
  }): Promise<WebhookRow | null>
  /** With all its deliveries. */
  remove(id: string): Promise<boolean>

  /**
   * Active subscriptions that `holder` may deliver for: its own, and those without a holder. Its lease of each lasts at least
   * half of `leaseMs` from now.
   */
  hold(params: { readonly holder: string; readonly leaseMs: number }): Promise<readonly WebhookRow[]>
  /** Releases all subscriptions of `holder`. */
  release(holder: string): Promise<void>
  /** Advances the cursor and adds deliveries to the outbox, together; false: another process has moved the cursor. */
  advance(params: {
    readonly id: string
    readonly holder: string
    readonly from: number
    readonly to: number
    readonly deliveries: readonly NewDelivery[]
  }): Promise<boolean>
  /**
   * Pending deliveries that are due, in the order of the feed. `ordered`: only the first of all pending ones, if it is due.
   */
  due(params: {
    readonly webhookId: string
    readonly ordered: boolean
    readonly limit: number
  }): Promise<readonly DeliveryRow[]>
  /** Counted up to `atMost`. */
  countPending(params: { readonly webhookId: string; readonly atMost: number }): Promise<number>
  attempted(params: { readonly webhookId: string; readonly attempt: Attempted }): Promise<void>

  delivery(id: string): Promise<DeliveryRow | null>
  /** Newest event first; without their bodies. */
  log(params: {
    readonly webhookId: string
    readonly state: DeliveryRow['state'] | null
    readonly limit: number
    readonly offset: number
  }): Promise<readonly DeliveryHead[]>
  /** Sends a dead or delivered one again. */
  again(id: string): Promise<DeliveryRow | null>
  /** Removes deliveries that ended long ago; returns how many. */
  prune(params: {
    readonly deliveredBefore: number
    readonly deadBefore: number
    readonly limit: number
  }): Promise<number>
}

type Kind = 'text' | 'number' | 'flag' | 'json' | 'raw' | 'time'

/** Property, column, and how it is stored. `json` is parsed for the row, `raw` stays text. */
export type Columns<Row> = readonly (readonly [keyof Row & string, string, Kind])[]

export const WEBHOOK: Columns<WebhookRow> = [
  ['id', 'id', 'text'],
  ['url', 'url', 'text'],
  ['events', 'events', 'json'],
  ['queues', 'queues', 'json'],
  ['jobTypes', 'job_types', 'json'],
  ['secret', 'secret', 'text'],
  ['oldSecret', 'old_secret', 'text'],
  ['oldSecretUntil', 'old_secret_until', 'time'],
  ['active', 'active', 'flag'],
  ['ordered', 'ordered', 'flag'],
  ['timeoutMs', 'timeout_ms', 'number'],
  ['maxAttempts', 'max_attempts', 'number'],
  ['metadata', 'metadata', 'raw'],
  ['tenant', 'tenant', 'text'],
  ['createdBy', 'created_by', 'text'],
  ['createdAt', 'created_at', 'time'],
  ['updatedAt', 'updated_at', 'time'],
  ['cursor', 'cursor', 'number'],
  ['failures', 'failures', 'number'],
  ['lastAt', 'last_at', 'time'],
  ['lastStatus', 'last_status', 'number'],
  ['leaseBy', 'lease_by', 'text'],
  ['leaseUntil', 'lease_until', 'time'],
]

/** A delivery in a list, without its body. */
export type DeliveryHead = Omit<DeliveryRow, 'body'>

export const DELIVERY: Columns<DeliveryRow> = [
  ['id', 'id', 'text'],
  ['webhookId', 'webhook_id', 'text'],
  ['feedId', 'feed_id', 'number'],
  ['part', 'part', 'number'],
  ['eventId', 'event_id', 'text'],
  ['eventType', 'event_type', 'text'],
  ['body', 'body', 'text'],
  ['state', 'state', 'text'],
  ['attempts', 'attempts', 'number'],
  ['nextAt', 'next_at', 'time'],
  ['lastStatus', 'last_status', 'number'],
  ['lastError', 'last_error', 'text'],
  ['lastMs', 'last_ms', 'number'],
  ['createdAt', 'created_at', 'time'],
  ['endedAt', 'ended_at', 'time'],
]

export const DELIVERY_HEAD = DELIVERY.filter(([property]) => property !== 'body') as unknown as Columns<DeliveryHead>

export function columnList<Row>(columns: Columns<Row>): string {
  return columns.map(([, name]) => name).join(', ')
}
