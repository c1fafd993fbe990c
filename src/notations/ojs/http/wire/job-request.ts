/** A job as a client asks for it. The readers of ojs/compile check it; this describes it for the document. */
import {
  anything,
  flag,
  list,
  named,
  number,
  object,
  optional,
  text,
  uuid,
  whole,
  word,
} from '../../../../wire/schema.ts'
import { SHOWN_STRATEGIES } from '../../compile/retry.ts'
import { JOB_STATES } from '../../project/state.ts'
import { JOB_TYPE, QUEUE } from './fields.ts'

const MOMENT = 'RFC 3339 with a zone, or relative to now: `+PT30S`.'

export const RetryPolicy = named(
  'RetryPolicy',
  object({
    max_attempts: optional(whole({ description: 'Attempts in all; 0 and 1: no retry.', minimum: 0, default: 3 })),
    initial_interval: optional(text({ description: 'ISO 8601 duration.', default: 'PT1S' })),
    backoff_coefficient: optional(number({ minimum: 1, default: 2 })),
    backoff_strategy: optional(word(SHOWN_STRATEGIES)),
    max_interval: optional(text({ description: 'ISO 8601 duration.', default: 'PT5M' })),
    jitter: optional(flag({ default: true })),
    non_retryable_errors: optional(list(text('An error type, or the beginning of one with `.*`.'))),
    on_exhaustion: optional(word(['discard', 'dead_letter'])),
  }),
)

export const UniquePolicy = named(
  'UniquePolicy',
  object({
    keys: optional(
      list(word(['type', 'queue', 'args', 'meta']), 'What makes two jobs the same; the type always does.'),
    ),
    args_keys: optional(list(text())),
    meta_keys: optional(list(text())),
    period: optional(
      text('ISO 8601 duration from the creation of the first; without it, as long as the first is in `states`.'),
    ),
    states: optional(list(word(JOB_STATES))),
    on_conflict: optional(word(['reject', 'ignore', 'replace', 'replace_except_schedule'])),
  }),
)

const JobOptions = named(
  'JobOptions',
  object({
    queue: optional(QUEUE),
    priority: optional(
      whole({ description: 'Greater is handed out earlier.', minimum: -100, maximum: 100, default: 0 }),
    ),
    scheduled_at: optional(text(`Not before then. ${MOMENT} \`delay_until\` is another word for it.`)),
    expires_at: optional(text(`Discarded if not started by then. ${MOMENT}`)),
    timeout_ms: optional(whole({ description: 'An attempt that takes longer fails with code `timeout`.', minimum: 1 })),
    visibility_timeout_ms: optional(
      whole({ description: 'How long a worker may be silent before the job goes to another.', minimum: 1 }),
    ),
    retry: optional(RetryPolicy),
    unique: optional(UniquePolicy),
    tags: optional(list(text(), 'For people.')),
    pending: optional(flag('true: waits for POST /jobs/{id}/activate.')),
    rate_limit: optional(
      anything({ type: 'object', description: 'Limits of the queue or of a key that several jobs share.' }),
    ),
    metadata: optional(anything({ type: 'object', description: 'Hints of the client, kept as they are.' })),
  }),
)

/** What is to be done; a cron job has the same. */
export const WORK_FIELDS = {
  type: JOB_TYPE,
  args: list(anything('Any JSON.'), 'Arguments of the handler.'),
  meta: optional(anything({ type: 'object', description: 'Yours; kept and handed to the worker as it is.' })),
  options: optional(JobOptions),
}

export const JobRequest = named(
  'JobRequest',
  object(
    {
      ...WORK_FIELDS,
      id: optional(uuid('A UUIDv7 of your own; made by the server otherwise. One that exists already is refused.')),
    },
    'Fields that are not named here are kept and shown again with the job.',
  ),
)

export const JobBatch = object({ jobs: list(JobRequest, '1 to 1000.') })
