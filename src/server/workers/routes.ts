/** /v1/workers: who executes work, and directing them to take no more of it or to stop. */
import { directWorker, pageOfWorkers } from '../../operations/workers/workers.ts'
import { directedWire, WorkerDirected, WorkerList, workerWire } from '../../wire/operate/worker.ts'
import { pageSize, storedText } from '../../wire/requests/params.ts'
import { route } from '../context.ts'

const DIRECTED = { '200': { description: 'The worker.', schema: WorkerDirected } }

export const WORKER_ROUTES = [
  route(
    'GET /v1/workers',
    {
      tag: 'Workers',
      summary: 'List workers',
      does: pageOfWorkers,
      description:
        'Those of Petrel processes, and those over HTTP from their first heartbeat on; dead ones until retention removes them. ' +
        'Clients that work by plain SQL are not known as workers.',
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

  ...(
    [
      ['quiet', 'quiet', 'Direct a worker to take no more work'],
      ['stop', 'terminate', 'Direct a worker to stop'],
    ] as const
  ).map(([word, state, summary]) =>
    route(
      `POST /v1/workers/:id/${word}`,
      {
        tag: 'Workers',
        summary,
        does: directWorker,
        description: 'It may finish the runs that it holds. Nothing takes this back. Repeating it changes nothing.',
        nothing: 'a directive',
        answers: DIRECTED,
        errors: ['not_found'],
      },
      async ({ params, perform }) => directedWire(await perform(directWorker, { ...params, state })),
    ),
  ),
]
