/** /v1/sagas. */
import { SAGA_STATES } from '../../model/sagas.ts'
import type { Paths } from './operation.ts'
import { anything, list, nullable, object, ref, type Schema, text, time, uuid, whole, word } from './schema.ts'

const PAGE = [
  { name: 'limit', description: 'On a page.', schema: whole(undefined, { minimum: 1, maximum: 200, default: 50 }) },
  { name: 'before', description: '`next_before` of the page before.' },
]

export const SAGA_PATHS: Paths = {
  '/v1/sagas': {
    get: {
      tag: 'Sagas',
      summary: 'All sagas, newest first',
      description: 'As the view `saga.workflow_instance` has them.',
      query: [
        { name: 'state', description: 'Only these.', schema: word(SAGA_STATES) },
        { name: 'type', description: 'Only of this name.' },
        ...PAGE,
      ],
      answers: { '200': { description: 'A page of them.', schema: ref('SagaList') } },
      errors: ['invalid_request'],
    },
  },
  '/v1/sagas/{id}': {
    get: {
      tag: 'Sagas',
      summary: 'One saga with its steps',
      description: 'Steps as the view `saga.workflow_step` has them; the undo of step i has the index −(i + 1).',
      answers: { '200': { description: 'The saga.', schema: ref('SagaReply') } },
      errors: ['not_found', 'invalid_request'],
    },
  },
  '/v1/sagas/{id}/retry': {
    post: {
      tag: 'Sagas',
      summary: 'Go on with a saga that stopped',
      description:
        'In place, at the step or the compensation that failed or stayed silent, under the same step id. `open_effects` of a saga whose rollback stopped names what is not known to be undone.',
      answers: { '200': { description: 'The saga.', schema: ref('SagaReply') } },
      errors: ['not_found', 'conflict', 'invalid_request'],
    },
  },
  '/v1/sagas/{id}/cancel': {
    post: {
      tag: 'Sagas',
      summary: 'Cancel a saga',
      description:
        'Nothing further is sent; what is in flight is awaited; what was done is undone. A step in flight that stays silent ends the saga `failed`, unless it says `onSilence: compensate`.',
      answers: { '200': { description: 'The saga.', schema: ref('SagaReply') } },
      errors: ['not_found', 'conflict', 'invalid_request'],
    },
  },
  '/v1/refused-messages': {
    get: {
      tag: 'Sagas',
      summary: 'Messages on NATS that were refused',
      description: 'Unknown or mismatched ids, invalid JSON, duplicates: the last 10,000, newest first.',
      scope: 'admin',
      query: PAGE,
      answers: { '200': { description: 'A page of them.', schema: ref('RefusedList') } },
      errors: ['invalid_request'],
    },
  },
}

const SAGA: Schema = object(
  {
    id: uuid(),
    tenant_id: nullable(text()),
    type: text('Name of its definition.'),
    state: word(SAGA_STATES),
    request: anything('What it was started with.'),
    result: anything('Results by step, once it has completed.'),
    error: nullable(text()),
    correlation_id: nullable(text()),
    created_by: nullable(text()),
    current_step_index: whole('Steps that have completed.'),
    step_count: whole(),
    created_at: time(),
    last_event_at: nullable(time()),
    completed_at: nullable(time()),
  },
  { required: ['id', 'type', 'state', 'step_count'] },
)

const STEP: Schema = object(
  {
    id: uuid('The step id: X-Workflow-Step-Id of its commands.'),
    step_index: whole('−(i + 1): the undo of step i.'),
    name: text(),
    state: word(['in_progress', 'completed', 'failed']),
    command_subject: text(),
    command: anything('Body of the command.'),
    command_published_at: nullable(time()),
    idempotency_key: text('The step id.'),
    response: anything('What the service answered.'),
    error: nullable(text()),
    compensation_subject: text('Empty: there is nothing to undo.'),
    compensation: anything('Body of the compensation, once it is built.'),
    created_at: time(),
    started_at: nullable(time()),
    completed_at: nullable(time()),
  },
  { required: ['id', 'step_index', 'name', 'state'] },
)

export const SAGA_SCHEMAS: { readonly [name: string]: Schema } = {
  Saga: SAGA,
  SagaStep: STEP,
  SagaList: object({ sagas: list(ref('Saga')), next_before: nullable(uuid()) }, { required: ['sagas', 'next_before'] }),
  OpenEffect: object(
    {
      step_id: uuid(),
      step_index: whole(),
      name: text(),
      reason: word(['undo_failed', 'not_undone', 'in_doubt']),
    },
    { required: ['step_id', 'step_index', 'name', 'reason'] },
  ),
  SagaReply: object(
    { saga: ref('Saga'), steps: list(ref('SagaStep')), open_effects: list(ref('OpenEffect')) },
    { required: ['saga', 'steps', 'open_effects'] },
  ),
  RefusedList: object(
    {
      messages: list(
        object({
          id: whole(),
          at: time(),
          subject: text(),
          code: text('Stable word for what was wrong.'),
          message: text(),
          workflow_instance_id: nullable(text('As the message said it.')),
          step_id: nullable(text()),
          body: text('Its first 4 KiB.'),
        }),
      ),
      next_before: nullable(whole()),
    },
    { required: ['messages', 'next_before'] },
  ),
}
