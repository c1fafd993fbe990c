/** Given to the routes of /v1, and of the server itself. */
import type { Authentication } from '../http/auth.ts'
import { routeOf } from '../http/describe/route.ts'
import type { LongPolls } from '../http/long-polls.ts'
import type { Seats } from '../http/seats.ts'
import type { Operations } from '../operations/operation.ts'
import type { UnreadableRows } from '../wire/value.ts'
import type { WriteTrial } from './health.ts'
import type { DashboardFiles } from './ui/files.ts'

export interface CoreContext {
  readonly operations: Operations
  readonly faults: UnreadableRows
  readonly longPolls: LongPolls
  readonly streamSeats: Seats
  readonly closing: AbortSignal
}

export const route = routeOf<CoreContext>()

export interface ServerContext {
  readonly operations: Operations
  readonly authentication: Authentication
  readonly version: string
  readonly store: 'sqlite' | 'postgres'
  readonly dashboard: DashboardFiles
  /** false: starting up or shutting down. */
  ready(): boolean
  readonly writes: WriteTrial
  /** In the text format of Prometheus. */
  metrics(): Promise<string>
  /** The OpenAPI document. */
  document(): Promise<string>
}

export const serverRoute = routeOf<ServerContext>()
