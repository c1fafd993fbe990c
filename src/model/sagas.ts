/** Sagas as the views `saga.workflow_instance` and `saga.workflow_step` show them (`saga_workflow_*` on SQLite). */
import type { InstanceState } from '../net/marking.ts'
import { int, jsonb, type RowOf, table, text, time, uuid } from './table.ts'

export const SAGA_STATES = ['in_progress', 'compensating', 'completed', 'failed', 'compensated'] as const
export type SagaState = (typeof SAGA_STATES)[number]

/** What each state means. */
export const INSTANCE_STATES: { readonly [S in SagaState]: readonly InstanceState[] } = {
  in_progress: ['idle', 'queued', 'running', 'waiting', 'cancelling'],
  compensating: ['compensating'],
  completed: ['completed'],
  failed: ['failed', 'cancelled'],
  compensated: ['compensated'],
}

export const SAGA = table('saga', {
  id: uuid(),
  tenantId: text().orNull(),
  type: text(),
  state: text<SagaState>(),
  requestJson: jsonb().orNull(),
  /** Results by step, once it has completed. */
  resultJson: jsonb().orNull(),
  /** The first failure, and that of a failed undo as well. */
  error: text().orNull(),
  correlationId: text().orNull(),
  createdBy: text().orNull(),
  /** Steps that have completed. */
  currentStepIndex: int(),
  stepCount: int(),
  completedAt: time().orNull(),
  lastEventAt: time().orNull(),
  createdAt: time(),
})
export type SagaRow = RowOf<typeof SAGA>

export const SAGA_STEP = table('saga_step', {
  /** The step id: what the command carries and the completion echoes. */
  id: uuid(),
  workflowId: uuid(),
  /** −(i + 1): the undo of step i. */
  stepIndex: int(),
  name: text(),
  state: text<'in_progress' | 'completed' | 'failed'>(),
  requestJson: jsonb().orNull(),
  responseJson: jsonb().orNull(),
  error: text().orNull(),
  commandSubject: text(),
  commandJson: text(),
  commandPublishedAt: time().orNull(),
  idempotencyKey: text(),
  compensationSubject: text(),
  compensationJson: text(),
  startedAt: time().orNull(),
  completedAt: time().orNull(),
  createdAt: time(),
})
export type SagaStepRow = RowOf<typeof SAGA_STEP>

export interface SagaQuery {
  /** null: of all tenants; '': only those without a tenant. */
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
  /** The result, which contains those of all steps, is a marker if it exceeds PAGE_BYTES. */
  get(id: string): Promise<SagaRow | null>
  /** Forward steps by index, then undos in the order of their creation; requests and results as in `list`. */
  steps(id: string): Promise<readonly SagaStepRow[]>
}

/** Steps that a saga did, or may have done, and that its rollback has not undone; empty unless the rollback stopped. */
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
