/** POST /ojs/v1/admin/reset: forgets everything but API keys. Only for tests, only with --allow-reset. */
import type { FastifyInstance } from 'fastify'
import { RequestError } from '../../../http/request-error.ts'
import type { OjsContext } from './context.ts'

export function resetRoutes(app: FastifyInstance, { engine, options, logger }: OjsContext): void {
  app.post('/ojs/v1/admin/reset', async () => {
    if (!options.allowReset) {
      throw new RequestError('permission_denied', 'this server does not let itself be reset', {
        hint: 'For tests, and only on a store that holds nothing of value: petrel server --allow-reset',
      })
    }
    await engine.reset()
    logger?.info({ store: engine.storage.kind }, 'the store was reset')
    return { reset: true }
  })
}
