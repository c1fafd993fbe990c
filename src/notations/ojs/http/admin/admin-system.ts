/**
 * What the admin pages ask of the system as a whole: middleware, pools of workers, how queues are served, maintenance.
 * Petrel has no middleware, no pools and no maintenance mode, and says so where a page would else show an error.
 */
import type { FastifyInstance } from 'fastify'
import { bodyObject } from '../../../../http/body.ts'
import { RequestError } from '../../../../http/request-error.ts'
import type { OjsContext } from '../context.ts'
import { countsOf, throughputOf } from './queue-wire.ts'

const ADMIN = { config: { access: { scope: 'admin' as const } } }
const MINUTES = 6

export function adminSystemRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.get('/ojs/v1/middleware', () => ({ enqueue: [], execution: [] }))

  app.get('/ojs/v1/admin/pools', () => ({ pools: [] }))

  app.get('/ojs/v1/admin/scheduling/stats', async () => {
    const [queues, now] = await Promise.all([
      engine.queueStats({ queue: null, minutes: MINUTES }),
      engine.queries.now(),
    ])
    const shown = queues.map((queue) => {
      const counts = countsOf([queue]) as { readonly [state: string]: number }
      const { available = 0, active = 0, completed = 0, discarded = 0, cancelled = 0 } = counts
      const { processed_per_minute: rate } = throughputOf([queue], now) as { readonly processed_per_minute: number }
      // Work waits, and none was done in the last minutes.
      const starved = available > 0 && active === 0 && rate === 0
      return { name: queue.name, dispatched: active + completed + discarded + cancelled, starved }
    })
    return { strategy: 'priority', queues: shown }
  })

  app.get('/ojs/v1/admin/system/maintenance', () => ({ enabled: false }))

  app.post('/ojs/v1/admin/system/maintenance', ADMIN, (request) => {
    const { enabled } = bodyObject(request, { empty: 'refused' })
    if (typeof enabled !== 'boolean') {
      throw new RequestError('invalid_request', 'enabled is true or false', { details: { field: 'enabled' } })
    }
    if (!enabled) return { enabled: false }
    throw new RequestError('unsupported', 'this server has no maintenance mode', {
      details: { field: 'enabled' },
      hint: 'Pause the queues (POST /ojs/v1/admin/queues/NAME/pause) and turn off the cron jobs.',
    })
  })
}
