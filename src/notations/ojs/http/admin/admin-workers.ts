/** Workers as operators see them: /ojs/v1/admin/workers, and GET /ojs/v1/workers/:id/health. */
import type { WorkerRow } from '../../../../model/rows.ts'
import {
  directWorker,
  heldBy,
  inspectWorker,
  listWorkers,
  removeWorker,
  showWorker,
} from '../../../../operations/workers/workers.ts'
import { list, object, optional, whole } from '../../../../wire/schema.ts'
import { route } from '../context.ts'
import { jobReplies } from '../jobs/job-reply.ts'
import { PAGE, Pagination, pageAsked, pageByName } from '../paging.ts'
import { Job } from '../wire/job.ts'
import { healthWire, WORKER, Worker, WorkerHealth, workerWire } from './worker-wire.ts'

/** Jobs in one answer. */
const MOST_SHOWN = 200

const DIRECTED = { '200': { description: 'It receives this with its next heartbeat.', schema: Worker } }

export const ADMIN_WORKER_ROUTES = [
  route(
    'GET /ojs/v1/admin/workers',
    {
      tag: 'Administration',
      summary: 'List workers',
      does: listWorkers,
      query: PAGE,
      answers: {
        '200': {
          description: 'By id.',
          schema: object({
            items: list(Worker),
            summary: object({
              total: whole(),
              running: whole(),
              quiet: whole(),
              terminating: whole(),
              stale: whole(),
            }),
            pagination: Pagination,
          }),
        },
      },
    },
    async ({ query, perform }) => {
      const { workers, active } = await perform(listWorkers, null)
      const { shown, pagination } = pageByName(workers, pageAsked(query), ({ id }) => id)
      const count = (state: WorkerRow['state']): number => workers.filter((row) => row.state === state).length
      return {
        items: shown.map((row) => workerWire(row, active === null ? null : heldBy(row, active).length)),
        summary: {
          total: workers.length,
          running: count('running'),
          quiet: count('quiet'),
          terminating: count('terminate'),
          stale: count('dead'),
        },
        pagination,
      }
    },
  ),

  route(
    'GET /ojs/v1/admin/workers/:id',
    {
      tag: 'Administration',
      summary: 'Get a worker and its jobs',
      does: inspectWorker,
      otherQuery: 'ignored',
      answers: { '200': { description: 'The worker.', schema: object({ ...WORKER, jobs: optional(list(Job)) }) } },
      errors: ['not_found'],
    },
    async ({ params, perform }, { reading }) => {
      const { worker, runs, now } = await perform(inspectWorker, params)
      const shown = runs === null ? null : runs.slice(0, MOST_SHOWN)
      return {
        ...workerWire(worker, runs?.length ?? null),
        ...(shown === null ? {} : { jobs: await jobReplies(reading, shown, { now, results: false }) }),
      }
    },
  ),

  ...(
    [
      ['quiet', 'Direct a worker to fetch no more jobs'],
      ['terminate', 'Direct a worker to stop'],
    ] as const
  ).map(([state, summary]) =>
    route(
      `POST /ojs/v1/admin/workers/:id/${state}`,
      { tag: 'Administration', summary, does: directWorker, answers: DIRECTED, errors: ['not_found'] },
      async ({ params, perform }) => workerWire(await perform(directWorker, { ...params, state }), null),
    ),
  ),

  route(
    'DELETE /ojs/v1/admin/workers/:id',
    {
      tag: 'Administration',
      summary: 'Remove a worker',
      does: removeWorker,
      answers: {
        '204': { description: 'A worker over HTTP ends together with its leases; one of a Petrel process stops.' },
      },
      errors: ['not_found'],
    },
    async ({ params, perform, reply }) => {
      await perform(removeWorker, params)
      return reply.code(204).send()
    },
  ),

  route(
    'GET /ojs/v1/workers/:id/health',
    {
      tag: 'Workers',
      summary: 'Get the health of a worker',
      does: showWorker,
      otherQuery: 'ignored',
      answers: {
        '200': { description: 'It is alive: running, draining or shutting_down.', schema: WorkerHealth },
        '503': { description: 'It has sent no heartbeat for too long.', schema: WorkerHealth },
      },
      errors: ['not_found'],
    },
    async ({ params, perform, reply }) => {
      const row = await perform(showWorker, params)
      reply.code(row.state === 'dead' ? 503 : 200)
      return healthWire(row)
    },
  ),
]
