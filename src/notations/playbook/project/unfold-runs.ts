/** Events of a step, or of an iteration of a loop, from a line about its run. */

import { isRunEvent, type StoredData } from '../../../model/events/events.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { isResumed, notesIn, omittedIn, taskEvents } from './notes.ts'
import type { Emit, EventFields, Log, LogRun } from './unfold.ts'

export function stepRunOf(step: string, fire: number): string {
  return `${step}#${fire}`
}

/** The event types of a step, or of one item of a loop. */
export const OF_STEP = {
  scheduled: 'step.scheduled',
  started: 'step.started',
  retried: 'step.retried',
  done: 'step.done',
  failed: 'step.failed',
} as const
export const OF_ITEM = {
  scheduled: 'loop.iteration.scheduled',
  started: 'loop.iteration.started',
  retried: 'loop.iteration.retried',
  done: 'loop.iteration.done',
  failed: 'loop.iteration.failed',
} as const

export function ofRun(log: Log, line: StoredEvent, data: StoredData, emit: Emit): void {
  const run = line.runId === null ? undefined : log.runs.get(line.runId)
  const step = line.node
  if (run === undefined || step === null) return
  const own = runOwn(run, step)
  const words = run.item < 0 ? OF_STEP : OF_ITEM
  const attempt = attemptAt(line, data, run)
  if (line.type === 'created') {
    const taken = data['taken_over'] === true ? { taken_over: true } : {}
    return emit({ ...own, type: words.scheduled, status: 'in_progress', payload: taken })
  }
  const startedAt = startOf(line, data, run, attempt)
  if (startedAt !== null && !isResumed(data)) {
    const by = data['leased_by']
    emit(started(run, step, { attempt, at: startedAt, payload: typeof by === 'string' ? { worker: by } : {} }))
  }
  taskEvents({ notes: notesIn(data), own, emit })
  const error = data['error'] as unknown as Failure | undefined
  const payload: { [name: string]: Json } = {
    ...(error === undefined ? {} : { error: errorJson(error) }),
    ...(omittedIn(data) === 0 ? {} : { attempts_omitted: omittedIn(data) }),
  }
  const { type } = line
  if (!isRunEvent(type)) return
  switch (type) {
    case 'succeeded':
      return emit({ ...own, type: words.done, status: 'success', attempt, payload })
    case 'failed':
      return emit({ ...own, type: words.failed, status: 'error', attempt, payload })
    case 'cancelled':
      return emit({ ...own, type: words.failed, status: 'skipped', payload: { ...payload, cancelled: true } })
    case 'retried':
      return emit({
        ...own,
        type: words.retried,
        status: 'error',
        attempt,
        payload: { ...payload, ...(data['run_at'] === undefined ? {} : { run_at: data['run_at'] as Json }) },
      })
    case 'created':
    case 'leased':
    case 'started':
    case 'heartbeat':
    case 'progress':
    case 'returned':
    case 'deferred':
    case 'redriven':
    case 'late_success':
    case 'completion.refused':
    case 'run.activated':
    case 'run.due_now':
    case 'run.prioritized':
    case 'run.deleted':
    case 'run.dismissed':
      return
    default:
      return type satisfies never
  }
}

/** The start of a run in progress, with an id that stays when the log contains it later. */
export function started(
  run: Pick<LogRun, 'id' | 'fire' | 'item'>,
  step: string,
  how: { readonly attempt: number; readonly at: number; readonly payload: { readonly [name: string]: Json } },
): EventFields {
  const type = (run.item < 0 ? OF_STEP : OF_ITEM).started
  return { ...runOwn(run, step), ...how, type, status: 'in_progress', source: 'worker', id: `${run.id}.${how.attempt}` }
}

function runOwn(run: Pick<LogRun, 'id' | 'fire' | 'item'>, step: string) {
  const own = { step, stepRun: stepRunOf(step, run.fire), run: run.id }
  return run.item < 0 ? own : { ...own, iteration: run.item }
}

/**
 * The line has the time, unless the lease was one of its own: then the row has it. A run that was only handed back
 * never began.
 */
function startOf(line: StoredEvent, data: StoredData, run: LogRun, attempt: number): number | null {
  if (typeof data['started_at'] === 'string') return Date.parse(data['started_at'])
  if (!['succeeded', 'failed', 'retried', 'cancelled'].includes(line.type)) return null
  const at = attempt === 1 ? run.firstStartedAt : run.startedAt
  return at === null ? null : Math.min(at, line.at)
}

/** The execution that this line ends; failures are counted after it, a success is not one of them. */
function attemptAt(line: StoredEvent, data: StoredData, run: LogRun): number {
  const counted = data['attempt']
  if (line.type === 'retried' || line.type === 'failed') return Math.max(1, Number(counted ?? run.attempt))
  return run.attempt + 1
}

function errorJson({ code, message, category, retryable, details }: Failure): Json {
  return {
    code,
    message,
    ...(category === undefined ? {} : { category }),
    ...(retryable === undefined ? {} : { retryable }),
    ...(details === undefined ? {} : { details }),
  }
}
