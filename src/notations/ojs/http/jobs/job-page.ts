/** A page of jobs, newest first unless sorted, with how many there are in all. */

import { RequestError } from '../../../../http/request-error.ts'
import { isId } from '../../../../kernel/ids.ts'
import { MAX_COUNTED } from '../../../../kernel/limits.ts'
import type { RunFilter, RunSearch, RunsFound } from '../../../../operations/runs/search.ts'
import type { Given } from '../../../../wire/requests/params.ts'
import { list, named, object, type Value } from '../../../../wire/schema.ts'
import { type PAGE, Pagination, pageAsked, pageWire } from '../paging.ts'
import { Job } from '../wire/job.ts'
import { type JobReading, jobReplies } from './job-reply.ts'

export const JobList = named('JobList', object({ jobs: list(Job), pagination: Pagination }))

export const JobItems = named(
  'JobItems',
  object({ items: list(Job), jobs: list(Job, 'The same.'), pagination: Pagination }),
)

interface Asked {
  readonly query: Given<typeof PAGE>
  readonly filter: RunFilter
  readonly find: (asked: RunSearch) => Promise<RunsFound>
}

export async function jobPage(reading: JobReading, { query, filter, find }: Asked): Promise<Value<typeof JobList>> {
  const page = pageAsked(query)
  if (page.after !== null && !isId(page.after))
    throw new RequestError('invalid_request', 'cursor is not one of this list')
  const { limit, after: before, offset } = page
  const { rows, more, total, now } = await find({ ...filter, limit, before, offset })
  const last = filter.sort == null ? (rows.at(-1)?.id ?? null) : null
  return {
    jobs: await jobReplies(reading, rows, { now, results: false }),
    pagination: pageWire({ page, total, hasMore: more, last }),
  }
}

/** As the admin pages read it. */
export async function jobItems(reading: JobReading, asked: Asked): Promise<Value<typeof JobItems>> {
  const { jobs, pagination } = await jobPage(reading, asked)
  const many = pagination.total >= MAX_COUNTED ? { total_is_at_least: true } : {}
  return { items: jobs, jobs, pagination: { ...pagination, ...many } }
}
