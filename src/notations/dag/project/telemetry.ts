/**
 * The history of workflows of steps as telemetry: `<domain>.workflow_started` and so on, with the payloads that the
 * schemas of the notation require. Derived from the stored events, so every reader gets the same.
 *
 * Names of the notation: started, step_completed, step_failed, completed, failed, compensating. Additional names, so
 * that every change of state has an event: idle, queued, blocked, resumed, step_queued, step_started, step_blocked,
 * step_retried, step_skipped, step_compensated, step_compensation_failed.
 *
 * A line gives one event for each change of state it records. To save writes, the line that ends an execution of a
 * step also records its start, and the creation of a workflow that need not wait also records idle and queued.
 */

import { isInstanceEvent, isNodeEvent, type StoredData } from '../../../model/events/events.ts'
import type { RunBrief } from '../../../model/queries/trees.ts'
import type { GateRow, InstanceRow, StoredEvent } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Json, Net, Node } from '../../../net/net.ts'
import type { Cost } from './cost.ts'
import { again, ofRun, onFailureOf } from './telemetry-runs.ts'

/** Shared by all events of one execution: the outermost workflow and everything nested in it. */
export interface Execution {
  readonly domain: string
  readonly domainsInvolved: readonly string[]
  readonly trigger: Json
  readonly correlationId: string
}

/** The rows that the events of one call are made from. */
export interface TelemetryFacts {
  readonly event: StoredEvent
  readonly instance: InstanceRow
  readonly net: Net
  readonly node: Node | null
  readonly execution: Execution
  /** For a run's event. */
  readonly run: RunBrief | null
  /** The latest gate at the event's node. */
  readonly gate: GateRow | null
  /** Of an instance that failed because a gate was rejected: that gate. */
  readonly rejected: GateRow | null
  /** Why it stopped, and why its rollback did; included when it has failed. */
  readonly error: StepFailure | null
  readonly undoError: StepFailure | null
  /** The cost of the whole tree; included when it completes. */
  readonly cost: Cost | null
  /** The steps to undo, the last completed first; included when it compensates. */
  readonly compensationSteps: readonly string[]
}

export type StepFailure = Failure & { readonly node?: string | null }

export interface TelemetryEvent {
  /** The id of its stored line; if it comes before the last event of that line, followed by a dot and its position. */
  readonly id: string
  readonly type: string
  readonly time: string
  readonly correlationId: string
  readonly instanceId: string
  readonly payload: { readonly [key: string]: Json }
}

/** `at`: when it happened, if that was before the line was written. */
export type EventDraft = readonly [name: string, payload: { readonly [key: string]: Json }, at?: number]
/** In the order in which it happened. */
export function telemetryOf(facts: TelemetryFacts): readonly TelemetryEvent[] {
  const { event, instance, execution } = facts
  const data = (event.data === null ? {} : JSON.parse(event.data)) as StoredData
  const drafts = event.runId === null ? ofInstance(facts, data) : ofRun(facts, data)
  const { correlationId } = execution
  return drafts.map(([name, payload, at = event.at], i) => ({
    id: i === drafts.length - 1 ? String(event.id) : `${event.id}.${i + 1}`,
    type: `${execution.domain}.workflow_${name}`,
    time: new Date(Math.min(at, event.at)).toISOString(),
    correlationId,
    instanceId: instance.id,
    payload: { workflowName: instance.name, ...payload, correlationId },
  }))
}

function ofInstance(facts: TelemetryFacts, data: StoredData): readonly EventDraft[] {
  const { event, instance, net, node, execution } = facts
  const error = (data['error'] ?? facts.error) as StepFailure | null
  const policy = { failurePolicy: net.onFailure }
  const failed = { failedStep: error?.node ?? null, error: error as unknown as Json }
  const ended = { totalDurationMs: Math.max(0, event.at - (instance.startedAt ?? instance.createdAt)) }
  const { type } = event
  if (!isInstanceEvent(type)) return node === null ? [] : ofNode(facts, node, data)
  switch (type) {
    case 'instance.created':
      return beganAtOnce(instance)
        ? [['idle', {}], ['queued', { slot: null }], started(instance, execution)]
        : [['idle', {}]]
    case 'instance.queued':
      return [['queued', { slot: data['slot'] ?? null }]]
    case 'instance.dequeued':
      return [started(instance, execution)]
    case 'instance.waiting':
      return [['blocked', {}]]
    case 'instance.resumed':
      return failedByClock(facts) ? [] : [['resumed', {}]]
    case 'instance.draining': {
      const reason = data['reason']
      if (reason !== 'compensate' && !(reason === 'deadline' && net.onFailure === 'compensate')) return []
      return [['compensating', { ...failed, compensationSteps: facts.compensationSteps }]]
    }
    case 'instance.completed':
    case 'instance.compensated': {
      const rolledBack = type === 'instance.compensated'
      const cost = facts.cost as unknown as Json
      return [['completed', { ...ended, stepsCompleted: instance.succeeded, costAccumulated: cost, rolledBack }]]
    }
    case 'instance.failed':
    case 'instance.cancelled': {
      const cancelled = type === 'instance.cancelled'
      const partly = instance.outcome === 'rolled_back_partial'
      const undoError = facts.undoError as unknown as Json
      const payload = { ...failed, ...policy, ...ended, cancelled, partiallyRolledBack: partly, undoError }
      return [...unbegun(instance, execution), ['failed', payload]]
    }
    case 'instance.retries':
    case 'instance.forks':
    case 'instance.started':
    case 'instance.patched':
    case 'instance.cancel_requested':
    case 'instance.resume_requested':
    case 'instance.paused':
    case 'instance.unpaused':
    case 'instance.compensating':
      return []
  }
}

function ofNode(facts: TelemetryFacts, node: Node, data: StoredData): readonly EventDraft[] {
  const { event, gate, net } = facts
  const step = { stepName: node.key }
  const onFailure = onFailureOf(net, node)
  const appeal = node.work.kind !== 'gate'
  const agent = data['name'] ?? ''
  const durationMs = data['duration_ms'] ?? 0
  const start: EventDraft = ['step_started', { ...step, agent }, event.at - Number(durationMs)]
  const { type } = event
  if (!isNodeEvent(type)) return []
  switch (type) {
    case 'node.skipped':
      return [['step_skipped', { ...step, error: event.data === null ? null : (JSON.parse(event.data) as Json) }]]
    case 'node.completed':
      return [start, ['step_completed', { ...step, agent, durationMs }]]
    case 'node.failed':
      if (data['rerun'] === true) return [start, again({ ...step, agent }, data['error'] ?? null)]
      return [start, ['step_failed', { ...step, agent, error: data['error'] ?? null, onFailure }]]
    case 'gate.opened':
      return [
        ...(appeal ? [] : [['step_started', step] as const]),
        ['step_blocked', { ...step, gate: data['gate'] ?? null, appeal }],
      ]
    case 'gate.approved': {
      if (appeal) return []
      const waitedMs = gate === null ? 0 : Math.max(0, event.at - gate.createdAt)
      return [['step_completed', { ...step, agent: event.actor ?? 'clock', durationMs: waitedMs }]]
    }
    case 'gate.closed':
      return [['step_failed', { ...step, agent: '', error: CLOSED, onFailure }]]
    case 'gate.rejected': {
      const message = `rejected${event.actor === null ? '' : ` by ${event.actor}`}${reasonText(data)}`
      const error = { code: 'rejected', message }
      if (data['rerun'] === true) return [again({ ...step, agent: event.actor ?? 'clock' }, error)]
      const rejected = { error, onFailure }
      return [['step_failed', { ...step, agent: event.actor ?? 'clock', ...rejected }]]
    }
    case 'node.admitted':
    case 'node.held':
    case 'node.discarded':
    case 'node.fired':
    case 'node.item_ended':
    case 'node.rerun':
    case 'node.routed':
    case 'node.final_failed':
    case 'each.opened':
    case 'each.closed':
    case 'gate.linked':
    case 'gate.voted':
    case 'gate.escalated':
    case 'late_success':
      return []
  }
}

const CLOSED = { code: 'closed', message: 'the workflow stopped before a decision' }

/**
 * true: it neither was idle nor had to wait, so its creation was its start. One that was cancelled while idle never
 * started.
 */
function beganAtOnce(instance: InstanceRow): boolean {
  return instance.queuedAt === null && instance.state !== 'idle' && !endedUnbegun(instance)
}

function endedUnbegun({ endedAt, fires }: InstanceRow): boolean {
  return endedAt !== null && fires === 0
}

/**
 * The states of an instance that is cancelled or times out before it begins: the table of states has no shorter way
 * (transitions.ts).
 */
function unbegun(instance: InstanceRow, execution: Execution): readonly EventDraft[] {
  if (!endedUnbegun(instance)) return []
  const queued: EventDraft = ['queued', { slot: null }]
  return [...(instance.queuedAt === null ? [queued] : []), started(instance, execution)]
}

/** It timed out while it was blocked: no input came, so it did not resume before it failed. */
function failedByClock({ event, instance, rejected }: TelemetryFacts): boolean {
  if (instance.state !== 'failed' || instance.endedAt !== event.at) return false
  return instance.reason === 'deadline' || (rejected !== null && rejected.answeredBy === null)
}

function started({ parentId }: InstanceRow, { trigger, domainsInvolved }: Execution): EventDraft {
  return [
    'started',
    { trigger: parentId === null ? trigger : { kind: 'workflow', instance: parentId }, domainsInvolved },
  ]
}

function reasonText(data: StoredData): string {
  return typeof data['reason'] === 'string' ? `: ${data['reason']}` : ''
}
