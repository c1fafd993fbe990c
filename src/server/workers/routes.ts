/** /v1/workers: who is here, and directing them to take no more work or to stop. */
import { directWorker, heldBy, listWorkers } from '../../operations/workers/workers.ts'
import { directedWire, WorkerDirected, WorkerList, workerWire } from '../../wire/workers/worker.ts'
import { route } from '../context.ts'

const DIRECTED = { '200': { description: 'The worker.', schema: WorkerDirected } }

export const WORKER_ROUTES = [
  route(
    'GET /v1/workers',
    {
      tag: 'Workers',
      summary: 'List workers',
      does: listWorkers,
      description:
        'Workers of Petrel processes, and those over HTTP from their first heartbeat on; dead ones until retention removes them. ' +
        'Clients that work by plain SQL are not known as workers.',
      answers: { '200': { description: 'All of them.', schema: WorkerList } },
    },
    async ({ perform }) => {
      const { workers, active } = await perform(listWorkers, null)
      return { workers: workers.map((row) => workerWire(row, active === null ? null : heldBy(row, active).length)) }
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
