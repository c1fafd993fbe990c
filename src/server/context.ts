/** What the routes of /v1 are given. */
import type { EngineApi } from '../engine/api.ts'
import { routeOf } from '../http/describe/route.ts'
import type { LongPolls } from '../http/long-polls.ts'
import type { Seats } from '../http/seats.ts'
import type { Catalog } from '../operations/definitions/catalog.ts'
import type { Events } from '../operations/definitions/events.ts'
import type { InstanceWatch } from './instance-watch.ts'

export interface CoreContext {
  readonly engine: EngineApi
  readonly catalog: Catalog
  readonly events: Events
  readonly longPolls: LongPolls
  readonly streamSeats: Seats
  readonly closing: AbortSignal
  readonly watch: InstanceWatch
}

export const route = routeOf<CoreContext>()
