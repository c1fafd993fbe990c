/** Telemetry of a step, or of the undo of a step, from a stored event of its run. */

import { isRunEvent, type RunEventType, type StoredData } from '../../../model/events/events.ts'
import type { RunBrief } from '../../../model/queries/trees.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Json, Net, Node } from '../../../net/net.ts'
import type { EventDraft, TelemetryFacts } from './telemetry.ts'

export function ofRun(facts: TelemetryFacts, data: StoredData): readonly EventDraft[] {
  const { event, run, node } = facts
  if (run === null || node === null || run.item >= 0) return []
  const step = { stepName: node.key, agent: agentOf(node, run) }
  const error = (data['error'] ?? null) as Json
  const onFailure = onFailureOf(facts.net, node)
  const start: EventDraft = ['step_started', step, startOf(event, data, run)]
  const { type } = event
  if (!isRunEvent(type)) return []
  if (run.role === 'undo') return ofUndo(facts, type, step, data)
  switch (type) {
    case 'created':
    case 'redriven':
      return [['step_queued', step]]
    case 'succeeded':
      return [start, ['step_completed', { ...step, durationMs: lasted(event, data, run) }]]
    case 'retried': {
      const about = { error, attempt: data['attempt'] ?? null, retryAt: data['run_at'] ?? null }
      return [start, ['step_retried', { ...step, ...about }]]
    }
    case 'cancelled':
      if (error !== null) break
      // Without an error no worker held it: it had not begun, or waited for its next attempt.
      return run.firstStartedAt === null ? [] : [['step_failed', { ...step, error: STOPPED, onFailure }]]
    case 'failed':
      // To be repeated by policy: a failed step stays failed, so this one has not failed yet.
      if (data['rerun'] === true) return [start, again(step, error)]
      // It timed out while it waited for its next attempt.
      if (betweenTries(data, run)) return [['step_failed', { ...step, error, onFailure }]]
      // Forbidden by governance, and approval is pending: it has not failed yet.
      if (node.appeal !== undefined && (error as Failure | null)?.category === 'governance') return [start]
      break
    case 'leased':
    case 'started':
    case 'heartbeat':
    case 'progress':
    case 'returned':
    case 'deferred':
    case 'late_success':
    case 'completion.refused':
    case 'run.activated':
    case 'run.due_now':
    case 'run.prioritized':
    case 'run.deleted':
    case 'run.dismissed':
      return []
    default:
      return type satisfies never
  }
  return [start, ['step_failed', { ...step, error, onFailure }]]
}

const STOPPED = { code: 'cancelled', message: 'the workflow stopped before it was tried again' }

/** The whole step again, by the policy of the workflow. */
export function again(step: { readonly [key: string]: Json }, error: Json): EventDraft {
  return ['step_retried', { ...step, error, attempt: null, retryAt: null }]
}

/** true: it has begun before, and no execution ends with this line. */
function betweenTries(data: StoredData, { startedAt, firstStartedAt }: RunBrief): boolean {
  const held = data['started_at'] ?? data['leased_at'] ?? startedAt
  return held === null && firstStartedAt !== null
}

function ofUndo(
  { event, run }: TelemetryFacts,
  type: RunEventType,
  step: { readonly [key: string]: Json },
  data: StoredData,
): readonly EventDraft[] {
  const error = data['error'] ?? null
  switch (type) {
    case 'succeeded':
      return [['step_compensated', { ...step, durationMs: lasted(event, data, run as RunBrief) }]]
    case 'retried': {
      const about = { error, attempt: data['attempt'] ?? null, retryAt: data['run_at'] ?? null }
      return [['step_retried', { ...step, ...about }]]
    }
    case 'cancelled':
      return error === null ? [] : [['step_compensation_failed', { ...step, error }]]
    case 'failed':
      return [['step_compensation_failed', { ...step, error }]]
    case 'created':
    case 'redriven':
    case 'leased':
    case 'started':
    case 'heartbeat':
    case 'progress':
    case 'returned':
    case 'deferred':
    case 'late_success':
    case 'completion.refused':
    case 'run.activated':
    case 'run.due_now':
    case 'run.prioritized':
    case 'run.deleted':
    case 'run.dismissed':
      return []
  }
}

/** The agent of the step; if only a type is given, the worker that took it. */
function agentOf(node: Node, run: RunBrief): string {
  const work = run.role === 'undo' ? node.undo?.work : node.work
  const args = work?.kind === 'run' ? work.args : null
  const agent = (args as { readonly agent?: Json } | null)?.agent
  return typeof agent === 'string' ? agent : run.type
}

/**
 * When the execution that this line ends began. The line has it if the lease was held by a session. For other leases
 * the run has the first start, and the last one once it has ended.
 */
function startOf(event: StoredEvent, data: StoredData, run: RunBrief): number {
  const recorded = data['started_at'] ?? data['leased_at']
  if (typeof recorded === 'string') return Date.parse(recorded)
  const known = event.type === 'retried' ? (data['attempt'] === 1 ? run.firstStartedAt : null) : run.startedAt
  return known ?? event.at
}

function lasted(event: StoredEvent, data: StoredData, run: RunBrief): number {
  const recorded = typeof data['started_at'] === 'string' ? Date.parse(data['started_at']) : null
  return Math.max(0, event.at - (run.firstStartedAt ?? recorded ?? event.at))
}

export function onFailureOf(net: Net, node: Node): string {
  return node.onFailure === 'net' ? net.onFailure : node.onFailure
}
