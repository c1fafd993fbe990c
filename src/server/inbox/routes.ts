/** The inbox over HTTP: /v1/runs, /v1/registry, /v1/schedules. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import type { LongPolls } from '../../http/long-polls.ts'
import { claimRoutes } from './claims.ts'
import { registryRoutes } from './registry.ts'
import { runRoutes } from './runs.ts'
import { scheduleRoutes } from './schedules.ts'

export interface InboxContext {
  readonly engine: EngineApi
  readonly longPolls: LongPolls
}

export function inboxRoutes(app: FastifyInstance, context: InboxContext): void {
  runRoutes(app, context.engine)
  claimRoutes(app, context)
  registryRoutes(app, context.engine)
  scheduleRoutes(app, context.engine)
}
