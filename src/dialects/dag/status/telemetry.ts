/**
 * The history of workflows of steps as telemetry: `<domain>.workflow_started` and so on, with the payloads that the
 * schemas of the notation ask for. One stored line gives at most one event. Nothing is stored for it: whoever reads
 * again reads the same.
 *
 * Names of the notation: started, step_completed, step_failed, completed, failed, compensating. Names beside those, so
 * that every change of state is told: queued, blocked, resumed, step_blocked, step_retried, step_skipped,
 * step_compensated, step_compensation_failed.
 */
import type { Failure } from '../../../net/marking.ts'
import type { Json, Net, Node } from '../../../net/net.ts'
import type { GateRow, InstanceRow, StoredEvent } from '../../../store/rows.ts'
import type { RunBrief } from '../../../store/trees.ts'
import type { Cost } from './cost.ts'

/** What all events of one execution share: the outermost workflow and everything nested in it. */
export interface Execution {
  readonly domain: string
  readonly domainsInvolved: readonly string[]
  readonly trigger: Json
  readonly correlationId: string
}

/** What the events of one call are about. */
export interface TelemetryFacts {
  readonly event: StoredEvent
  readonly instance: InstanceRow
  readonly net: Net
  readonly node: Node | null
  readonly execution: Execution
  /** Of a run's event. */
  readonly run: RunBrief | null
  /** The latest at the event's node. */
  readonly gate: GateRow | null
  /** Why it stopped, and why its rollback did; told when it has failed. */
  readonly error: StepFailure | null
  readonly undoError: StepFailure | null
  /** Of the whole tree; told when it completes. */
  readonly cost: Cost | null
  /** What is undone, the last completed first; told when it compensates. */
  readonly compensationSteps: readonly string[]
}

export type StepFailure = Failure & { readonly node?: string | null }

export interface TelemetryEvent {
  /** Of the stored line it comes from. */
  readonly id: string
  readonly type: string
  readonly time: string
  readonly correlationId: string
  readonly instanceId: string
  readonly payload: { readonly [key: string]: Json }
}

type Told = readonly [name: string, payload: { readonly [key: string]: Json }] | null
type Data = { readonly [key: string]: Json | undefined }

/** Lines that may give an event. */
export const TELEMETRY_TYPES: readonly string[] = [
  'succeeded',
  'failed',
  'cancelled',
  'retried',
  'gate.opened',
  'gate.approved',
  'gate.rejected',
  'node.completed',
  'node.failed',
  'node.skipped',
  'instance.created',
  'instance.queued',
  'instance.dequeued',
  'instance.waiting',
  'instance.resumed',
  'instance.draining',
  'instance.completed',
  'instance.compensated',
  'instance.failed',
  'instance.cancelled',
]

export function telemetryOf(facts: TelemetryFacts): TelemetryEvent | null {
  const { event, instance, execution } = facts
  const data = (event.data === null ? {} : JSON.parse(event.data)) as Data
  const told = event.runId === null ? ofInstance(facts, data) : ofRun(facts, data)
  if (told === null) return null
  const [name, payload] = told
  const { correlationId } = execution
  return {
    id: String(event.id),
    type: `${execution.domain}.workflow_${name}`,
    time: new Date(event.at).toISOString(),
    correlationId,
    instanceId: instance.id,
    payload: { workflowName: instance.name, ...payload, correlationId },
  }
}

function ofRun(facts: TelemetryFacts, data: Data): Told {
  const { event, run, node } = facts
  if (run === null || node === null || run.item >= 0) return null
  const step = { stepName: node.key, agent: agentOf(node, run) }
  const error = (data['error'] ?? null) as Json
  const undo = run.role === 'undo'
  switch (event.type) {
    case 'succeeded':
      return [undo ? 'step_compensated' : 'step_completed', { ...step, durationMs: lasted(event, data, run) }]
    case 'retried':
      return ['step_retried', { ...step, error, attempt: data['attempt'] ?? null, retryAt: data['run_at'] ?? null }]
    case 'cancelled':
      // Without an error it had not begun: nobody missed it.
      if (error === null) return null
      break
    case 'failed':
      // Forbidden by governance, and somebody is asked: it has not failed yet.
      if (node.appeal !== undefined && !undo && (error as Failure | null)?.category === 'governance') return null
      break
    default:
      return null
  }
  if (undo) return ['step_compensation_failed', { ...step, error }]
  return ['step_failed', { ...step, error, onFailure: onFailureOf(facts.net, node) }]
}

function ofInstance(facts: TelemetryFacts, data: Data): Told {
  const { event, instance, net, node, execution } = facts
  const error = (data['error'] ?? facts.error) as StepFailure | null
  const policy = { failurePolicy: net.onFailure }
  const failed = { failedStep: error?.node ?? null, error: error as unknown as Json }
  const ended = { totalDurationMs: Math.max(0, event.at - (instance.startedAt ?? instance.createdAt)) }
  switch (event.type) {
    case 'instance.created':
      return beganAtOnce(instance) ? started(instance, execution) : null
    case 'instance.queued':
      return ['queued', { slot: data['slot'] ?? null }]
    case 'instance.dequeued':
      return started(instance, execution)
    case 'instance.waiting':
      return ['blocked', {}]
    case 'instance.resumed':
      return ['resumed', {}]
    case 'instance.draining': {
      const reason = data['reason']
      if (reason !== 'compensate' && !(reason === 'deadline' && net.onFailure === 'compensate')) return null
      return ['compensating', { ...failed, compensationSteps: facts.compensationSteps }]
    }
    case 'instance.completed':
    case 'instance.compensated': {
      const rolledBack = event.type === 'instance.compensated'
      const cost = facts.cost as unknown as Json
      return ['completed', { ...ended, stepsCompleted: instance.succeeded, costAccumulated: cost, rolledBack }]
    }
    case 'instance.failed':
    case 'instance.cancelled': {
      const cancelled = event.type === 'instance.cancelled'
      const partly = instance.outcome === 'rolled_back_partial'
      const undoError = facts.undoError as unknown as Json
      return ['failed', { ...failed, ...policy, ...ended, cancelled, partiallyRolledBack: partly, undoError }]
    }
  }
  return node === null ? null : ofNode(facts, node, data)
}

function ofNode(facts: TelemetryFacts, node: Node, data: Data): Told {
  const { event, gate, net } = facts
  const step = { stepName: node.key }
  const onFailure = onFailureOf(net, node)
  const appeal = node.work.kind !== 'gate'
  switch (event.type) {
    case 'node.skipped':
      return ['step_skipped', { ...step, error: event.data === null ? null : (JSON.parse(event.data) as Json) }]
    case 'node.completed':
      return ['step_completed', { ...step, agent: data['name'] ?? '', durationMs: data['duration_ms'] ?? 0 }]
    case 'node.failed':
      return ['step_failed', { ...step, agent: data['name'] ?? '', error: data['error'] ?? null, onFailure }]
    case 'gate.opened':
      return ['step_blocked', { ...step, gate: data['gate'] ?? null, appeal }]
    case 'gate.approved': {
      if (appeal) return null
      const durationMs = gate === null ? 0 : Math.max(0, event.at - gate.createdAt)
      return ['step_completed', { ...step, agent: event.actor ?? 'clock', durationMs }]
    }
    case 'gate.rejected': {
      const message = `rejected${event.actor === null ? '' : ` by ${event.actor}`}${reasonText(data)}`
      return [
        'step_failed',
        { ...step, agent: event.actor ?? 'clock', error: { code: 'rejected', message }, onFailure },
      ]
    }
    default:
      return null
  }
}

/** It neither was idle nor had to wait: its creation was its start. One that was cancelled idle never started. */
function beganAtOnce({ queuedAt, state, fires }: InstanceRow): boolean {
  return queuedAt === null && state !== 'idle' && !(state === 'cancelled' && fires === 0)
}

function started({ parentId }: InstanceRow, { trigger, domainsInvolved }: Execution): Told {
  return [
    'started',
    { trigger: parentId === null ? trigger : { kind: 'workflow', instance: parentId }, domainsInvolved },
  ]
}

/** Who is told to do it; a step that names only a type is done by whoever takes that type. */
function agentOf(node: Node, run: RunBrief): string {
  const work = run.role === 'undo' ? node.undo?.work : node.work
  const args = work?.kind === 'run' ? work.args : null
  const agent = (args as { readonly agent?: Json } | null)?.agent
  return typeof agent === 'string' ? agent : run.type
}

function lasted(event: StoredEvent, data: Data, run: RunBrief): number {
  const told = typeof data['started_at'] === 'string' ? Date.parse(data['started_at']) : null
  return Math.max(0, event.at - (run.firstStartedAt ?? told ?? event.at))
}

function onFailureOf(net: Net, node: Node): string {
  return node.onFailure === 'net' ? net.onFailure : node.onFailure
}

function reasonText(data: Data): string {
  return typeof data['reason'] === 'string' ? `: ${data['reason']}` : ''
}
