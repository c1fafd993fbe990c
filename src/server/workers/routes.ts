/** /v1/workers: who executes work, and directing them to take no more of it or to stop. */
import { listMissing } from '../../operations/workers/missing.ts'
import { directWorker, pageOfWorkers } from '../../operations/workers/workers.ts'
import {
  directedWire,
  missingWire,
  WorkerDirected,
  WorkerList,
  WorkersMissing,
  workerWire,
} from '../../wire/operate/worker.ts'
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

  route(
    'GET /v1/workers/missing',
    {
      tag: 'Workers',
      summary: 'Types with due runs that no live worker takes',
      does: listMissing,
      description:
        'A worker counts by its queues, its types and, for a type in the registry, its runtime. Disabled types are not listed. ' +
        'Workers over HTTP without heartbeats and clients of plain SQL are not known: a type that only they take is listed ' +
        'while runs of it are due. A worker of a tenant counts for all runs of its types.',
      answers: { '200': { description: 'Of now.', schema: WorkersMissing } },
    },
    async ({ perform }) => missingWire(await perform(listMissing, null)),
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
