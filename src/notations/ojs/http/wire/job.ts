/** A run as the job it is on the wire: options flat beside the rest, what has not happened yet left out. */

import { readStored } from '../../../../kernel/json-limits.ts'
import { unscopedName } from '../../../../kernel/scoped-names.ts'
import { retriedRun } from '../../../../model/retried-runs.ts'
import type { RunRow } from '../../../../model/rows.ts'
import type { Failure } from '../../../../net/marking.ts'
import type { Json } from '../../../../net/net.ts'
import type { Retry } from '../../../../net/retry/retry.ts'
import {
  anything,
  flag,
  list,
  named,
  number,
  object,
  optional,
  text,
  time,
  uuid,
  type Value,
  whole,
  word,
} from '../../../../wire/schema.ts'
import { UNNAMED } from '../../compile/names.ts'
import { retryWire } from '../../compile/retry.ts'
import { type Envelope, keptMeta } from '../../project/envelope.ts'
import { errorObject } from '../../project/failures.ts'
import type { JobWorkflow as JobPlace } from '../../project/results.ts'
import { JOB_STATES, type JobState, jobState, startsOf } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import { Checkpoint, type CheckpointWire } from './checkpoint.ts'
import { RetryPolicy, UniquePolicy } from './job-request.ts'

const ANY_OBJECT = anything({ type: 'object' })

const JobWorkflow = named(
  'JobWorkflow',
  object({
    id: text(),
    root_id: text('The outermost workflow.'),
    type: text({ description: 'chain, group or batch; of another notation its name.' }),
    name: optional(text()),
    step_index: optional(whole('Of a chain.')),
    job_index: optional(whole('Of a group or batch.')),
    callback: optional(text('Of a callback: its kind.')),
    parent_results: optional(
      anything({ type: 'object', description: 'The same results keyed by position: `{"0": …}`.' }),
    ),
    outer_results: optional(anything({ type: 'object', description: 'Results of the enclosing workflow.' })),
    results_truncated: optional(flag('Some results are missing.')),
  }),
)

/** As a nack may send it, and as a job shows it. */
export const JobError = named(
  'JobError',
  object({
    attempt: optional(whole()),
    code: text('The kind of failure: handler_error, timeout, visibility_timeout …'),
    type: optional(text('The class of the error; retry policies match it.')),
    message: text(),
    category: optional(text('transient, agent, timeout, validation, external or governance; policies may name them.')),
    retryable: optional(flag()),
    details: optional(anything('Details added by the worker.')),
    occurred_at: optional(time()),
  }),
)

/** Of a failed attempt. */
type JobErrorWire = Value<typeof JobError>

const TIMES = {
  scheduled_at: optional(time()),
  expires_at: optional(time()),
  created_at: time(),
  enqueued_at: optional(time()),
  started_at: optional(time()),
  next_attempt_at: optional(time()),
  completed_at: optional(time()),
  cancelled_at: optional(time()),
  discarded_at: optional(time()),
}

export const JOB_FIELDS = {
  specversion: text(),
  id: uuid(),
  type: text(),
  state: word(JOB_STATES),
  queue: text(),
  args: list(anything('Any JSON.')),
  meta: ANY_OBJECT,
  priority: whole(),
  attempt: whole('Starts so far; 0 until it is first fetched.'),
  max_attempts: optional(whole()),
  timeout_ms: optional(whole()),
  timeout: optional(whole('The same.')),
  grace_period_ms: optional(whole('From the end of `timeout_ms` until the attempt fails.')),
  grace_period: optional(number('The same in seconds.')),
  visibility_timeout_ms: optional(whole()),
  tags: optional(list(text())),
  retry: optional(RetryPolicy),
  unique: optional(UniquePolicy),
  rate_limit: optional(ANY_OBJECT),
  metadata: optional(ANY_OBJECT),
  options: optional(anything({ type: 'object', description: 'Options unknown to this server.' })),
  ...TIMES,
  result: optional(anything('The result returned by the worker.')),
  error: optional(JobError),
  errors: optional(list(JobError, 'Failed attempts, oldest first.')),
  retry_delay_ms: optional(whole()),
  worker_id: optional(text('The worker that holds it, while it is active.')),
  workflow_id: optional(text('The workflow it belongs to.')),
  workflow_step: optional(whole()),
  parent_results: optional(list(anything('A result, or null.'), 'Results of earlier steps, by position.')),
  workflow: optional(JobWorkflow),
  retry_of: optional(text('The job of which this is a retry.')),
  checkpoint: optional(Checkpoint),
  tenant: optional(text()),
  initiator: optional(text('The producer.')),
}

const ABSENT = 'Fields that do not apply yet are missing.'

export const Job = named('Job', object(JOB_FIELDS, ABSENT))

/** With the attributes that this server does not know. */
export type JobWire = Value<typeof Job> & { readonly [attribute: string]: unknown }

export const JobReply = named('JobReply', object({ job: Job }))

const OUTCOME = { job: Job, id: uuid(), state: word(JOB_STATES) }

export const JobEnqueued = named(
  'JobEnqueued',
  object({ ...OUTCOME, deduplicated: optional(flag('true: an equal job existed already, and this is it.')) }),
)

export const JobBatchReply = object({ jobs: list(Job), count: whole() })

const PREVIOUS = word(JOB_STATES, 'Before this.')

export const JobCancelled = object({ job: object({ ...JOB_FIELDS, previous_state: PREVIOUS }, ABSENT) })

export const JobActivated = object({
  job: object({ ...JOB_FIELDS, previous_state: PREVIOUS, activated_at: time() }, ABSENT),
})

type Part = Partial<Value<typeof Job>>

export interface JobExtras {
  readonly now: number
  /** Failed executions since it was enqueued (or taken back out of the dead letters), oldest first. */
  readonly failures?: readonly JobFailure[]
  readonly workflow?: JobPlace
  readonly checkpoint?: CheckpointWire
  /** Given where the failure was just reported; else taken from the last of `failures`. */
  readonly retryDelayMs?: number | null
}

export interface JobFailure {
  /** Which start it was, from 1. */
  readonly attempt: number
  readonly error: Failure
  readonly at: number
  /** How long it waited for the next start; null: there was none to come. */
  readonly retryDelayMs: number | null
}

export function jobWire(run: RunRow, extras: JobExtras): JobWire {
  const { meta, envelope, initiator, graceMs } = keptMeta(run.meta)
  const state = jobState(run, extras.now)
  const { checkpoint, workflow } = extras
  const retried = retriedRun(run.meta)
  const worker = unscopedName(run.leasedBy)
  return {
    // first, so that no extension can replace a field of the server
    ...envelope.rest,
    specversion: '1.0',
    id: run.id,
    type: run.type,
    state,
    queue: run.queue,
    args: argsOf(run),
    // the owner of the job counts, whatever the client's own meta contains
    meta: run.tenant === null ? meta : { ...meta, tenant_id: run.tenant },
    priority: 100 - run.priority,
    attempt: startsOf(run),
    max_attempts: run.maxAttempts,
    ...timeoutWire(run, graceMs),
    ...optionsWire(run, envelope),
    ...timesWire(run, envelope, state),
    ...outcomeWire(run, extras, state),
    ...(run.status === 'leased' && worker !== null && worker !== UNNAMED ? { worker_id: worker } : {}),
    ...(run.tenant === null ? {} : { tenant: run.tenant }),
    ...(initiator === null ? {} : { initiator }),
    ...(retried === null ? {} : { retry_of: retried.run }),
    ...(workflow === undefined ? {} : workflowFields(workflow)),
    ...(checkpoint === undefined ? {} : { checkpoint }),
  }
}

/** A run made by the SDK may hold any JSON: it is the one argument then. */
function argsOf(run: RunRow): readonly Json[] {
  const payload = readStored(run.payload)
  return Array.isArray(payload) ? (payload as readonly Json[]) : [payload]
}

/** `timeout` in milliseconds too: the official client aborts after job.timeout milliseconds. */
function timeoutWire({ timeoutMs }: RunRow, graceMs: number): Part {
  if (timeoutMs === null) return {}
  const soft = timeoutMs - graceMs
  const grace = graceMs === 0 ? {} : { grace_period_ms: graceMs, grace_period: graceMs / 1000 }
  return { timeout_ms: soft, timeout: soft, ...grace }
}

function optionsWire(run: RunRow, envelope: Envelope): Part {
  const retry = run.retry === null ? envelope.retry : retryWire(JSON.parse(run.retry) as Retry)
  return {
    ...(envelope.tags === undefined ? {} : { tags: [...envelope.tags] }),
    ...(retry === undefined ? {} : { retry: retry as Value<typeof RetryPolicy> }),
    ...(envelope.unique === undefined ? {} : { unique: envelope.unique as Value<typeof UniquePolicy> }),
    ...(envelope.rateLimit === undefined ? {} : { rate_limit: envelope.rateLimit }),
    ...(envelope.visibilityTimeoutMs === undefined ? {} : { visibility_timeout_ms: envelope.visibilityTimeoutMs }),
    ...metadataWire(run, envelope),
    ...(envelope.options === undefined ? {} : { options: envelope.options }),
  }
}

function metadataWire(run: RunRow, { metadata, cron }: Envelope): Part {
  if (cron === undefined) return metadata === undefined ? {} : { metadata }
  const given = metadata !== null && typeof metadata === 'object' && !Array.isArray(metadata) ? metadata : {}
  return { metadata: { ...given, cron_name: cron, cron_triggered_at: timeText(run.createdAt) } }
}

function timesWire(run: RunRow, envelope: Envelope, state: JobState) {
  const scheduledAt = scheduledText(run, envelope, state)
  const started = startsOf(run) === 0 ? null : (run.startedAt ?? run.firstStartedAt)
  const ended = run.finishedAt === null ? null : timeText(run.finishedAt)
  return {
    ...(scheduledAt === null ? {} : { scheduled_at: scheduledAt }),
    ...(run.expiresAt === null ? {} : { expires_at: envelope.expiresAt ?? timeText(run.expiresAt) }),
    created_at: timeText(run.createdAt),
    ...(state === 'scheduled' || state === 'pending'
      ? {}
      : { enqueued_at: timeText(availableSince(run, scheduledAt)) }),
    ...(started === null ? {} : { started_at: timeText(started) }),
    ...(state === 'retryable' ? { next_attempt_at: timeText(run.runAt) } : {}),
    ...(ended !== null && (state === 'completed' || (state === 'discarded' && !isExpired(run)))
      ? { completed_at: ended }
      : {}),
    ...(ended !== null && state === 'discarded' ? { discarded_at: ended } : {}),
    ...(ended !== null && state === 'cancelled' ? { cancelled_at: ended } : {}),
  }
}

/** The client's own text, unless the job was moved to another time before its first start. */
function scheduledText(run: RunRow, envelope: Envelope, state: JobState): string | null {
  if (state !== 'scheduled') return envelope.scheduledAt ?? null
  const text = envelope.scheduledAt
  return text !== undefined && Date.parse(text) === run.runAt ? text : timeText(run.runAt)
}

/** When it could first have been fetched. After a failure the row has the time of the next start instead. */
function availableSince(run: RunRow, scheduledAt: string | null): number {
  const due =
    run.attempt === 0 && run.status !== 'cancelled' ? run.runAt : scheduledAt === null ? 0 : Date.parse(scheduledAt)
  return Math.max(run.createdAt, due)
}

/** Never started: it has a time of being discarded, but none of being done. */
function isExpired(run: RunRow): boolean {
  return run.error !== null && (JSON.parse(run.error) as Failure).code === 'expired'
}

function outcomeWire(run: RunRow, extras: JobExtras, state: JobState): Part {
  const failures = extras.failures ?? []
  const last = failures.at(-1)
  const delay = extras.retryDelayMs ?? last?.retryDelayMs ?? null
  const failed = state === 'discarded' || (run.attempt > 0 && state !== 'completed' && state !== 'cancelled')
  const error = failed ? lastError(run, last) : null
  return {
    ...(state === 'completed' && run.result !== null ? { result: readStored(run.result) } : {}),
    ...(error === null ? {} : { error }),
    ...(failures.length === 0 ? {} : { errors: failures.map(errorWire) }),
    ...(delay === null ? {} : { retry_delay_ms: delay }),
  }
}

function lastError(run: RunRow, last: JobFailure | undefined): JobErrorWire | null {
  if (last !== undefined && run.status !== 'failed') return errorWire(last)
  if (run.error === null)
    return run.lastError === null ? null : errorObject({ code: 'handler_error', message: run.lastError })
  const error = readStored(run.error) as unknown as Failure
  return last === undefined || last.error.message !== error.message ? errorObject(error) : errorWire(last)
}

function errorWire(failure: JobFailure): JobErrorWire & { readonly timestamp: string } {
  const at = timeText(failure.at)
  return { attempt: failure.attempt, ...errorObject(failure.error), occurred_at: at, timestamp: at }
}

function workflowFields(part: JobPlace): Part {
  return {
    workflow_id: part.workflowId,
    ...(part.workflowStep === null ? {} : { workflow_step: part.workflowStep }),
    ...(part.parentResults === null ? {} : { parent_results: [...part.parentResults] }),
    workflow: part.workflow as Value<typeof JobWorkflow>,
  }
}
