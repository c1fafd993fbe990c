/**
 * /v1/sagas: all sagas in one list, with the columns of the views; resume and cancel. POST /v1/instances starts one.
 */

import { SAGA_STATES } from '../../model/sagas.ts'
import { cancelSaga, listRefused, listSagas, retrySaga, showSaga } from '../../operations/sagas/sagas.ts'
import { idOf, pageSize, parsed, storedText, wordOf } from '../../wire/requests/params.ts'
import { RefusedList, refusedWire, SagaList, SagaReply, sagaViewWire, sagaWire } from '../../wire/saga.ts'
import { whole } from '../../wire/schema.ts'
import { wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'
import { refusing } from '../instances/problem.ts'

const NEXT = '`next_before` of the previous page.'

const AS_IT_IS = { description: 'The saga.', schema: SagaReply }

export const SAGA_ROUTES = [
  route(
    'GET /v1/sagas',
    {
      tag: 'Sagas',
      summary: 'All sagas, newest first',
      does: listSagas,
      description: 'In the columns of the view `saga.workflow_instance`.',
      query: {
        state: wordOf(SAGA_STATES, null, 'Only these.'),
        type: storedText('Only of this name.'),
        limit: pageSize(),
        before: idOf('the id of a saga', NEXT),
      },
      answers: { '200': { description: 'A page of them.', schema: SagaList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }, { faults }) => {
      const { rows, more } = await perform(listSagas, query)
      return { sagas: wireEach(faults, rows, sagaWire), next_before: more ? (rows.at(-1)?.id ?? null) : null }
    },
  ),

  route(
    'GET /v1/sagas/:id',
    {
      tag: 'Sagas',
      summary: 'One saga with its steps',
      does: showSaga,
      description: 'Steps in the columns of the view `saga.workflow_step`; the undo of step i has the index −(i + 1).',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'invalid_request'],
    },
    async ({ params, perform }) => sagaViewWire(await perform(showSaga, params)),
  ),

  route(
    'POST /v1/sagas/:id/retry',
    {
      tag: 'Sagas',
      summary: 'Resume a stopped saga',
      does: retrySaga,
      description:
        'In place, at the step or the compensation that failed or stayed silent, under the same step id. `open_effects` of a ' +
        'saga whose rollback stopped names effects that are not known to be undone.',
      nothing: 'a retry',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict', 'invalid_request'],
    },
    async ({ params: { id }, perform }) => sagaViewWire(await refusing('retry', id, perform(retrySaga, { id }))),
  ),

  route(
    'POST /v1/sagas/:id/cancel',
    {
      tag: 'Sagas',
      summary: 'Cancel a saga',
      does: cancelSaga,
      description:
        'Nothing further is sent; steps in flight are awaited; completed ones are undone. A step in flight that stays silent ' +
        'ends the saga as `failed`, unless it has `onSilence: compensate`.',
      nothing: 'a cancel',
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict', 'invalid_request'],
    },
    async ({ params: { id }, perform }) => sagaViewWire(await refusing('cancel', id, perform(cancelSaga, { id }))),
  ),

  route(
    'GET /v1/refused-messages',
    {
      tag: 'Sagas',
      summary: 'Rejected messages on NATS',
      does: listRefused,
      description: 'Unknown or mismatched ids, invalid JSON, duplicates: the last 10,000, newest first.',
      query: {
        limit: pageSize(),
        before: parsed(NEXT, whole({ minimum: 0 }), placeIn, 'a whole number of at least 0'),
      },
      answers: { '200': { description: 'A page of them.', schema: RefusedList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => {
      const { rows, more } = await perform(listRefused, query)
      return { messages: rows.map(refusedWire), next_before: more ? (rows.at(-1)?.id ?? null) : null }
    },
  ),
]

function placeIn(text: string): number | null {
  const value = Number(text)
  return Number.isSafeInteger(value) && value >= 0 ? value : null
}
