/** What goes beyond the core of OJS, in one place. */
import type { FastifyInstance } from 'fastify'
import { adminJobRoutes } from './admin-jobs.ts'
import { adminQueueRoutes } from './admin-queues.ts'
import { adminStatsRoutes } from './admin-stats.ts'
import { adminSystemRoutes } from './admin-system.ts'
import { adminWorkerRoutes } from './admin-workers.ts'
import { checkpointRoutes } from './checkpoints.ts'
import type { OjsContext } from './context.ts'
import { cronAliasRoutes } from './crons.ts'
import { progressRoutes } from './progress.ts'
import { rateLimitRoutes } from './rate-limits.ts'
import { schemaRoutes } from './schemas.ts'
import { webhookRoutes } from './webhooks.ts'

export function extensionRoutes(app: FastifyInstance, context: OjsContext): void {
  checkpointRoutes(app, context)
  progressRoutes(app, context)
  webhookRoutes(app, context)
  adminStatsRoutes(app, context)
  adminQueueRoutes(app, context)
  adminJobRoutes(app, context)
  adminWorkerRoutes(app, context)
  adminSystemRoutes(app, context)
  rateLimitRoutes(app, context)
  schemaRoutes(app, context)
  cronAliasRoutes(app, context)
}
