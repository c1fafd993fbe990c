/** Administration: jobs, queues, workers, statistics, tenants, limits, schemas. */
import type { Answer, Operation, Parameter, Paths } from './operation.ts'
import { PAGE } from './parameters.ts'
import { anything, flag, list, object, ref, type Schema, text, time, whole } from './schema.ts'

const FILTERS: readonly Parameter[] = [
  { name: 'queue', description: 'Only of this queue.' },
  { name: 'state', description: 'Only in these states: `available,scheduled`.' },
  { name: 'type', description: 'Only of this type.' },
  { name: 'since', description: 'Created then or later.', schema: time() },
  { name: 'until', description: 'Created before.', schema: time() },
]
const SORT: readonly Parameter[] = [
  { name: 'sort', description: '`created_at`, `scheduled_at` or `priority`, among the newest 10,000.' },
  { name: 'order', description: '`asc` or `desc`.' },
]

const _OFFSETS = PAGE.filter(({ name }) => name !== 'cursor')
const CONFIRM = flag('Must be true: this changes many jobs.')
const FILTER = object({ queue: text(), state: text(), type: text(), since: time(), until: time() })

const ok = (description: string, schema?: Schema): { readonly '200': Answer } => ({
  '200': { description, ...(schema === undefined ? {} : { schema }) },
})
const items = (item: Schema): Schema => object({ items: list(item), pagination: ref('Pagination') })

const admin = (
  tag: string,
  summary: string,
  answers: Operation['answers'],
  more: Partial<Operation> = {},
): Operation => ({
  tag,
  summary,
  answers,
  ...more,
})
const adminJobs = (summary: string, answers: Operation['answers'], more: Partial<Operation> = {}): Operation =>
  admin('Administration', summary, answers, more)

const BULK = {
  '200': { description: 'Done.', schema: ref('BulkOperation') },
  '202': { description: 'Goes on; Location tells where to look.', schema: ref('BulkOperation'), headers: ['Location'] },
} as const

const bulk = (summary: string, description: string, more: { readonly [name: string]: Schema } = {}): Operation =>
  adminJobs(summary, BULK, {
    description,
    body: { schema: object({ confirm: CONFIRM, filter: FILTER, ...more }, { required: ['confirm'] }) },
  })

const NOT_FOUND = { errors: ['not_found'] } as const
const CONFLICT = { errors: ['not_found', 'conflict'] } as const

const QUEUE_PATHS: Paths = {
  '/ojs/v1/admin/queues/{name}/jobs': {
    delete: adminJobs('Cancel the waiting jobs of a queue', BULK, {
      description: 'What has ended goes by retention, and is not removed here.',
      body: {
        schema: object({ confirm: CONFIRM, states: list(text()), older_than: time() }, { required: ['confirm'] }),
      },
    }),
  },
}

const JOB_PATHS: Paths = {
  '/ojs/v1/admin/jobs': {
    get: adminJobs('Search jobs', ok('Newest first.', items(ref('Job'))), { query: [...FILTERS, ...SORT, ...PAGE] }),
  },
  '/ojs/v1/admin/jobs/{id}': {
    get: adminJobs('Look at a job', ok('The whole job.', ref('Job')), NOT_FOUND),
    patch: adminJobs('Change the priority of a job that waits', ok('The whole job.', ref('Job')), {
      body: {
        schema: object({ priority: whole(undefined, { minimum: -100, maximum: 100 }) }, { required: ['priority'] }),
      },
      ...CONFLICT,
    }),
  },
  '/ojs/v1/admin/jobs/{id}/retry': {
    post: adminJobs('Start a discarded or cancelled job anew', ok('It is available.', ref('Job')), CONFLICT),
  },
  '/ojs/v1/admin/jobs/{id}/cancel': { post: adminJobs('Cancel a job', ok('It is cancelled.', ref('Job')), CONFLICT) },
  '/ojs/v1/jobs/{id}/cancel': {
    post: admin('Jobs', 'Cancel a job (the same as DELETE)', ok('It is cancelled.', ref('Job')), CONFLICT),
  },
  '/ojs/v1/admin/jobs/bulk/retry': {
    post: bulk(
      'Start many jobs anew',
      'Discarded ones, unless the filter names cancelled ones. Each is decided by itself.',
    ),
  },
  '/ojs/v1/admin/jobs/bulk/cancel': {
    post: bulk('Cancel many jobs', 'All that match and have not ended. Each is decided by itself.'),
  },
  '/ojs/v1/admin/jobs/bulk/{id}': {
    get: adminJobs('Look at a bulk operation', ok('As far as it is.', ref('BulkOperation')), NOT_FOUND),
  },
  '/ojs/v1/admin/dead-letter': {
    get: admin('Dead letters', 'Search dead letters', ok('Newest first.', items(ref('Job'))), {
      query: [...FILTERS, ...PAGE],
    }),
    delete: { ...bulk('Remove dead letters', 'For good.', { older_than: time() }), tag: 'Dead letters' },
  },
  '/ojs/v1/admin/dead-letter/stats': {
    get: admin(
      'Dead letters',
      'Count dead letters',
      ok(
        'Told apart while there are not too many.',
        object({
          total: whole(),
          by_queue: object({}),
          by_error_type: object({}),
          oldest_at: time(),
          newest_at: time(),
        }),
      ),
    ),
  },
  '/ojs/v1/admin/dead-letter/retry': {
    post: { ...bulk('Start many dead letters anew', 'Each is decided by itself.'), tag: 'Dead letters' },
  },
  '/ojs/v1/admin/dead-letter/{id}': {
    get: admin('Dead letters', 'Look at a dead letter', ok('The job.', ref('Job')), NOT_FOUND),
    delete: admin(
      'Dead letters',
      'Remove a dead letter (no answer body)',
      { '204': { description: 'Removed.' } },
      NOT_FOUND,
    ),
  },
  '/ojs/v1/admin/dead-letter/{id}/retry': {
    post: admin('Dead letters', 'Start a dead letter anew (admin)', ok('It is available.', ref('Job')), CONFLICT),
  },
}

const REPORT = {
  schema: object({ worker_id: text(), result: anything('What it made.'), error: object({}) }),
  optional: true,
}

const WORKER_PATHS: Paths = {
  '/ojs/v1/jobs/{id}/ack': {
    post: admin('Workers', 'Report success of a job named in the path', ok('Recorded.', object({ job: ref('Job') })), {
      scope: 'work',
      body: REPORT,
      ...CONFLICT,
    }),
  },
  '/ojs/v1/jobs/{id}/nack': {
    post: admin('Workers', 'Report failure of a job named in the path', ok('Recorded.', object({ job: ref('Job') })), {
      scope: 'work',
      body: REPORT,
      ...CONFLICT,
    }),
  },
  '/ojs/v1/workers/beat': {
    post: admin(
      'Workers',
      'Another name of heartbeat',
      ok('What the worker should do.', object({ state: text(), acknowledged: flag() })),
      {
        description: 'A worker whose state is `drain` or `quiet` gets no more jobs.',
        body: { schema: object({ worker_id: text(), state: text() }, { required: ['worker_id'] }) },
      },
    ),
  },
}

const STATS_PATHS: Paths = {
  '/ojs/v1/admin/stats/stream': {
    get: adminJobs('Numbers of the server, and jobs, as they happen', {
      '200': {
        description:
          'Server-sent events: `metrics` at once and every three seconds, `job.enqueued`, `job.completed`, ' +
          '`job.failed` and `job.cancelled` as they happen.',
        schema: text(),
        type: 'text/event-stream',
      },
    }),
  },
  '/ojs/v1/admin/tenants/{id}/jobs': {
    get: adminJobs('Search jobs of a tenant', ok('Newest first.', items(ref('Job'))), {
      query: [...FILTERS, ...PAGE],
    }),
  },
}

export const ADMIN_PATHS: Paths = { ...QUEUE_PATHS, ...JOB_PATHS, ...WORKER_PATHS, ...STATS_PATHS }
