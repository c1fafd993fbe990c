/** /ojs/v1/admin/dead-letter: search, count, look, retry and remove, one and many. */

import { MAX_COUNTED } from '../../../../kernel/limits.ts'
import { dismissRuns, redriveRuns } from '../../../../operations/runs/bulk.ts'
import {
  countDeadLetters,
  type DeadLetterCounts,
  dismissDeadLetter,
  retryDeadLetter,
  showDeadLetter,
} from '../../../../operations/runs/dead-letters.ts'
import { searchRuns } from '../../../../operations/runs/search.ts'
import { entries, flag, named, object, optional, time, type Value, whole } from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'
import { route } from '../context.ts'
import { JobItems, jobItems } from '../jobs/job-page.ts'
import { filterOf, JOB_FILTERS } from '../jobs/job-query.ts'
import { PAGE } from '../paging.ts'
import { AdminRetriedReply, JobDetail, jobDetail, retriedJob } from '../wire/admin-job.ts'
import { CHANGING, LOOKING, SORTED, sortOf } from './admin-jobs.ts'
import { answersOf, BulkOperation, begun, bulkRequest, confirmed, Purged, purged } from './bulk.ts'

const DeadLetterStats = named(
  'DeadLetterStats',
  object({
    total: whole(),
    total_is_at_least: optional(flag('There are more than were counted.')),
    by_queue: optional(entries(whole(), 'Missing, like the following fields, if there are too many to read.')),
    by_job_type: optional(entries(whole())),
    by_error_type: optional(entries(whole())),
    oldest_at: optional(time()),
    newest_at: optional(time()),
  }),
)

/** Whatever its state is now. */
const DEAD = { deadLetter: true, status: null, wait: null }

export const ADMIN_DEAD_LETTER_ROUTES = [
  route(
    'GET /ojs/v1/admin/dead-letter',
    {
      tag: 'Dead letters',
      summary: 'Search dead letters',
      does: LOOKING,
      query: { ...JOB_FILTERS, ...SORTED, ...PAGE },
      answers: { '200': { description: 'Newest first, unless sorted.', schema: JobItems } },
    },
    async ({ query, perform }, { reading }) => {
      const filter = { ...filterOf(query), sort: sortOf(query), ...DEAD }
      return jobItems(reading, { query, filter, find: (asked) => perform(searchRuns, asked) })
    },
  ),

  route(
    'DELETE /ojs/v1/admin/dead-letter',
    {
      tag: 'Dead letters',
      summary: 'Remove dead letters',
      description: 'For good. Each is decided separately.',
      does: dismissRuns,
      body: { schema: bulkRequest(['discarded']), optional: true },
      answers: answersOf(Purged),
    },
    async ({ body, perform, reply }) => {
      const { filter } = confirmed(body, ['discarded'])
      return purged(reply, await perform(dismissRuns, { filter: { ...filter, ...DEAD } }))
    },
  ),

  route(
    'GET /ojs/v1/admin/dead-letter/stats',
    {
      tag: 'Dead letters',
      summary: 'Count dead letters',
      does: countDeadLetters,
      otherQuery: 'ignored',
      answers: {
        '200': { description: 'By queue, type and error, unless there are too many.', schema: DeadLetterStats },
      },
    },
    async ({ perform }) => statsWire(await perform(countDeadLetters, null)),
  ),

  route(
    'POST /ojs/v1/admin/dead-letter/retry',
    {
      tag: 'Dead letters',
      summary: 'Retry many dead letters',
      description: 'Each is decided separately.',
      does: redriveRuns,
      body: { schema: bulkRequest(['discarded']), optional: true },
      answers: answersOf(BulkOperation),
    },
    async ({ body, perform, reply }) => {
      const { filter } = confirmed(body, ['discarded'])
      return begun(reply, await perform(redriveRuns, { filter: { ...filter, ...DEAD } }))
    },
  ),

  route(
    'GET /ojs/v1/admin/dead-letter/:id',
    {
      tag: 'Dead letters',
      summary: 'Get a dead letter',
      does: LOOKING,
      otherQuery: 'ignored',
      answers: { '200': { description: 'The job.', schema: JobDetail } },
      errors: ['not_found'],
    },
    async ({ params, perform }, { reading }) => jobDetail(reading, await perform(showDeadLetter, params)),
  ),

  route(
    'DELETE /ojs/v1/admin/dead-letter/:id',
    {
      tag: 'Dead letters',
      summary: 'Remove a dead letter (no response body)',
      does: CHANGING,
      answers: { '204': { description: 'Removed.' } },
      errors: ['not_found'],
    },
    async ({ params, perform, reply }) => {
      await perform(dismissDeadLetter, params)
      return reply.code(204).send()
    },
  ),

  route(
    'POST /ojs/v1/admin/dead-letter/:id/retry',
    {
      tag: 'Dead letters',
      summary: 'Retry a dead letter (admin)',
      does: CHANGING,
      answers: { '200': { description: 'It is available.', schema: AdminRetriedReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }, { reading }) => {
      const job = await retriedJob(reading, await perform(retryDeadLetter, params))
      return { ...job, job }
    },
  ),
]

function statsWire({ total, groups }: DeadLetterCounts): Value<typeof DeadLetterStats> {
  const many = total >= MAX_COUNTED ? { total_is_at_least: true } : {}
  if (groups === null) return { total, ...many }
  const { byQueue, byType, byError, oldestAt, newestAt } = groups
  return {
    total,
    by_queue: byQueue,
    by_job_type: byType,
    by_error_type: byError,
    ...(oldestAt === null || newestAt === null ? {} : { oldest_at: timeText(oldestAt), newest_at: timeText(newestAt) }),
  }
}
