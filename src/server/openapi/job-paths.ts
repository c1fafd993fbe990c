/** Jobs, workers, queues, dead letters and cron. */
import type { Operation, Paths } from './operation.ts'
import { PAGE } from './parameters.ts'
import { flag, list, object, ref, uuid, whole } from './schema.ts'

const JOB_EXAMPLE = {
  type: 'email.send',
  args: ['anna@example.org', 'welcome'],
  options: { queue: 'email', retry: { max_attempts: 5 } },
}

const JOB: { readonly [path: string]: { readonly [method: string]: Operation } } = {
  '/ojs/v1/jobs': {
    post: {
      tag: 'Jobs',
      summary: 'Enqueue a job',
      description: 'When this has answered 201 the job is stored and will not be lost.',
      body: { schema: ref('JobRequest'), example: JOB_EXAMPLE },
      answers: {
        '201': { description: 'It is enqueued.', schema: ref('JobReply'), headers: ['Location'] },
        '200': { description: 'There is such a job already, and its policy says `ignore`.', schema: ref('JobReply') },
      },
      errors: ['duplicate', 'validation_error'],
    },
  },
  '/ojs/v1/jobs/batch': {
    post: {
      tag: 'Jobs',
      summary: 'Enqueue many jobs, all or none',
      body: {
        schema: object({ jobs: list(ref('JobRequest'), '1 to 1000.') }, { required: ['jobs'] }),
        example: { jobs: [JOB_EXAMPLE] },
      },
      answers: {
        '201': {
          description: 'All are enqueued.',
          schema: object({ jobs: list(ref('Job')), count: whole() }, { required: ['jobs', 'count'] }),
        },
      },
      errors: ['duplicate', 'validation_error'],
    },
  },
  '/ojs/v1/jobs/{id}': {
    get: {
      tag: 'Jobs',
      summary: 'Look at a job',
      answers: { '200': { description: 'The job as it stands.', schema: ref('JobReply') } },
      errors: ['not_found'],
    },
    delete: {
      tag: 'Jobs',
      summary: 'Cancel a job',
      description: 'One that is active is cancelled too: what its worker reports afterwards is refused.',
      answers: { '200': { description: 'It is cancelled.', schema: ref('JobReply') } },
      errors: ['not_found', 'conflict'],
    },
  },
  '/ojs/v1/jobs/{id}/activate': {
    post: {
      tag: 'Jobs',
      summary: 'Make a pending job available',
      answers: { '200': { description: 'It is available.', schema: ref('JobReply') } },
      errors: ['not_found', 'conflict'],
    },
  },
}

function report(name: 'ack' | 'nack', what: string, schema: string): Paths {
  return {
    [`/ojs/v1/workers/${name}`]: {
      post: {
        tag: 'Workers',
        summary: what,
        body: { schema: ref(schema) },
        answers: {
          '200': { description: 'It is recorded, and its workflow has moved on.', schema: ref('ReportReply') },
        },
        errors: ['not_found', 'conflict'],
      },
    },
    [`/ojs/v1/workers/${name}/batch`]: {
      post: {
        tag: 'Workers',
        summary: `${what}, many at once`,
        description: 'Each is decided by itself: one that is refused changes nothing for the others.',
        body: { schema: object({ [`${name}s`]: list(ref(schema), '1 to 1000.') }, { required: [`${name}s`] }) },
        answers: { '200': { description: 'What became of each.', schema: ref('ReportBatchReply') } },
      },
    },
  }
}

const WORKERS: Paths = {
  '/ojs/v1/workers/fetch': {
    post: {
      tag: 'Workers',
      summary: 'Fetch jobs to work on',
      description:
        'Jobs that are handed out are active and count as started. With wait_ms the answer waits for the first one. ' +
        'Fewer than count if more would be beyond 8 MiB.',
      body: {
        schema: ref('FetchRequest'),
        example: { queues: ['email', 'default'], worker_id: 'w1', wait_ms: 20_000 },
      },
      answers: {
        '200': { description: 'What there was; perhaps nothing.', schema: object({ jobs: list(ref('Job')) }) },
      },
    },
  },
  ...report('ack', 'Report that a job succeeded', 'AckRequest'),
  ...report('nack', 'Report that a job failed', 'NackRequest'),
  '/ojs/v1/workers/heartbeat': {
    post: {
      tag: 'Workers',
      summary: 'Say that a worker lives, and renew its leases',
      body: { schema: ref('Heartbeat') },
      answers: { '200': { description: 'What the worker should do.', schema: ref('HeartbeatReply') } },
    },
  },
}

const DEAD_LETTERS: Paths = {
  '/ojs/v1/dead-letter': {
    get: {
      tag: 'Dead letters',
      summary: 'List jobs that failed for good and were kept',
      query: [
        { name: 'queue', description: 'Only of this queue.' },
        { name: 'type', description: 'Only of this type.' },
        ...PAGE,
      ],
      answers: { '200': { description: 'Newest first.', schema: ref('JobList') } },
    },
  },
  '/ojs/v1/dead-letter/{id}/retry': {
    post: {
      tag: 'Dead letters',
      summary: 'Put one back to work, from its first attempt',
      answers: { '200': { description: 'It is available again.', schema: ref('JobReply') } },
      errors: ['not_found', 'conflict'],
    },
  },
  '/ojs/v1/dead-letter/{id}': {
    delete: {
      tag: 'Dead letters',
      summary: 'Give one up for good',
      answers: { '200': { description: 'It is gone.', schema: object({ deleted: flag(), job_id: uuid() }) } },
      errors: ['not_found'],
    },
  },
}

export const JOB_PATHS: Paths = { ...JOB, ...WORKERS, ...DEAD_LETTERS }
