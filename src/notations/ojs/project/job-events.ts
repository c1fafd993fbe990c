/** Events of a job, and of the workflow it belongs to, from a stored line about its run. */

import { isTooDeep } from '../../../kernel/json-limits.ts'
import { unscopedName } from '../../../kernel/scoped-names.ts'
import { isRunEvent, type StoredData } from '../../../model/events/events.ts'
import type { RunBrief } from '../../../model/queries/trees.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import { HELD_AT } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { keptMeta } from './envelope.ts'
import type { DraftEvent, EventData, Subjects, Workflow } from './events.ts'
import { errorObject } from './failures.ts'
import { timeText } from './time.ts'
import { placeEvent } from './workflow-events.ts'

/** The parts of a line that do not depend on its type. */
interface Line {
  readonly event: StoredEvent
  readonly data: StoredData
  readonly run: RunBrief
  readonly workflow: Workflow | null
  readonly attempt: number
  readonly startedAt: number | null
  readonly error: ReturnType<typeof errorObject> | undefined
  readonly job: (type: string, more?: EventData) => DraftEvent
}

export function jobEvents(
  subjects: Subjects,
  event: StoredEvent,
  data: StoredData,
  run: RunBrief,
): readonly DraftEvent[] {
  const { type } = event
  if (!isRunEvent(type)) return []
  const line = lineOf(subjects, event, data, run)
  const { job, attempt, error } = line
  switch (type) {
    case 'created':
      return [...entered(event, data, job), ...callbackFired(line.workflow, run)]
    case 'redriven':
      return [job('job.enqueued', { redriven: true })]
    case 'leased':
      return begun(line, event.at)
    case 'started':
      // The claim of a foreign client has two lines; the first, the lease, has the attempt.
      return data['attempt'] === undefined ? [] : begun(line, line.startedAt ?? event.at)
    case 'succeeded':
      return succeeded(line)
    case 'retried':
      return retried(line)
    case 'failed':
      return failed(line)
    case 'cancelled':
      return cancelled(line)
    case 'returned':
      return error === undefined ? [] : [...started(line), job('job.enqueued', { requeued: true, error })]
    case 'run.activated':
      return [job('job.enqueued', { activated: true })]
    case 'progress':
      return [job('job.progress', data as EventData)]
    case 'heartbeat':
      return [job('job.heartbeat', { attempt, worker_id: data['leased_by'] ?? unscopedName(run.leasedBy) })]
    case 'deferred':
    case 'late_success':
    case 'completion.refused':
    case 'run.due_now':
    case 'run.prioritized':
    case 'run.deleted':
    case 'run.dismissed':
      return []
  }
}

function lineOf(subjects: Subjects, event: StoredEvent, data: StoredData, run: RunBrief): Line {
  const about: EventData = { job_id: run.id, job_type: run.type, queue: run.queue, ...belonging(subjects, run) }
  return {
    event,
    data,
    run,
    workflow: subjects.workflow(run.instanceId),
    attempt: attemptOf(event, data, run),
    startedAt: moment(data['started_at']),
    error: data['error'] === undefined ? undefined : errorObject(data['error'] as unknown as Failure),
    job: (type, more = {}) => ({ type, data: { ...about, ...more } }),
  }
}

/** The line of an end may be the first to record the start. */
function started(line: Line): readonly DraftEvent[] {
  return line.startedAt === null ? [] : begun(line, line.startedAt)
}

function begun({ event, data, run, attempt, job }: Line, at: number): readonly DraftEvent[] {
  const worker = data['leased_by'] ?? data['worker_id'] ?? unscopedName(run.leasedBy)
  const start = { ...job('job.started', { worker_id: worker, attempt }), at: Math.min(at, event.at) }
  return [...becameDue(run, attempt, job), start]
}

function succeeded(line: Line): readonly DraftEvent[] {
  const { run, workflow, attempt, job } = line
  const lasted = durationOf(line)
  return [
    ...started(line),
    job('job.completed', { attempt, ...lasted, ...resultOf(run) }),
    ...placeOf(workflow, run, true, lasted),
  ]
}

function retried(line: Line): readonly DraftEvent[] {
  const { data, attempt, error = null, job } = line
  return [
    ...started(line),
    job('job.failed', { attempt, error, ...durationOf(line) }),
    job('job.retrying', { attempt, error, next_attempt_at: data['run_at'] ?? null }),
  ]
}

function failed(line: Line): readonly DraftEvent[] {
  const { run, workflow, attempt, error = null, job } = line
  const lasted = durationOf(line)
  const expiresAt = run.expiresAt === null ? null : timeText(run.expiresAt)
  return [
    ...started(line),
    error?.code === 'expired'
      ? job('job.expired', { expires_at: expiresAt })
      : job('job.failed', { attempt, error, ...lasted }),
    job('job.discarded', { total_attempts: attempt, last_error: error, dead_letter: run.deadLetter }),
    ...placeOf(workflow, run, false, { error, attempt, ...lasted }),
  ]
}

function cancelled(line: Line): readonly DraftEvent[] {
  const { event, run, workflow, attempt, error, job } = line
  return [
    ...started(line),
    job('job.cancelled', { ...(event.actor === null ? {} : { actor: event.actor }) }),
    // A job that was cancelled with its workflow has no error and is not a failure of the workflow.
    ...(error === undefined ? [] : placeOf(workflow, run, false, { error, attempt })),
  ]
}

/** By reference if it is too large, or too deep to be written. */
function resultOf(run: RunBrief): EventData {
  const elsewhere = run.omitted || (run.result !== null && isTooDeep(run.result))
  if (elsewhere) return { result_ref: `/ojs/v1/jobs/${run.id}` }
  return { result: run.result === null ? null : (JSON.parse(run.result) as Json) }
}

/** Counted from the first start. The line of a foreign client's lease counts failures. */
function attemptOf(event: StoredEvent, data: StoredData, run: RunBrief): number {
  if (typeof data['attempt'] !== 'number') return run.attempt + 1
  return event.type === 'leased' ? data['attempt'] + 1 : data['attempt']
}

function belonging(subjects: Subjects, run: RunBrief): EventData {
  const own = subjects.workflow(run.instanceId)
  return own === null ? {} : { workflow_id: own.id }
}

/** A job for later is scheduled now and enqueued when it is due; a held job is enqueued when it is activated. */
function entered(
  event: StoredEvent,
  data: StoredData,
  job: (type: string, more?: EventData) => DraftEvent,
): readonly DraftEvent[] {
  const due = moment(data['run_at'])
  if (due === null || due <= event.at) return [job('job.enqueued')]
  return due >= HELD_AT ? [] : [job('job.scheduled', { scheduled_at: timeText(due) })]
}

/** Nothing is stored when a scheduled job becomes due: the event is sent with its first start. */
function becameDue(
  run: RunBrief,
  attempt: number,
  job: (type: string, more?: EventData) => DraftEvent,
): readonly DraftEvent[] {
  const due = attempt === 1 ? moment(keptMeta(run.meta).envelope.scheduledAt) : null
  return due === null || due <= run.createdAt ? [] : [{ ...job('job.enqueued'), at: due }]
}

function callbackFired(workflow: Workflow | null, run: RunBrief): readonly DraftEvent[] {
  if (workflow === null || run.role !== 'final') return []
  const data = { callback: run.node, callback_type: run.node, job_type: run.type, job_id: run.id }
  return [{ type: 'workflow.callback_fired', workflow, data }]
}

function placeOf(workflow: Workflow | null, run: RunBrief, ok: boolean, more: EventData): readonly DraftEvent[] {
  if (workflow === null || run.role !== 'work') return []
  return [
    placeEvent({ workflow, node: run.node, item: run.item, ok, type: run.type, data: { job_id: run.id, ...more } }),
  ]
}

function durationOf({ run, event: { at }, startedAt }: Line): EventData {
  const from = startedAt ?? run.startedAt
  return from === null || from > at ? { duration_ms: 0 } : { duration_ms: at - from }
}

function moment(value: Json | undefined): number | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : at
}
