/** /v1/workers: who executes work. */
import { pageOfWorkers } from '../../operations/workers/workers.ts'
import { WorkerList, workerWire } from '../../wire/operate/worker.ts'
import { pageSize, storedText } from '../../wire/requests/params.ts'
import { route } from '../context.ts'

export const WORKER_ROUTES = [
  route(
    'GET /v1/workers',
    {
      tag: 'Administration',
      summary: 'List workers',
      does: pageOfWorkers,
      description:
        'Those of Petrel processes, and those over HTTP that send heartbeats of their own; dead ones until retention removes them.',
      query: { limit: pageSize(1000), after: storedText('`next_after` of the previous page.') },
      answers: { '200': { description: 'By id.', schema: WorkerList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => {
      const { rows, more } = await perform(pageOfWorkers, query)
      return {
        workers: rows.map(({ worker, active }) => workerWire(worker, active)),
        next_after: more ? (rows.at(-1)?.worker.id ?? null) : null,
      }
    },
  ),
]
