/**
 * What the admin pages ask of the system as a whole: middleware, pools of workers, how queues are served, maintenance.
 * Petrel has no middleware, no pools and no maintenance mode; these answers state that where a page would else show an
 * error.
 */
import { RequestError } from '../../../../http/request-error.ts'
import type { QueueStats } from '../../../../model/queries/overview.ts'
import { listQueues } from '../../../../operations/queues/queues.ts'
import { anything, flag, list, object, optional, text, whole } from '../../../../wire/schema.ts'
import { route } from '../context.ts'
import { countsOf, RECENT_MINUTES, throughputOf } from './queue-wire.ts'

const OPERATORS = { scope: 'read', shared: true } as const

const MAINTENANCE = { '200': { description: 'Not enabled.', schema: object({ enabled: flag() }) } }

export const ADMIN_SYSTEM_ROUTES = [
  route(
    'GET /ojs/v1/middleware',
    {
      tag: 'Administration',
      summary: 'Middleware (there is none)',
      does: 'read',
      otherQuery: 'ignored',
      answers: {
        '200': {
          description: 'Empty lists.',
          schema: object({ enqueue: list(object({})), execution: list(object({})) }),
        },
      },
    },
    async () => ({ enqueue: [], execution: [] }),
  ),

  route(
    'GET /ojs/v1/admin/pools',
    {
      tag: 'Administration',
      summary: 'Pools of workers (there are none)',
      does: OPERATORS,
      otherQuery: 'ignored',
      answers: { '200': { description: 'An empty list.', schema: object({ pools: list(object({})) }) } },
    },
    async () => ({ pools: [] }),
  ),

  route(
    'GET /ojs/v1/admin/scheduling/stats',
    {
      tag: 'Administration',
      summary: 'How queues are served',
      does: listQueues,
      otherQuery: 'ignored',
      answers: {
        '200': {
          description: 'By priority. Starved: jobs are waiting, and none was executed in the last minutes.',
          schema: object({
            strategy: text(),
            queues: list(object({ name: text(), dispatched: whole(), starved: flag() })),
          }),
        },
      },
    },
    async ({ perform }) => {
      const { queues, now } = await perform(listQueues, { minutes: RECENT_MINUTES })
      return { strategy: 'priority', queues: queues.map((queue) => schedulingWire(queue, now)) }
    },
  ),

  route(
    'GET /ojs/v1/admin/system/maintenance',
    {
      tag: 'Administration',
      summary: 'Maintenance mode (not supported)',
      does: OPERATORS,
      otherQuery: 'ignored',
      answers: MAINTENANCE,
    },
    async () => ({ enabled: false }),
  ),

  route(
    'POST /ojs/v1/admin/system/maintenance',
    {
      tag: 'Administration',
      summary: 'Leave maintenance mode',
      description: 'Enabling it is 422: pause the queues instead.',
      does: { scope: 'admin', shared: true },
      body: { schema: object({ enabled: flag(), reason: optional(anything('For people.')) }) },
      answers: MAINTENANCE,
      errors: ['unsupported'],
    },
    async ({ body: { enabled } }) => {
      if (!enabled) return { enabled: false }
      throw new RequestError('unsupported', 'this server has no maintenance mode', {
        details: { field: 'enabled' },
        hint: 'Pause the queues (POST /ojs/v1/admin/queues/NAME/pause) and turn off the cron jobs.',
      })
    },
  ),
]

function schedulingWire(queue: QueueStats, now: number) {
  const { available, active, completed, discarded, cancelled } = countsOf([queue])
  const { processed_per_minute: rate } = throughputOf([queue], now)
  // Work waits, and none was done in the last minutes.
  const starved = available > 0 && active === 0 && rate === 0
  return { name: queue.name, dispatched: active + completed + discarded + cancelled, starved }
}
