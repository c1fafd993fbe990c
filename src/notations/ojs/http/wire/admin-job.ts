/** Jobs as operators see them, and what they do to them. */
import type { RunRow } from '../../../../model/rows.ts'
import { list, named, object, optional, time, type Value, word } from '../../../../wire/schema.ts'
import { JOB_STATES, stateBeforeCancel } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import { type JobReading, jobReplies } from '../jobs/job-reply.ts'
import { JOB_FIELDS, JobError, type JobWire } from './job.ts'
import { RetryPolicy } from './job-request.ts'

export const JobDetail = named(
  'JobDetail',
  object({
    ...JOB_FIELDS,
    errors: list(JobError, 'Failed attempts, oldest first.'),
    retry_policy: optional(RetryPolicy),
  }),
)

const RETRIED = { ...JOB_FIELDS, re_enqueued_at: time() }

const JobRetried = object(RETRIED)

/** Only under `job`. */
export const RetriedReply = object({ job: JobRetried })

export const AdminRetriedReply = named(
  'JobRetried',
  object({ ...RETRIED, job: JobRetried }, 'The fields of the job are at the top as well.'),
)

const CANCELLED = { ...JOB_FIELDS, previous_state: word(JOB_STATES, 'Before this.') }

export const AdminCancelledReply = named(
  'JobCancelled',
  object({ ...CANCELLED, job: object(CANCELLED) }, 'The fields of the job are at the top as well.'),
)

export async function jobDetail(reading: JobReading, run: RunRow): Promise<Value<typeof JobDetail>> {
  const now = await reading.queries.now()
  const [found] = await jobReplies(reading, [run], { now, results: true, saved: true })
  const job = found as JobWire
  const { errors = [], retry } = job
  return { ...job, errors, ...(retry === undefined ? {} : { retry_policy: retry }) }
}

export async function retriedJob(reading: JobReading, run: RunRow): Promise<Value<typeof JobRetried>> {
  const [job] = await jobReplies(reading, [run], { now: run.runAt, results: false })
  return { ...(job as JobWire), re_enqueued_at: timeText(run.runAt) }
}

export async function cancelledJob(
  reading: JobReading,
  run: RunRow,
): Promise<JobWire & { readonly previous_state: ReturnType<typeof stateBeforeCancel> }> {
  const [job] = await jobReplies(reading, [run], { now: run.finishedAt ?? run.runAt, results: false })
  return { ...(job as JobWire), previous_state: stateBeforeCancel(run) }
}
