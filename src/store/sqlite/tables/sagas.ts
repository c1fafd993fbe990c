/** Reads of the saga views. The sagas of a page are selected from the table, whose indexes cover states and ids. */

import { MAX_SHOWN_CHARACTERS } from '../../../kernel/limits.ts'
import { INSTANCE_STATES, SAGA, SAGA_STEP, type SagaQueries } from '../../../model/sagas.ts'
import { ALWAYS_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import type { Connection } from '../connection.ts'
import { namesOf, rowReader } from '../row/reader.ts'
import { shownJson } from '../shown.ts'

const sagaOf = rowReader(SAGA)
const stepOf = rowReader(SAGA_STEP)

const ROW = `SELECT ${namesOf(SAGA)
  .map((name) => `v.${name}`)
  .join(', ')}`
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
const STEP_SHOWN: Readonly<Record<string, string>> = {
  request_json: ofStep('request_json'),
  response_json: ofStep('response_json'),
  error: `substr(error, 1, ${MAX_SHOWN_CHARACTERS})`,
  command_json: ofStep('command_json'),
  compensation_json: ofStep('compensation_json'),
}
const STEPS = `SELECT ${namesOf(SAGA_STEP)
  .map((name) => STEP_SHOWN[name] ?? name)
  .join(', ')}
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
