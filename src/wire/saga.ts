/** Sagas as /v1, `--json` and the answers on NATS show them: the columns of the views, JSON as JSON. */
import type { RefusedRow } from '../model/commands.ts'
import type { OpenEffect, SagaRow, SagaStepRow, SagaView } from '../model/sagas.ts'
import { json, shown, time, type Wire } from './value.ts'

export function sagaWire(row: SagaRow): Wire {
  return {
    id: row.id,
    tenant_id: row.tenantId,
    type: row.type,
    state: row.state,
    request: shown(row.requestJson, `/v1/sagas/${row.id}`),
    result: shown(row.resultJson, `/v1/sagas/${row.id}`),
    error: row.error,
    correlation_id: row.correlationId,
    created_by: row.createdBy,
    current_step_index: row.currentStepIndex,
    step_count: row.stepCount,
    created_at: time(row.createdAt),
    last_event_at: time(row.lastEventAt),
    completed_at: time(row.completedAt),
  }
}

export function sagaStepWire(row: SagaStepRow): Wire {
  return {
    id: row.id,
    step_index: row.stepIndex,
    name: row.name,
    state: row.state,
    command_subject: row.commandSubject,
    command: row.commandJson === '' ? null : json(row.commandJson),
    command_published_at: time(row.commandPublishedAt),
    idempotency_key: row.idempotencyKey,
    response: shown(row.responseJson, `/v1/runs/${row.id}`),
    error: row.error,
    compensation_subject: row.compensationSubject,
    compensation: row.compensationJson === '' ? null : json(row.compensationJson),
    created_at: time(row.createdAt),
    started_at: time(row.startedAt),
    completed_at: time(row.completedAt),
  }
}

export function openEffectWire({ stepId, stepIndex, name, reason }: OpenEffect): Wire {
  return { step_id: stepId, step_index: stepIndex, name, reason }
}

/** One saga with its steps, and what its rollback has not undone. */
export function sagaViewWire({ saga, steps, open }: SagaView): Wire {
  return {
    saga: { ...sagaWire(saga), result: shown(saga.resultJson, `/v1/instances/${saga.id}`) },
    steps: steps.map(sagaStepWire),
    open_effects: open.map(openEffectWire),
  }
}

export function refusedWire(row: RefusedRow): Wire {
  return {
    id: row.id,
    at: time(row.at),
    subject: row.subject,
    code: row.code,
    message: row.message,
    workflow_instance_id: row.instanceId,
    step_id: row.stepId,
    body: row.body,
  }
}
