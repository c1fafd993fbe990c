/** Reads of the saga views. Which sagas a page has is asked of the table, whose indexes know states and ids. */

import { MAX_SHOWN_CHARACTERS } from '../../../kernel/limits.ts'
import { INSTANCE_STATES, type SagaQueries, type SagaRow, type SagaStepRow } from '../../../model/sagas.ts'
import { ALWAYS_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import { shownJson } from '../shown.ts'

const ROW = `SELECT v.id, v.tenant_id, v.type, v.state, v.request_json, v.result_json, v.error, v.correlation_id, v.created_by,
  v.current_step_index, v.step_count, v.completed_at, v.last_event_at, v.created_at`
const shownIn = (name: string): string =>
  shownJson(`v.${name}`, `v.shown_size <= ${PAGE_BYTES} OR octet_length(v.${name}) <= ${ALWAYS_BYTES}`)
const LISTED = ROW.replace('v.request_json', shownIn('request_json')).replace('v.result_json', shownIn('result_json'))
const SIZE = 'coalesce(octet_length(v.request_json), 0) + coalesce(octet_length(v.result_json), 0)'
const LIST = `${LISTED} FROM (SELECT v.*, sum(${SIZE}) OVER (ORDER BY v.id DESC ROWS UNBOUNDED PRECEDING) AS shown_size FROM (
    SELECT id FROM workflow_instance
    WHERE dialect = 'saga' AND id = root_id AND (?1 IS NULL OR coalesce(tenant, '') = ?1)
      AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2))) AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR id < ?4)
    ORDER BY id DESC LIMIT ?5) k
  JOIN saga_workflow_instance v ON v.id = k.id) v ORDER BY v.id DESC`
const GET = `WITH v AS MATERIALIZED (SELECT * FROM saga_workflow_instance WHERE id = ?)
  ${ROW.replace('v.result_json', shownJson('v.result_json', `octet_length(v.result_json) <= ${PAGE_BYTES}`))} FROM v`
const IN_ORDER = 'step_index < 0, iif(step_index >= 0, step_index, NULL), created_at, id'
const ofStep = (name: string): string =>
  shownJson(name, `shown_size <= ${PAGE_BYTES} OR octet_length(${name}) <= ${ALWAYS_BYTES}`)
const STEP_SIZE =
  'coalesce(octet_length(response_json), 0) + octet_length(command_json) + octet_length(compensation_json)'
const STEPS = `SELECT id, workflow_id, step_index, name, state, ${ofStep('request_json')}, ${ofStep('response_json')},
    substr(error, 1, ${MAX_SHOWN_CHARACTERS}), command_subject, ${ofStep('command_json')}, command_published_at, idempotency_key,
    compensation_subject, ${ofStep('compensation_json')}, started_at, completed_at, created_at
  FROM (SELECT *, sum(${STEP_SIZE}) OVER (ORDER BY ${IN_ORDER} ROWS UNBOUNDED PRECEDING) AS shown_size
    FROM saga_workflow_step WHERE workflow_id = ?)
  ORDER BY ${IN_ORDER}`

export function sagasOn(connection: Connection): SagaQueries {
  return {
    list: ({ tenant, state, type, limit, before }) =>
      connection.read(() => {
        const states = state === null ? null : JSON.stringify(INSTANCE_STATES[state])
        return connection.statement(LIST).all(tenant, states, type, before, limit).map(sagaOf)
      }),
    get: (id) => connection.read(() => connection.statement(GET).all(id).map(sagaOf)[0] ?? null),
    steps: (id) => connection.read(() => connection.statement(STEPS).all(id).map(stepOf)),
  }
}

function sagaOf(cells: Cells): SagaRow {
  return {
    id: cells[0] as string,
    tenantId: cells[1] as string | null,
    type: cells[2] as string,
    state: cells[3] as SagaRow['state'],
    requestJson: cells[4] as string | null,
    resultJson: cells[5] as string | null,
    error: cells[6] as string | null,
    correlationId: cells[7] as string | null,
    createdBy: cells[8] as string | null,
    currentStepIndex: cells[9] as number,
    stepCount: cells[10] as number,
    completedAt: cells[11] as number | null,
    lastEventAt: cells[12] as number | null,
    createdAt: cells[13] as number,
  }
}

function stepOf(cells: Cells): SagaStepRow {
  return {
    id: cells[0] as string,
    workflowId: cells[1] as string,
    stepIndex: cells[2] as number,
    name: cells[3] as string,
    state: cells[4] as SagaStepRow['state'],
    requestJson: cells[5] as string | null,
    responseJson: cells[6] as string | null,
    error: cells[7] as string | null,
    commandSubject: cells[8] as string,
    commandJson: cells[9] as string,
    commandPublishedAt: cells[10] as number | null,
    idempotencyKey: cells[11] as string,
    compensationSubject: cells[12] as string,
    compensationJson: cells[13] as string,
    startedAt: cells[14] as number | null,
    completedAt: cells[15] as number | null,
    createdAt: cells[16] as number,
  }
}
