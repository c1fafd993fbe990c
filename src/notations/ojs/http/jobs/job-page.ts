/** A page of jobs, newest first, with how many there are in all. */

import type { EngineApi } from '../../../../engine/api.ts'
import { RequestError } from '../../../../http/request-error.ts'
import { readId } from '../../../../kernel/ids.ts'
import { MAX_COUNTED } from '../../../../kernel/limits.ts'
import type { RunQuery } from '../../../../model/queries/queries.ts'
import { PAGE_BYTES } from '../../../../model/shown.ts'
import type { Query } from '../../../../wire/requests/query.ts'
import { pageWire, readPage } from '../paging.ts'
import type { JobWire } from '../wire/job.ts'
import { jobReplies } from './job-reply.ts'

export interface JobPage {
  readonly jobs: readonly JobWire[]
  readonly total: number
  readonly pagination: object
}

export async function jobPage(
  engine: EngineApi,
  params: Query,
  filter: Omit<RunQuery, 'limit' | 'before' | 'offset'>,
): Promise<JobPage> {
  const page = readPage(params)
  if (page.after !== null && readId(page.after) === null)
    throw new RequestError('invalid_request', 'cursor is not one of this list')
  const query: RunQuery = {
    ...filter,
    limit: page.limit + 1,
    before: page.after,
    offset: page.offset,
    maxBytes: PAGE_BYTES,
  }
  const { queries } = engine
  const [rows, total, now] = await Promise.all([
    queries.listRuns(query),
    queries.countListedRuns({ ...query, before: null, offset: 0 }, MAX_COUNTED),
    engine.queries.now(),
  ])
  const shown = rows.slice(0, page.limit)
  return {
    jobs: await jobReplies(engine, shown, { now, results: false }),
    total,
    pagination: pageWire({
      page,
      total,
      hasMore: rows.length > shown.length,
      last: filter.sort == null ? (shown.at(-1)?.id ?? null) : null,
    }),
  }
}
