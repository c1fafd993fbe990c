/** What every group of OJS routes is given. */
import { type Asked, routeOf } from '../../../http/describe/route.ts'
import type { LongPolls } from '../../../http/long-polls.ts'
import type { Seats } from '../../../http/seats.ts'
import type { Logger } from '../../../kernel/logger.ts'
import type { WebhookRow } from '../../../model/webhooks.ts'
import type { Operations } from '../../../operations/operation.ts'
import type { Sampler } from './admin/stats-stream.ts'
import type { EventHub } from './events/event-hub.ts'
import type { Voices } from './events/voices.ts'
import type { JobReading } from './jobs/job-reply.ts'

export interface OjsContext {
  readonly operations: Operations
  /** What replies are made from, once an operation has given what the caller may see. */
  readonly reading: JobReading
  readonly version: string
  /** Aborted when the server goes down: long polls answer empty, streams say goodbye. */
  readonly closing: AbortSignal
  readonly logger: Logger | null
  readonly openStreams: OpenStreams
  /** Held by every event stream, of jobs or of instances. */
  readonly streamSeats: Seats
  readonly longPolls: LongPolls
  readonly voices: Voices
  readonly hub: EventHub
  readonly sampler: Sampler
  readonly deliveries: Deliveries
  readonly options: OjsOptions
}

/** Delivers events to webhooks. */
export interface Deliveries {
  /** Subscriptions have changed. */
  look(): void
  /** Sends one event now, besides those that are due. */
  tryOut(
    row: WebhookRow,
    event: { readonly id: string; readonly type: string; readonly body: string },
  ): Promise<{
    /** null: there was no answer. */
    readonly status: number | null
    readonly error: string | null
    readonly ms: number
  }>
}

/** Counts the event streams of this process, for its metrics. */
export interface OpenStreams {
  inc(labels: { readonly kind: 'sse' | 'websocket' }): void
  dec(labels: { readonly kind: 'sse' | 'websocket' }): void
}

export interface OjsOptions {
  readonly backend: 'sqlite' | 'postgres'
  /** POST /ojs/v1/admin/reset wipes the store: for tests only. */
  readonly allowReset: boolean
  /** Longest request body in bytes. */
  readonly maxBodyBytes: number
  /** Webhooks may go to this machine and to private networks, and over plain http. */
  readonly allowPrivateWebhooks: boolean
}

/** What a function is given that answers several routes. */
export type OjsAsked = Pick<Asked<string, never, never>, 'caller' | 'perform' | 'request' | 'reply'>

export const route = routeOf<OjsContext>()
