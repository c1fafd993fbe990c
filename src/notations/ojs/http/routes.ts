/** Every group of OJS routes, in one place. */
import type { FastifyInstance } from 'fastify'
import { mount } from '../../../http/describe/route.ts'
import { ADMIN_DEAD_LETTER_ROUTES } from './admin/admin-dead-letter.ts'
import { ADMIN_JOB_ROUTES } from './admin/admin-jobs.ts'
import { ADMIN_QUEUE_ROUTES } from './admin/admin-queues.ts'
import { ADMIN_STATS_ROUTES } from './admin/admin-stats.ts'
import { ADMIN_SYSTEM_ROUTES } from './admin/admin-system.ts'
import { ADMIN_WORKER_ROUTES } from './admin/admin-workers.ts'
import { BULK_ROUTES } from './admin/bulk.ts'
import { DEAD_LETTER_ROUTES } from './admin/dead-letter.ts'
import { QUEUE_ROUTES } from './admin/queues.ts'
import { RATE_LIMIT_ROUTES } from './admin/rate-limits.ts'
import { Sampler, STATS_STREAM_ROUTES } from './admin/stats-stream.ts'
import { TENANT_ROUTES } from './admin/tenants.ts'
import { CHECKPOINT_ROUTES } from './checkpoints.ts'
import type { OjsContext } from './context.ts'
import { CRON_ROUTES } from './cron.ts'
import { EventHub, type HubOptions } from './events/event-hub.ts'
import { mountSocket, SOCKET_ROUTES } from './events/event-socket.ts'
import { EVENT_ROUTES } from './events/events.ts'
import { PROGRESS_ROUTES } from './events/progress.ts'
import { PROGRESS_STREAM_ROUTES } from './events/progress-stream.ts'
import { DELIVERY_ROUTES } from './hooks/deliveries.ts'
import { SUBSCRIPTION_ROUTES } from './hooks/subscriptions.ts'
import { JOB_ROUTES } from './jobs.ts'
import { MANIFEST_ROUTES } from './manifest.ts'
import { REPORT_ROUTES } from './reports.ts'
import { RESET_ROUTES } from './reset.ts'
import { SCHEMA_ROUTES } from './schemas.ts'
import { WORKER_ROUTES } from './workers.ts'
import { WORKFLOW_ROUTES } from './workflows.ts'

const MOUNTED = [
  ...MANIFEST_ROUTES,
  ...JOB_ROUTES,
  ...WORKER_ROUTES,
  ...REPORT_ROUTES,
  ...SCHEMA_ROUTES,
  ...WORKFLOW_ROUTES,
  ...CHECKPOINT_ROUTES,
  ...CRON_ROUTES,
  ...QUEUE_ROUTES,
  ...ADMIN_QUEUE_ROUTES,
  ...RATE_LIMIT_ROUTES,
  ...ADMIN_WORKER_ROUTES,
  ...ADMIN_STATS_ROUTES,
  ...TENANT_ROUTES,
  ...ADMIN_SYSTEM_ROUTES,
  ...STATS_STREAM_ROUTES,
  ...EVENT_ROUTES,
  ...PROGRESS_ROUTES,
  ...PROGRESS_STREAM_ROUTES,
  ...ADMIN_JOB_ROUTES,
  ...BULK_ROUTES,
  ...DEAD_LETTER_ROUTES,
  ...ADMIN_DEAD_LETTER_ROUTES,
  ...SUBSCRIPTION_ROUTES,
  ...DELIVERY_ROUTES,
  ...RESET_ROUTES,
]

export const OJS_ROUTES = [...MOUNTED, ...SOCKET_ROUTES]

/** What the routes share is made here. */
export type OjsParts = Omit<OjsContext, 'hub' | 'sampler'> & Pick<HubOptions, 'onRemoteCommit'>

export function ojsRoutes(app: FastifyInstance, parts: OjsParts): void {
  const hub = new EventHub(parts)
  const context = { ...parts, hub, sampler: new Sampler(parts.operations) }
  // Listeners of this process receive its own changes at once.
  app.addHook('onResponse', async ({ method }) => {
    if (method !== 'GET') hub.nudge()
  })
  mount(app, MOUNTED, context)
  mountSocket(app, context)
}
