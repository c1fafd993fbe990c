/** Sagas as the views `saga.workflow_instance` and `saga.workflow_step` show them (`saga_workflow_*` on SQLite). */
import type { InstanceState } from '../net/marking.ts'
import type { JsonText } from './rows.ts'

export const SAGA_STATES = ['in_progress', 'compensating', 'completed', 'failed', 'compensated'] as const
export type SagaState = (typeof SAGA_STATES)[number]

/** What each stands for. */
export const INSTANCE_STATES: { readonly [S in SagaState]: readonly InstanceState[] } = {
  in_progress: ['idle', 'queued', 'running', 'waiting', 'cancelling'],
  compensating: ['compensating'],
  completed: ['completed'],
  failed: ['failed', 'cancelled'],
  compensated: ['compensated'],
}

export interface SagaRow {
  readonly id: string
  readonly tenantId: string | null
  readonly type: string
  readonly state: SagaState
  readonly requestJson: JsonText | null
  /** Results by step, once it has completed. */
  readonly resultJson: JsonText | null
  /** What failed first; of a failed undo, that as well. */
  readonly error: string | null
  readonly correlationId: string | null
  readonly createdBy: string | null
  /** Steps that have completed. */
  readonly currentStepIndex: number
  readonly stepCount: number
  readonly completedAt: number | null
  readonly lastEventAt: number | null
  readonly createdAt: number
}

export interface SagaStepRow {
  /** The step id: what the command carries and the completion echoes. */
  readonly id: string
  readonly workflowId: string
  /** −(i + 1): the undo of step i. */
  readonly stepIndex: number
  readonly name: string
  readonly state: 'in_progress' | 'completed' | 'failed'
  readonly requestJson: JsonText | null
  readonly responseJson: JsonText | null
  readonly error: string | null
  readonly commandSubject: string
  readonly commandJson: string
  readonly commandPublishedAt: number | null
  readonly idempotencyKey: string
  readonly compensationSubject: string
  readonly compensationJson: string
  readonly startedAt: number | null
  readonly completedAt: number | null
  readonly createdAt: number
}

export interface SagaQuery {
  /** null: of anybody; '': only those without a tenant. */
  readonly tenant: string | null
  readonly state: SagaState | null
  readonly type: string | null
  readonly limit: number
  /** Newest first, strictly older than this id. */
  readonly before: string | null
}

export interface SagaQueries {
  /** Requests and results until their sum exceeds PAGE_BYTES, then markers (shown.ts). */
  list(query: SagaQuery): Promise<readonly SagaRow[]>
  /** A result, which is those of all steps, beyond PAGE_BYTES is a marker. */
  get(id: string): Promise<SagaRow | null>
  /** Forward steps by index, then undos in the order they were made; what they sent and got as in `list`. */
  steps(id: string): Promise<readonly SagaStepRow[]>
}

/** What a saga did, or may have done, that its rollback has not undone; empty unless the rollback stopped. */
export interface OpenEffect {
  readonly stepId: string
  readonly stepIndex: number
  readonly name: string
  /** Its undo failed; its undo was never sent; the step may have taken effect, but has not answered. */
  readonly reason: 'undo_failed' | 'not_undone' | 'in_doubt'
}

export interface SagaView {
  readonly saga: SagaRow
  readonly steps: readonly SagaStepRow[]
  readonly open: readonly OpenEffect[]
}
