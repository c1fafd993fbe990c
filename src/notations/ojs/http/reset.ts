/** POST /ojs/v1/admin/reset: deletes everything but API keys. Only for tests, only with --allow-reset. */
import { RequestError } from '../../../http/request-error.ts'
import { resetStore } from '../../../operations/server/reset.ts'
import { flag, object } from '../../../wire/schema.ts'
import { route } from './context.ts'

export const RESET_ROUTES = [
  route(
    'POST /ojs/v1/admin/reset',
    {
      tag: 'Server',
      summary: 'Delete everything',
      does: resetStore,
      description: 'For tests: refused unless the server was started with --allow-reset.',
      answers: { '200': { description: 'The store is empty; API keys stay.', schema: object({ reset: flag() }) } },
    },
    async ({ perform }, { options }) => {
      if (!options.allowReset) {
        throw new RequestError('permission_denied', 'this server does not let itself be reset', {
          hint: 'For tests, and only on a store that holds nothing of value: petrel server --allow-reset',
        })
      }
      await perform(resetStore, null)
      return { reset: true }
    },
  ),
]
