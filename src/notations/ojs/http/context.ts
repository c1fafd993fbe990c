/** What every group of OJS routes is given, and who is asking. */
import type { EngineApi } from '../../../engine/api.ts'
import type { Caller, Scope } from '../../../http/caller.ts'
import type { LongPolls } from '../../../http/long-polls.ts'
import type { Seats } from '../../../http/seats.ts'
import type { Logger } from '../../../kernel/logger.ts'
import type { Metrics } from '../../../server/metrics/metrics.ts'
import type { Voices } from './events/voices.ts'

export interface OjsContext {
  readonly engine: EngineApi
  readonly version: string
  /** Aborted when the server goes down: long polls answer empty, streams say goodbye. */
  readonly closing: AbortSignal
  readonly logger: Logger | null
  readonly metrics: Metrics
  /** Held by every event stream, of jobs or of instances. */
  readonly streamSeats: Seats
  readonly longPolls: LongPolls
  readonly voices: Voices
  readonly options: OjsOptions
}

export interface OjsOptions {
  /** POST /ojs/v1/admin/reset wipes the store: for tests only. */
  readonly allowReset: boolean
  /** Longest request body in bytes. */
  readonly maxBodyBytes: number
  /** Webhooks may go to this machine and to private networks, and over plain http. */
  readonly allowPrivateWebhooks: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler runs. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** What a key must be allowed for this route; without it scopeOf() in auth.ts decides by method and path. */
    scope?: Scope | 'none'
    /** Whether an answer may be a stream, which stays open: always, or if the caller accepts one. */
    stream?: 'always' | 'accepted'
  }
}
