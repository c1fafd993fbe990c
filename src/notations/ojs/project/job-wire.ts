/** A run as the job it is on the wire: options flat beside the rest, what has not happened yet left out. */

import { readStored } from '../../../kernel/json-limits.ts'
import { unscopedName } from '../../../kernel/scoped-names.ts'
import { retriedRun } from '../../../model/retried-runs.ts'
import type { RunRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Json, Retry } from '../../../net/net.ts'
import { UNNAMED } from '../compile/names.ts'
import { retryWire } from '../compile/retry.ts'
import { type Envelope, type JsonObject, keptMeta } from './envelope.ts'
import { type JobState, jobState, startsOf } from './state.ts'
import { timeText } from './time.ts'

export interface JobExtras {
  readonly now: number
  /** Failed executions since it was enqueued (or taken back out of the dead letters), oldest first. */
  readonly failures?: readonly JobFailure[]
  readonly workflow?: JobWorkflow
  readonly checkpoint?: Json
  /** Known to whoever just reported the failure; else taken from the last of `failures`. */
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

/** What a job knows of its workflow. */
export interface JobWorkflow {
  readonly workflowId: string
  /** null: a callback. */
  readonly workflowStep: number | null
  /** null: not read, because nobody is about to execute it. */
  readonly parentResults: readonly Json[] | null
  readonly workflow: JsonObject
}

export function jobWire(run: RunRow, extras: JobExtras): JsonObject {
  const { meta, envelope, initiator, graceMs } = keptMeta(run.meta)
  const state = jobState(run, extras.now)
  const { checkpoint, workflow } = extras
  const retried = retriedRun(run.meta)
  const worker = unscopedName(run.leasedBy)
  return {
    // first, so that no extension can stand in the place of what the server says
    ...envelope.rest,
    specversion: '1.0',
    id: run.id,
    type: run.type,
    state,
    queue: run.queue,
    args: argsOf(run),
    // whose job it is counts, whatever the client's own meta says of it
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
function argsOf(run: RunRow): Json {
  const payload = readStored(run.payload)
  return Array.isArray(payload) ? payload : [payload]
}

/** `timeout` in milliseconds too: the official client aborts after job.timeout milliseconds. */
function timeoutWire({ timeoutMs }: RunRow, graceMs: number): JsonObject {
  if (timeoutMs === null) return {}
  const soft = timeoutMs - graceMs
  const grace = graceMs === 0 ? {} : { grace_period_ms: graceMs, grace_period: graceMs / 1000 }
  return { timeout_ms: soft, timeout: soft, ...grace }
}

function optionsWire(run: RunRow, envelope: Envelope): JsonObject {
  const retry = run.retry === null ? envelope.retry : retryWire(JSON.parse(run.retry) as Retry)
  return {
    ...(envelope.tags === undefined ? {} : { tags: [...envelope.tags] }),
    ...(retry === undefined ? {} : { retry }),
    ...(envelope.unique === undefined ? {} : { unique: envelope.unique }),
    ...(envelope.rateLimit === undefined ? {} : { rate_limit: envelope.rateLimit }),
    ...(envelope.visibilityTimeoutMs === undefined ? {} : { visibility_timeout_ms: envelope.visibilityTimeoutMs }),
    ...metadataWire(run, envelope),
    ...(envelope.options === undefined ? {} : { options: envelope.options }),
  }
}

function metadataWire(run: RunRow, { metadata, cron }: Envelope): JsonObject {
  if (cron === undefined) return metadata === undefined ? {} : { metadata }
  const given = metadata !== null && typeof metadata === 'object' && !Array.isArray(metadata) ? metadata : {}
  return { metadata: { ...given, cron_name: cron, cron_triggered_at: timeText(run.createdAt) } }
}

function timesWire(run: RunRow, envelope: Envelope, state: JobState): JsonObject {
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

/** When it could first have been fetched. After a failure the row tells the time of the next start instead. */
function availableSince(run: RunRow, scheduledAt: string | null): number {
  const due =
    run.attempt === 0 && run.status !== 'cancelled' ? run.runAt : scheduledAt === null ? 0 : Date.parse(scheduledAt)
  return Math.max(run.createdAt, due)
}

/** Never started: it has a time of being discarded, but none of being done. */
function isExpired(run: RunRow): boolean {
  return run.error !== null && (JSON.parse(run.error) as Failure).code === 'expired'
}

function outcomeWire(run: RunRow, extras: JobExtras, state: JobState): JsonObject {
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

function lastError(run: RunRow, last: JobFailure | undefined): Json | null {
  if (last !== undefined && run.status !== 'failed') return errorWire(last)
  if (run.error === null)
    return run.lastError === null ? null : errorObject({ code: 'handler_error', message: run.lastError })
  const error = readStored(run.error) as unknown as Failure
  return last === undefined || last.error.message !== error.message ? errorObject(error) : errorWire(last)
}

export function errorWire(failure: JobFailure): JsonObject {
  const at = timeText(failure.at)
  return { attempt: failure.attempt, ...errorObject(failure.error), occurred_at: at, timestamp: at }
}

/** What happens to leases that are not OJS's own, in OJS's words. */
const WORDS: { readonly [code: string]: string } = { lease_expired: 'visibility_timeout', worker_lost: 'worker_death' }

export function errorCode(error: Failure): string {
  return WORDS[error.code] ?? error.code
}

/** `code` says what kind of failure, `type` which error: clients match either. */
export function errorObject(error: Failure): JsonObject {
  const code = errorCode(error)
  const { details } = error
  const named = details !== null && typeof details === 'object' && !Array.isArray(details) ? details : {}
  const errorClass = (named as JsonObject)['error_class']
  return {
    code,
    type: error.type ?? (typeof errorClass === 'string' ? errorClass : code),
    message: error.message,
    ...(error.category === undefined ? {} : { category: error.category }),
    retryable: error.retryable ?? true,
    ...(details === undefined ? {} : { details }),
  }
}

function workflowFields(part: JobWorkflow): JsonObject {
  return {
    workflow_id: part.workflowId,
    ...(part.workflowStep === null ? {} : { workflow_step: part.workflowStep }),
    ...(part.parentResults === null ? {} : { parent_results: [...part.parentResults] }),
    workflow: part.workflow,
  }
}
