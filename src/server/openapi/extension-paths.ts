/** Checkpoints, progress and webhooks. */
import type { Paths } from './operation.ts'
import { anything, object, ref, text, time } from './schema.ts'

const PROGRESS_BODY = {
  progress: { type: 'number', description: 'From 0 to 1; beyond is put to the nearest end.' },
  message: text('A message about the current work.'),
  data: anything('Any data of the handler.'),
  worker_id: text('If given, the worker that must hold the job.'),
}

export const EXTENSION_PATHS: Paths = {
  '/ojs/v1/jobs/{id}/progress': {
    put: {
      tag: 'Checkpoints',
      summary: 'Report progress',
      description:
        'With `progress`, `data` or both. Renews the lease of the job. A report of a job that is not active, or that is lower than the one before, changes nothing: `accepted` is false.',
      scope: 'work',
      body: { schema: object(PROGRESS_BODY), example: { progress: 0.5, message: 'half' } },
      answers: { '200': { description: 'As kept.', schema: ref('Progress') } },
      errors: ['not_found'],
    },
    get: {
      tag: 'Checkpoints',
      summary: 'Read the progress of a job',
      answers: {
        '200': { description: 'The last report; `reported` is false if there was none.', schema: ref('Progress') },
      },
      errors: ['not_found'],
    },
  },
  '/ojs/v1/jobs/{id}/progress/stream': {
    get: {
      tag: 'Checkpoints',
      summary: 'Follow the progress of a job',
      description: 'The current state at once, and each later one as a message without a type; it ends with the job.',
      answers: {
        '200': { description: 'Server-sent events.', schema: ref('Progress'), type: 'text/event-stream' },
      },
      errors: ['not_found'],
    },
  },
  '/ojs/v1/workers/progress': {
    post: {
      tag: 'Workers',
      summary: 'Report progress in percent',
      body: {
        schema: object(
          { job_id: text(), percentage: { type: 'number', description: 'From 0 to 100.' }, ...PROGRESS_BODY },
          { required: ['job_id'] },
        ),
      },
      answers: { '200': { description: 'As kept.', schema: ref('Progress') } },
      errors: ['not_found'],
    },
  },
  '/ojs/v1/jobs/{id}/result': {
    get: {
      tag: 'Jobs',
      summary: 'Read the outcome of a job',
      answers: {
        '200': {
          description: 'Its result or error, if it has ended.',
          schema: object({ job_id: text(), state: text(), result: anything('Its result.'), error: object({}) }),
        },
      },
      errors: ['not_found'],
    },
  },
}

export const EXTENSION_SCHEMAS = {
  Progress: object({
    job_id: text(),
    state: text(),
    progress: { type: ['number', 'null'], minimum: 0, maximum: 1, description: '1 as soon as the job has completed.' },
    percentage: { type: 'number' },
    message: text(),
    data: anything('Set by the handler; null: none.'),
    reported: { type: 'boolean', description: 'false: nothing was reported in this execution.' },
    accepted: { type: 'boolean', description: 'In the reply to a report: whether it counted.' },
    updated_at: time(),
  }),
}
