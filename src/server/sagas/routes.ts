/** /v1/sagas: all of them in one list, in the words of the views; resumed and cancelled. POST /v1/instances starts one. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { bodyObject } from '../../http/body.ts'
import { actorOf, type Caller } from '../../http/caller.ts'
import { isId, listParam, onlyKnown, type Query, storableParam, textParam, wholeParam } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { SAGA_STATES, type SagaRow, type SagaState } from '../../model/sagas.ts'
import { sagaView } from '../../operations/saga-view.ts'
import { cancelSaga, retrySaga } from '../../operations/sagas.ts'
import { refusedWire, sagaViewWire, sagaWire } from '../../wire/saga.ts'
import { type Wire, wireEach } from '../../wire/value.ts'
import { readBody } from '../body-fields.ts'
import { refusing } from '../instances/problem.ts'

type ById = { Params: { readonly id: string } }

export function sagaRoutes(app: FastifyInstance, engine: EngineApi): void {
  const { sagas } = engine.queries

  app.get('/v1/sagas', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['state', 'type', 'limit', 'before'])
    const [state = null] = listParam(query, 'state', SAGA_STATES) ?? []
    const limit = wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 })
    const rows = await sagas.list({
      tenant: request.caller.tenant,
      state: state as SagaState | null,
      type: storableParam(query, 'type'),
      limit: limit + 1,
      before: idParam(query),
    })
    const shown = rows.slice(0, limit)
    return {
      sagas: wireEach(engine.faults, shown, sagaWire),
      next_before: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
    }
  })

  app.get<ById>('/v1/sagas/:id', async (request) => {
    onlyKnown(request.query as Query, [])
    return show((await find(request.params.id, request.caller)).id)
  })

  for (const verb of ['retry', 'cancel'] as const) {
    app.post<ById>(`/v1/sagas/:id/${verb}`, async (request) => {
      readBody(bodyObject(request, { empty: 'allowed' }), [], `a ${verb}`, () => null)
      const { id } = await find(request.params.id, request.caller)
      const change = verb === 'retry' ? retrySaga : cancelSaga
      await refusing(verb, id, change(engine, id, actorOf(request.caller)))
      return show(id)
    })
  }

  app.get('/v1/refused-messages', { config: { scope: 'admin' } }, async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['limit', 'before'])
    const limit = wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 })
    const before = textParam(query, 'before')
    const last = wholeParam(query, 'before', { least: 0, most: Number.MAX_SAFE_INTEGER, fallback: 0 })
    const rows = await engine.commands.refused.list({ limit: limit + 1, before: before === null ? null : last })
    const shown = rows.slice(0, limit)
    return { messages: shown.map(refusedWire), next_before: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
  })

  async function find(given: string, { tenant }: Caller): Promise<SagaRow> {
    const row = isId(given) ? await sagas.get(given.toLowerCase()) : null
    if (row !== null && (tenant === null || row.tenantId === tenant)) return row
    throw notFound('saga', given, isId(given) ? undefined : 'The id of a saga is a UUID.')
  }

  async function show(id: string): Promise<Wire> {
    const saga = await sagas.get(id)
    if (saga === null) throw notFound('saga', id)
    return sagaViewWire(await sagaView(engine, saga))
  }
}

function idParam(query: Query): string | null {
  const id = textParam(query, 'before')
  if (id === null || isId(id)) return id === null ? null : id.toLowerCase()
  throw new PetrelError('invalid_request', `before is the id of a saga, not '${id}'`, { parameter: 'before' })
}
