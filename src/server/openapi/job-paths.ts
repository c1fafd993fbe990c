/** Jobs, workers, queues, dead letters and cron. */
import type { Paths } from './operation.ts'
import { PAGE } from './parameters.ts'
import { flag, object, ref, uuid } from './schema.ts'

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

export const JOB_PATHS: Paths = DEAD_LETTERS
