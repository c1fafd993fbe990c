/** Stored events as words for a person who follows an instance; the same for all notations unless one has its own. */

import type {
  EventType,
  GateEventType,
  InstanceEventType,
  NodeEventType,
  RunEventType,
} from '../../model/events/events.ts'
import type { RunRow, StoredEvent } from '../../model/rows.ts'
import type { Net } from '../../net/net.ts'

export interface TracedData {
  readonly attempt?: number
  readonly error?: { readonly code?: string; readonly message?: string } | null
  readonly run_at?: string
  readonly reason?: string
  readonly outcome?: string
  readonly gate?: string
  readonly kind?: string
  readonly total?: number
  readonly success?: number
  readonly failed?: number
}

/** Of one instance: it may remember what it has seen. */
export interface Trace {
  /** undefined: the event is not worth a line. */
  outcome(event: StoredEvent, data: TracedData, run: RunRow | undefined): string | undefined
  /** What does the work at a node; undefined: the type of its run. */
  toolsAt(node: string): string | undefined
}

export type MakeTrace = (net: Net) => Trace

/** null: not worth a line. */
type Outcomes<T extends EventType> = Readonly<Record<T, string | null>>

const RUN_OUTCOMES: Outcomes<RunEventType> = {
  created: null,
  leased: null,
  started: null,
  heartbeat: null,
  progress: null,
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  retried: 'retrying',
  returned: null,
  deferred: 'deferred',
  redriven: 'redriven',
  late_success: 'late success',
  'completion.refused': null,
  'run.activated': null,
  'run.due_now': null,
  'run.prioritized': null,
  'run.deleted': null,
  'run.dismissed': null,
}

const INSTANCE_OUTCOMES: Outcomes<InstanceEventType | NodeEventType | GateEventType> = {
  'instance.created': null,
  'instance.retries': null,
  'instance.forks': null,
  'instance.queued': null,
  'instance.dequeued': null,
  'instance.started': 'started',
  'instance.waiting': null,
  'instance.resumed': null,
  'instance.patched': null,
  'instance.cancel_requested': null,
  'instance.resume_requested': null,
  'instance.paused': 'paused',
  'instance.unpaused': 'resumed',
  'instance.draining': 'stopping',
  'instance.compensating': 'compensating',
  'instance.completed': 'completed',
  'instance.failed': 'failed',
  'instance.cancelled': 'cancelled',
  'instance.compensated': 'compensated',
  'node.admitted': null,
  'node.held': 'held',
  'node.discarded': 'discarded',
  'node.fired': null,
  'node.item_ended': null,
  'node.completed': null,
  'node.failed': null,
  'node.skipped': 'skipped',
  'node.rerun': 'again',
  'node.routed': null,
  'node.final_failed': 'final failed',
  'each.opened': null,
  'each.closed': null,
  'gate.opened': 'waiting',
  'gate.linked': null,
  'gate.voted': null,
  'gate.escalated': 'escalated',
  'gate.approved': 'approved',
  'gate.rejected': 'rejected',
  'gate.closed': 'closed',
}

/** undefined: not worth a line, or of a type that this version does not know. */
export function plainOutcome({ type, runId }: Pick<StoredEvent, 'type' | 'runId'>): string | undefined {
  const outcomes: { readonly [type: string]: string | null } = runId === null ? INSTANCE_OUTCOMES : RUN_OUTCOMES
  return outcomes[type] ?? undefined
}

export const plainTrace: Trace = {
  outcome: plainOutcome,
  toolsAt: () => undefined,
}
