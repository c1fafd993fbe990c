/** /ojs/v1/dead-letter: jobs that failed for good and are kept until a person decides about them. */

import { dismissDeadLetter, retryDeadLetter } from '../../../../operations/runs/dead-letters.ts'
import { searchRuns } from '../../../../operations/runs/search.ts'
import { storedText } from '../../../../wire/requests/params.ts'
import { flag, object, uuid } from '../../../../wire/schema.ts'
import { route } from '../context.ts'
import { JobList, jobPage } from '../jobs/job-page.ts'
import { ANY_JOB } from '../jobs/job-query.ts'
import { PAGE } from '../paging.ts'
import { RetriedReply, retriedJob } from '../wire/admin-job.ts'

export const DEAD_LETTER_ROUTES = [
  route(
    'GET /ojs/v1/dead-letter',
    {
      tag: 'Dead letters',
      summary: 'List jobs that failed for good and were kept',
      does: searchRuns,
      query: { queue: storedText('Only of this queue.'), type: storedText('Only of this type.'), ...PAGE },
      answers: { '200': { description: 'Newest first.', schema: JobList } },
    },
    async ({ query, perform }, { reading }) => {
      const filter = { ...ANY_JOB, queue: query.queue, type: query.type, deadLetter: true }
      return jobPage(reading, { query, filter, find: (asked) => perform(searchRuns, asked) })
    },
  ),

  route(
    'POST /ojs/v1/dead-letter/:id/retry',
    {
      tag: 'Dead letters',
      summary: 'Retry one, from its first attempt',
      does: retryDeadLetter,
      answers: { '200': { description: 'It is available again.', schema: RetriedReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }, { reading }) => ({
      job: await retriedJob(reading, await perform(retryDeadLetter, params)),
    }),
  ),

  route(
    'DELETE /ojs/v1/dead-letter/:id',
    {
      tag: 'Dead letters',
      summary: 'Remove one for good',
      does: dismissDeadLetter,
      answers: { '200': { description: 'It is removed.', schema: object({ deleted: flag(), job_id: uuid() }) } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ deleted: true, job_id: (await perform(dismissDeadLetter, params)).id }),
  ),
]
