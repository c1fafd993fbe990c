/** Requests about sagas, answered with { ok: true, … } or { ok: false, error: { code, message } }. */

import type { EngineApi } from '../../../engine/api.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import type { Logger } from '../../../kernel/logger.ts'
import { SAGA_STATES, type SagaRow } from '../../../model/sagas.ts'
import type { Json } from '../../../net/net.ts'
import { sagaView } from '../../../operations/saga-view.ts'
import { cancelSaga, retrySaga } from '../../../operations/sagas.ts'
import { sagaViewWire, sagaWire } from '../../../wire/saga.ts'
import { choiceOf, type Fields, idOf, need, readBody, textOf, wholeOf } from './body.ts'
import type { Control } from './names.ts'
import { Refusal } from './refusal.ts'

export interface ControlParams {
  readonly engine: EngineApi
  readonly logger: Logger | null
  readonly maxBytes: number
}

type Answer = { readonly [key: string]: unknown }

const MOST_LISTED = 200

/** A request reaches the sagas of this tenant: those without one. null: all sagas. */
export const NO_TENANT = ''

type Act = (engine: EngineApi, fields: Fields, reach: string | null) => Promise<Answer>

const ACTS: { readonly [what in Control]: Act } = {
  status: async (engine, fields, reach) => show(engine, await find(engine, fields, reach)),
  list,
  retry: async (engine, fields, reach) => {
    const { id } = await find(engine, fields, reach)
    await retrySaga(engine, id, actorOf(fields))
    return show(engine, await found(engine, id))
  },
  cancel: async (engine, fields, reach) => {
    const { id } = await find(engine, fields, reach)
    await cancelSaga(engine, id, actorOf(fields))
    return show(engine, await found(engine, id))
  },
}

export async function answerControl(
  { engine, logger, maxBytes }: ControlParams,
  what: Control,
  data: Uint8Array,
  reach: string | null,
): Promise<Json> {
  try {
    const fields = data.length === 0 ? {} : readBody(data, maxBytes)
    return { ok: true, ...(await ACTS[what](engine, fields, reach)) } as Json
  } catch (error) {
    const known = error instanceof PetrelError || error instanceof Refusal
    if (!known) logger?.error({ err: error }, `workflow.v1.${what} failed`)
    const { code, message } = known ? error : { code: 'unavailable', message: 'it could not be done just now' }
    return { ok: false, error: { code, message } }
  }
}

async function list(engine: EngineApi, fields: Fields, reach: string | null): Promise<Answer> {
  const named = textOf(fields, 'tenant_id') ?? null
  if (reach !== null && named !== null && named !== reach) return { sagas: [], next_after: null }
  const limit = wholeOf(fields, 'limit', { least: 1, most: MOST_LISTED }) ?? 50
  const rows = await engine.queries.sagas.list({
    tenant: reach ?? named,
    state: choiceOf(fields, 'state', SAGA_STATES) ?? null,
    type: textOf(fields, 'type') ?? null,
    limit: limit + 1,
    before: idOf(fields, 'after') ?? null,
  })
  const shown = rows.slice(0, limit)
  return { sagas: shown.map(sagaWire), next_after: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
}

/** If a tenant is named, it must be the saga's, and within reach. */
async function find(engine: EngineApi, fields: Fields, reach: string | null): Promise<SagaRow> {
  const id = need(idOf(fields, 'workflow_instance_id'), 'workflow_instance_id')
  const tenant = textOf(fields, 'tenant_id') ?? null
  const row = await found(engine, id)
  if (tenant !== null && row.tenantId !== tenant) throw unknown(id)
  if (reach !== null && (row.tenantId ?? NO_TENANT) !== reach) throw unknown(id)
  return row
}

async function found(engine: EngineApi, id: string): Promise<SagaRow> {
  const row = await engine.queries.sagas.get(id)
  if (row === null) throw unknown(id)
  return row
}

async function show(engine: EngineApi, row: SagaRow): Promise<Answer> {
  return sagaViewWire(await sagaView(engine, row))
}

function unknown(id: string): PetrelError {
  return new PetrelError('not_found', `there is no saga ${id}`)
}

function actorOf(fields: Fields): string | null {
  return textOf(fields, 'actor', 200) ?? null
}
