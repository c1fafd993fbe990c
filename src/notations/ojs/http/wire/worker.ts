/** What workers send and are answered. The readers of ojs/compile check what they send; this describes it. */
import type { LeaseSettled } from '../../../../model/leases.ts'
import { ErrorReply } from '../../../../wire/error-details.ts'
import {
  anything,
  flag,
  list,
  named,
  object,
  oneOf,
  optional,
  text,
  time,
  uuid,
  type Value,
  whole,
  word,
} from '../../../../wire/schema.ts'
import { JOB_STATES, jobState, startsOf } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import { WORKER_ID } from './fields.ts'
import { Job, JobError, jobWire } from './job.ts'

export const FetchRequest = named(
  'FetchRequest',
  object({
    queues: list(text(), 'The first is emptied first.'),
    count: optional(whole({ description: 'The maximal number of jobs.', minimum: 1, maximum: 1000, default: 1 })),
    worker_id: optional(WORKER_ID),
    wait_ms: optional(
      whole({
        description: 'How long the response may wait for a first job; 0: none.',
        minimum: 0,
        maximum: 60_000,
        default: 0,
      }),
    ),
    visibility_timeout_ms: optional(
      whole({ description: 'Overrides the setting of the job; default 30 minutes.', minimum: 1 }),
    ),
    types: optional(list(text(), 'Only these types; `email.%` matches all that begin with `email.`.')),
    runtime: optional(text()),
  }),
)

/** As JSON text, which its jobs are already. */
export const FetchReply = object({ jobs: list(Job) })

/** Of a report about a job that the path names. */
const ACK = {
  result: optional(anything('Any JSON, up to 1 MiB.')),
  worker_id: optional(text('If given, it must be the holder of the job.')),
  attempt: optional(whole('If given, it must be the current attempt.')),
}

const NACK = {
  error: optional(JobError),
  requeue: optional(flag('true: returned to the queue at once, whatever the policy.')),
  result: optional(anything('Stored with the job if this failure is its last.')),
  worker_id: optional(text()),
  attempt: optional(whole()),
}

export const AckOfJob = named('AckOfJob', object(ACK))
export const NackOfJob = named('NackOfJob', object(NACK))
export const AckRequest = named('AckRequest', object({ job_id: uuid(), ...ACK }))
export const NackRequest = named('NackRequest', object({ job_id: uuid(), ...NACK }))

export const ReportReply = named(
  'ReportReply',
  object({
    acknowledged: flag(),
    id: uuid('The same as `job_id`.'),
    job_id: uuid(),
    state: word(JOB_STATES),
    attempt: optional(whole()),
    max_attempts: optional(whole()),
    retry_delay_ms: optional(whole()),
    next_attempt_at: optional(time()),
    completed_at: optional(time()),
    discarded_at: optional(time()),
    cancelled_at: optional(time()),
    error: optional(JobError),
    job: Job,
  }),
)

type Reported = Value<typeof ReportReply>

export const ReportBatchReply = named(
  'ReportBatchReply',
  object({
    results: list(oneOf([ReportReply, ErrorReply]), 'In the order of the reports.'),
    count: whole(),
    succeeded: whole(),
    failed: whole(),
  }),
)

export const Heartbeat = named(
  'Heartbeat',
  object({
    worker_id: WORKER_ID,
    active_jobs: optional(
      oneOf(
        [list(uuid()), whole()],
        'Ids of the active jobs, whose leases are renewed; or only their number, with active_job_ids.',
      ),
    ),
    active_job_ids: optional(list(uuid())),
    state: optional(text('running, quiet, drain …')),
    visibility_timeout_ms: optional(whole()),
    hostname: optional(text()),
    pid: optional(whole()),
    queues: optional(list(text())),
    concurrency: optional(whole()),
    build: optional(text('The build of its program, such as a version or a commit.')),
  }),
)

export const HeartbeatReply = named(
  'HeartbeatReply',
  object({
    state: word(['running', 'quiet', 'terminate'], 'quiet: fetch no more jobs. terminate: stop now.'),
    acknowledged: flag(),
    worker_id: text(),
    jobs_extended: list(uuid(), 'Jobs that it still holds.'),
    server_time: time(),
  }),
)

export function ackWire({ run }: LeaseSettled): Reported {
  const at = run.finishedAt ?? run.runAt
  return {
    acknowledged: true,
    id: run.id,
    job_id: run.id,
    state: jobState(run, at),
    completed_at: timeText(at),
    job: jobWire(run, { now: at }),
  }
}

const OF_THE_JOB = [
  'next_attempt_at',
  'retry_delay_ms',
  'discarded_at',
  'completed_at',
  'cancelled_at',
  'error',
] as const

export function nackWire({ run, retryDelayMs }: LeaseSettled): Reported {
  // Between two attempts the row has the time of the next; the reply is of the moment that set it.
  const at = run.finishedAt ?? run.runAt - (retryDelayMs ?? 0)
  const job = jobWire(run, { now: at, ...(retryDelayMs === null ? {} : { retryDelayMs }) })
  return {
    acknowledged: true,
    id: run.id,
    job_id: run.id,
    state: job.state,
    attempt: startsOf(run),
    max_attempts: run.maxAttempts,
    ...Object.fromEntries(OF_THE_JOB.filter((name) => name in job).map((name) => [name, job[name]])),
    job,
  }
}
