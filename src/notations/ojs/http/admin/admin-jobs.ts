/** /ojs/v1/admin/jobs: search, look, change the priority, retry, cancel. */

import { RequestError } from '../../../../http/request-error.ts'
import { MAX_COUNTED } from '../../../../kernel/limits.ts'
import type { RunSort } from '../../../../model/queries/queries.ts'
import { cancelRun, prioritizeRun, redriveRun } from '../../../../operations/runs/change.ts'
import { showRun } from '../../../../operations/runs/look.ts'
import { searchRuns, searchRunsOfTenant } from '../../../../operations/runs/search.ts'
import { countTenant } from '../../../../operations/statistics/tenants.ts'
import { type Given, wordOf } from '../../../../wire/requests/params.ts'
import { object, whole } from '../../../../wire/schema.ts'
import { route } from '../context.ts'
import { JobItems, jobItems } from '../jobs/job-page.ts'
import { ofJob } from '../jobs/job-problem.ts'
import { filterOf, JOB_FILTERS } from '../jobs/job-query.ts'
import { PAGE } from '../paging.ts'
import {
  AdminCancelledReply,
  AdminRetriedReply,
  cancelledJob,
  JobDetail,
  jobDetail,
  retriedJob,
} from '../wire/admin-job.ts'

/** All of it concerns every tenant. */
export const LOOKING = { scope: 'read', shared: true } as const
export const CHANGING = { scope: 'admin', shared: true } as const

const SORTS = { created_at: 'created', scheduled_at: 'due', priority: 'priority' } as const
type Sort = keyof typeof SORTS

export const SORTED = {
  sort: wordOf(Object.keys(SORTS) as Sort[], 'created_at', 'Among the newest 10,000.'),
  order: wordOf(['asc', 'desc'], 'desc', 'Of the sort.'),
}

const THE_JOB = { '200': { description: 'The complete job.', schema: JobDetail } }

export const ADMIN_JOB_ROUTES = [
  route(
    'GET /ojs/v1/admin/jobs',
    {
      tag: 'Administration',
      summary: 'Search jobs',
      does: LOOKING,
      query: { ...JOB_FILTERS, ...SORTED, ...PAGE },
      answers: { '200': { description: 'Newest first, unless sorted.', schema: JobItems } },
    },
    async ({ query, perform }, { reading }) => {
      const filter = { ...filterOf(query), sort: sortOf(query) }
      return jobItems(reading, { query, filter, find: (asked) => perform(searchRuns, asked) })
    },
  ),

  route(
    'GET /ojs/v1/admin/tenants/:id/jobs',
    {
      tag: 'Administration',
      summary: 'Search jobs of a tenant',
      does: searchRunsOfTenant,
      query: { ...JOB_FILTERS, ...PAGE },
      answers: { '200': { description: 'Newest first.', schema: JobItems } },
      errors: ['not_found'],
    },
    async ({ params: { id: tenant }, query, perform }, { reading }) => {
      await perform(countTenant, { tenant })
      const find = (asked: Parameters<typeof searchRuns.run>[1]) => perform(searchRunsOfTenant, { ...asked, tenant })
      return jobItems(reading, { query, filter: filterOf(query), find })
    },
  ),

  route(
    'GET /ojs/v1/admin/jobs/:id',
    {
      tag: 'Administration',
      summary: 'Get a job',
      does: LOOKING,
      otherQuery: 'ignored',
      answers: THE_JOB,
      errors: ['not_found'],
    },
    async ({ params, perform }, { reading }) =>
      jobDetail(reading, await ofJob(params.id, '', perform(showRun, params))),
  ),

  route(
    'PATCH /ojs/v1/admin/jobs/:id',
    {
      tag: 'Administration',
      summary: 'Change the priority of a waiting job',
      does: CHANGING,
      body: { schema: object({ priority: whole({ minimum: -100, maximum: 100 }) }), example: { priority: 10 } },
      answers: THE_JOB,
      errors: ['not_found', 'conflict'],
    },
    async ({ params, body, perform }, { reading }) => {
      // Stored, a smaller number is more urgent.
      const priority = 100 - body.priority
      const run = await ofJob(params.id, 'not started', perform(prioritizeRun, { ...params, priority }))
      return jobDetail(reading, run)
    },
  ),

  route(
    'POST /ojs/v1/admin/jobs/:id/retry',
    {
      tag: 'Administration',
      summary: 'Retry a discarded or cancelled job',
      does: CHANGING,
      answers: { '200': { description: 'It is available.', schema: AdminRetriedReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }, { reading }) => {
      const job = await retriedJob(reading, await ofJob(params.id, 'discarded', perform(redriveRun, params)))
      return { ...job, job }
    },
  ),

  ...(
    [
      ['/ojs/v1/admin/jobs/:id/cancel', { tag: 'Administration', summary: 'Cancel a job', does: CHANGING }],
      ['/ojs/v1/jobs/:id/cancel', { tag: 'Jobs', summary: 'Cancel a job (the same as DELETE)', does: cancelRun }],
    ] as const
  ).map(([path, about]) =>
    route(
      `POST ${path}`,
      {
        ...about,
        answers: { '200': { description: 'It is cancelled.', schema: AdminCancelledReply } },
        errors: ['not_found', 'conflict'],
      },
      async ({ params, perform }, { reading }) => {
        const job = await cancelledJob(reading, await ofJob(params.id, 'not ended', perform(cancelRun, params)))
        return { ...job, job }
      },
    ),
  ),
]

/** null: as they are stored, the newest first. */
export function sortOf({
  sort,
  order,
  cursor,
}: Given<typeof SORTED> & { readonly cursor: string | null }): RunSort | null {
  const by = SORTS[sort]
  if (by === 'created' && order === 'desc') return null
  if (cursor !== null) {
    throw new RequestError('invalid_request', 'a sorted list has pages, and no cursor', {
      details: { parameter: 'cursor' },
    })
  }
  // Stored, a smaller number is more urgent.
  return { by, descending: (order === 'desc') !== (by === 'priority'), among: MAX_COUNTED }
}
