/** Reads of the saga views. The sagas of a page are selected from the table, whose indexes cover states and ids. */

import { MAX_SHOWN_CHARACTERS } from '../../../kernel/limits.ts'
import { INSTANCE_STATES, type SagaQueries } from '../../../model/sagas.ts'
import { ALWAYS_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import { decoder, SAGA, SAGA_STEP, selectList } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { textArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'
import { isUuid } from '../connection/uuid.ts'
import { jsonBytes, shownJson } from '../shown.ts'

const ROW = `SELECT ${selectList(SAGA, 'v')}`

const shownIn = (name: string): string =>
  shownJson(`v.${name}`, `v.shown_size <= ${PAGE_BYTES} OR ${jsonBytes(`v.${name}`)} <= ${ALWAYS_BYTES}`)
const LISTED = ROW.replace('v.request_json', shownIn('request_json')).replace('v.result_json', shownIn('result_json'))
const SIZE = ['request_json', 'result_json'].map((name) => `coalesce(${jsonBytes(`v.${name}`)}, 0)`).join(' + ')

const LIST = statement(
  `${LISTED} FROM (SELECT v.*, sum(${SIZE}) OVER (ORDER BY v.id DESC ROWS UNBOUNDED PRECEDING) AS shown_size FROM (
     SELECT i.id FROM workflow.workflow_instance i
     WHERE i.dialect = 'saga' AND i.id = i.root_id AND ($1::text IS NULL OR coalesce(i.tenant, '') = $1::text)
       AND ($2::text[] IS NULL OR i.state = ANY ($2::text[])) AND ($3::text IS NULL OR i.name = $3::text)
       AND ($4::uuid IS NULL OR i.id < $4::uuid)
     ORDER BY i.id DESC LIMIT $5::int4) k
   JOIN saga.workflow_instance v ON v.id = k.id OFFSET 0) v ORDER BY v.id DESC`,
)
const GET = statement(
  `WITH v AS MATERIALIZED (SELECT v.* FROM saga.workflow_instance v WHERE v.id = $1::uuid)
   ${ROW.replace('v.result_json', shownJson('v.result_json', `${jsonBytes('v.result_json')} <= ${PAGE_BYTES}`))} FROM v`,
)

const IN_ORDER = 's.step_index < 0, CASE WHEN s.step_index >= 0 THEN s.step_index END, s.created_at, s.id'
const stepJson = (name: string): string =>
  shownJson(`s.${name}`, `s.shown_size <= ${PAGE_BYTES} OR ${jsonBytes(`s.${name}`)} <= ${ALWAYS_BYTES}`)
const stepText = (name: string): string =>
  `CASE WHEN s.shown_size <= ${PAGE_BYTES} OR octet_length(s.${name}) <= ${ALWAYS_BYTES} THEN s.${name}
   ELSE '{"$omitted":{"bytes":' || octet_length(s.${name}) || '}}' END`
const STEP_SIZE = `coalesce(${jsonBytes('s.response_json')}, 0) + octet_length(s.command_json) + octet_length(s.compensation_json)`
const STEP_SHOWN: { readonly [column: string]: string } = {
  request_json: stepJson('request_json'),
  response_json: stepJson('response_json'),
  error: `left(s.error, ${MAX_SHOWN_CHARACTERS})`,
  command_json: stepText('command_json'),
  compensation_json: stepText('compensation_json'),
}
const STEPS = statement(
  `SELECT ${SAGA_STEP.columns.map(({ name }) => STEP_SHOWN[name] ?? `s.${name}`).join(', ')} FROM (
     SELECT s.*, sum(${STEP_SIZE}) OVER (ORDER BY ${IN_ORDER} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (
       SELECT s.* FROM saga.workflow_step s WHERE s.workflow_id = $1::uuid OFFSET 0) s) s
   ORDER BY ${IN_ORDER}`,
)

const sagaFrom = decoder(SAGA)
const stepFrom = decoder(SAGA_STEP)

export function sagasOn({ reads, lists }: { readonly reads: Lanes; readonly lists: Lanes }): SagaQueries {
  return {
    list: async ({ tenant, state, type, limit, before }) => {
      if (before !== null && !isUuid(before)) return []
      const states = state === null ? null : textArray(INSTANCE_STATES[state])
      return ask(lists, { statement: LIST, values: [tenant, states, type, before, String(limit)], row: sagaFrom })
    },
    get: async (id) => (isUuid(id) ? askOne(reads, { statement: GET, values: [id], row: sagaFrom }) : null),
    steps: async (id) => (isUuid(id) ? ask(reads, { statement: STEPS, values: [id], row: stepFrom }) : []),
  }
}
