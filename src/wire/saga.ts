/** Sagas as shown by /v1, `--json` and the replies on NATS: the columns of the views, JSON as JSON. */
import type { RefusedRow } from '../model/commands.ts'
import {
  type OpenEffect as Effect,
  SAGA_STATES,
  type SagaRow,
  type SagaStepRow,
  type SagaView,
} from '../model/sagas.ts'
import {
  anything,
  list,
  time as moment,
  named,
  nullable,
  object,
  text,
  uuid,
  type Value,
  whole,
  word,
} from './schema.ts'
import { json, rows, shown, time } from './value.ts'

export const Saga = named(
  'Saga',
  object({
    id: uuid(),
    tenant_id: nullable(text()),
    type: text('Name of its definition.'),
    state: word(SAGA_STATES),
    request: anything('The input of the start.'),
    result: anything('Results by step, once it has completed.'),
    error: nullable(text()),
    correlation_id: nullable(text()),
    created_by: nullable(text()),
    current_step_index: whole('Steps that have completed.'),
    step_count: whole(),
    created_at: moment(),
    last_event_at: nullable(moment()),
    completed_at: nullable(moment()),
  }),
)

export const SagaList = named(
  'SagaList',
  object({ sagas: rows(Saga), next_before: nullable(uuid('Send it as `before`.')) }),
)

export function sagaWire(row: SagaRow): Value<typeof Saga> {
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

const SagaStep = named(
  'SagaStep',
  object({
    id: uuid('The step id: X-Workflow-Step-Id of its commands.'),
    step_index: whole('−(i + 1): the undo of step i.'),
    name: text(),
    state: word(['in_progress', 'completed', 'failed']),
    command_subject: text(),
    command: anything('Body of the command.'),
    command_published_at: nullable(moment()),
    idempotency_key: text('The step id.'),
    response: anything('The reply of the service.'),
    error: nullable(text()),
    compensation_subject: text('Empty: there is no compensation.'),
    compensation: anything('Body of the compensation, once it is built.'),
    created_at: moment(),
    started_at: nullable(moment()),
    completed_at: nullable(moment()),
  }),
)

function sagaStepWire(row: SagaStepRow): Value<typeof SagaStep> {
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

export const OpenEffect = named(
  'OpenEffect',
  object({
    step_id: uuid(),
    step_index: whole(),
    name: text(),
    reason: word(['undo_failed', 'not_undone', 'in_doubt']),
  }),
)

export function openEffectWire({ stepId, stepIndex, name, reason }: Effect): Value<typeof OpenEffect> {
  return { step_id: stepId, step_index: stepIndex, name, reason }
}

export const SagaReply = named(
  'SagaReply',
  object({ saga: Saga, steps: list(SagaStep), open_effects: list(OpenEffect) }),
)

/** One saga with its steps, and the effects that its rollback has not undone. */
export function sagaViewWire({ saga, steps, open }: SagaView): Value<typeof SagaReply> {
  return {
    saga: { ...sagaWire(saga), result: shown(saga.resultJson, `/v1/instances/${saga.id}`) },
    steps: steps.map(sagaStepWire),
    open_effects: open.map(openEffectWire),
  }
}

const RefusedMessage = object({
  id: whole(),
  at: moment(),
  subject: text(),
  code: text('A stable code of the reason.'),
  message: text(),
  workflow_instance_id: nullable(text('The id in the message.')),
  step_id: nullable(text()),
  body: text('Its first 4 KiB.'),
})

export const RefusedList = named(
  'RefusedList',
  object({ messages: list(RefusedMessage), next_before: nullable(whole('Send it as `before`.')) }),
)

export function refusedWire(row: RefusedRow): Value<typeof RefusedMessage> {
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
