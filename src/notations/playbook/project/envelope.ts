/**
 * The event log of an execution in the notation's own terms. Every event comes from a line of the history, or from a
 * note that a worker sent with it: reading again gives the same events, under the same ids, in the same order.
 */
import type { Json } from '../../../net/net.ts'
import type { LogPlace } from '../../interface/events.ts'

export const EVENT_TYPES = [
  'playbook.execution.requested',
  'playbook.started',
  'playbook.paused',
  'playbook.resumed',
  'playbook.finished',
  'workflow.started',
  'workflow.finished',
  'step.scheduled',
  'step.started',
  'step.retried',
  'step.done',
  'step.failed',
  'task.started',
  'task.attempt.started',
  'task.attempt.done',
  'task.attempt.failed',
  'task.done',
  'task.failed',
  'loop.started',
  'loop.iteration.scheduled',
  'loop.iteration.started',
  'loop.iteration.retried',
  'loop.iteration.done',
  'loop.iteration.failed',
  'loop.done',
  'policy.admit.evaluated',
  'policy.task.evaluated',
  'next.evaluated',
  'ctx.updated',
] as const

export type ExecutionEventType = (typeof EVENT_TYPES)[number]

export type EventStatus = 'in_progress' | 'success' | 'error' | 'skipped' | 'paused'

export interface ExecutionEvent {
  /** Unique in its execution. */
  readonly event_id: string
  readonly event_type: ExecutionEventType
  readonly timestamp: string
  readonly execution_id: string
  readonly source: 'server' | 'worker'
  readonly entity_type: 'playbook' | 'workflow' | 'step' | 'loop' | 'iteration' | 'task'
  readonly entity_id: string
  readonly parent_id: string | null
  /** The sequence number of its line of the history: grows, but several events may share one. */
  readonly seq: number
  readonly step: string | null
  /** One firing of a step: all its iterations and attempts. */
  readonly step_run_id: string | null
  readonly task_run_id: string | null
  /** The run that a worker executed. */
  readonly run_id: string | null
  readonly iteration: number | null
  /** From 1. */
  readonly attempt: number | null
  readonly status: EventStatus
  readonly payload: { readonly [name: string]: Json }
}

export function eventId({ seq, n }: LogPlace): string {
  return `${seq}.${n}`
}

export function isBehind(place: LogPlace, other: LogPlace): boolean {
  return place.seq > other.seq || (place.seq === other.seq && place.n > other.n)
}
