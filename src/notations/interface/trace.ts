/** Stored events as words that a person follows; the same for all notations unless one has its own. */
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
  /** What does the work at a node; undefined: the type of its run says it. */
  toolsAt(node: string): string | undefined
}

export type MakeTrace = (net: Net) => Trace

export const RUN_OUTCOMES: { readonly [type: string]: string } = {
  succeeded: 'succeeded',
  failed: 'failed',
  retried: 'retrying',
  cancelled: 'cancelled',
  deferred: 'deferred',
  redriven: 'redriven',
  late_success: 'late success',
}

export const INSTANCE_OUTCOMES: { readonly [type: string]: string } = {
  'gate.opened': 'waiting',
  'gate.escalated': 'escalated',
  'gate.approved': 'approved',
  'gate.rejected': 'rejected',
  'gate.closed': 'closed',
  'node.held': 'held',
  'node.discarded': 'discarded',
  'node.skipped': 'skipped',
  'node.rerun': 'once more',
  'node.final_failed': 'final failed',
  'instance.started': 'started',
  'instance.draining': 'stopping',
  'instance.compensating': 'compensating',
  'instance.completed': 'completed',
  'instance.failed': 'failed',
  'instance.cancelled': 'cancelled',
  'instance.compensated': 'compensated',
}

export const plainTrace: Trace = {
  outcome: ({ type, runId }) => (runId === null ? INSTANCE_OUTCOMES : RUN_OUTCOMES)[type],
  toolsAt: () => undefined,
}
