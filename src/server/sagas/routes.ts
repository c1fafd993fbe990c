/** /v1/sagas: all of them in one list, in the words of the views; resumed and cancelled. POST /v1/instances starts one. */
import type { EngineApi } from '../../engine/api.ts'
import { idOf, pageSize, parsed, storedText, wordOf } from '../../http/describe/params.ts'
import { isId } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import { SAGA_STATES, type SagaRow } from '../../model/sagas.ts'
import { actorOf, type Caller } from '../../operations/caller.ts'
import { sagaView } from '../../operations/saga-view.ts'
import { cancelSaga, retrySaga } from '../../operations/sagas.ts'
import { RefusedList, refusedWire, SagaList, SagaReply, sagaViewWire, sagaWire } from '../../wire/saga.ts'
import { type Value, whole } from '../../wire/schema.ts'
import { wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'
import { refusing } from '../instances/problem.ts'

const NEXT = '`next_before` of the page before.'

const AS_IT_IS = { description: 'The saga.', schema: SagaReply }

export const SAGA_ROUTES = [
  route(
    'GET /v1/sagas',
    {
      tag: 'Sagas',
      summary: 'All sagas, newest first',
      description: 'As the view `saga.workflow_instance` has them.',
      query: {
        state: wordOf(SAGA_STATES, null, 'Only these.'),
        type: storedText('Only of this name.'),
        limit: pageSize(),
        before: idOf('the id of a saga', NEXT),
      },
      answers: { '200': { description: 'A page of them.', schema: SagaList } },
      errors: ['invalid_request'],
    },
    async ({ query, caller: { tenant } }, { engine }) => {
      const { limit } = query
      const rows = await engine.queries.sagas.list({ ...query, tenant, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      return {
        sagas: wireEach(engine.faults, shown, sagaWire),
        next_before: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      }
    },
  ),

  route(
    'GET /v1/sagas/:id',
    {
      tag: 'Sagas',
      summary: 'One saga with its steps',
      description: 'Steps as the view `saga.workflow_step` has them; the undo of step i has the index −(i + 1).',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'invalid_request'],
    },
    async ({ params, caller }, { engine }) => show(engine, (await find(engine, params.id, caller)).id),
  ),

  route(
    'POST /v1/sagas/:id/retry',
    {
      tag: 'Sagas',
      summary: 'Go on with a saga that stopped',
      description:
        'In place, at the step or the compensation that failed or stayed silent, under the same step id. `open_effects` of a ' +
        'saga whose rollback stopped names what is not known to be undone.',
      nothing: 'a retry',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict', 'invalid_request'],
    },
    async ({ params, caller }, { engine }) => {
      const { id } = await find(engine, params.id, caller)
      await refusing('retry', id, retrySaga(engine, id, actorOf(caller)))
      return show(engine, id)
    },
  ),

  route(
    'POST /v1/sagas/:id/cancel',
    {
      tag: 'Sagas',
      summary: 'Cancel a saga',
      description:
        'Nothing further is sent; what is in flight is awaited; what was done is undone. A step in flight that stays silent ' +
        'ends the saga `failed`, unless it says `onSilence: compensate`.',
      nothing: 'a cancel',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict', 'invalid_request'],
    },
    async ({ params, caller }, { engine }) => {
      const { id } = await find(engine, params.id, caller)
      await refusing('cancel', id, cancelSaga(engine, id, actorOf(caller)))
      return show(engine, id)
    },
  ),

  route(
    'GET /v1/refused-messages',
    {
      tag: 'Sagas',
      summary: 'Messages on NATS that were refused',
      description: 'Unknown or mismatched ids, invalid JSON, duplicates: the last 10,000, newest first.',
      does: 'admin',
      query: {
        limit: pageSize(),
        before: parsed(NEXT, whole({ minimum: 0 }), placeIn, 'is a whole number of at least 0'),
      },
      answers: { '200': { description: 'A page of them.', schema: RefusedList } },
      errors: ['invalid_request'],
    },
    async ({ query: { limit, before } }, { engine }) => {
      const rows = await engine.commands.refused.list({ limit: limit + 1, before })
      const shown = rows.slice(0, limit)
      return { messages: shown.map(refusedWire), next_before: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
    },
  ),
]

function placeIn(text: string): number | null {
  const value = Number(text)
  return Number.isSafeInteger(value) && value >= 0 ? value : null
}

async function find(engine: EngineApi, given: string, { tenant }: Caller): Promise<SagaRow> {
  const row = isId(given) ? await engine.queries.sagas.get(given.toLowerCase()) : null
  if (row !== null && (tenant === null || row.tenantId === tenant)) return row
  throw notFound('saga', given, isId(given) ? undefined : 'The id of a saga is a UUID.')
}

async function show(engine: EngineApi, id: string): Promise<Value<typeof SagaReply>> {
  const saga = await engine.queries.sagas.get(id)
  if (saga === null) throw notFound('saga', id)
  return sagaViewWire(await sagaView(engine, saga))
}
