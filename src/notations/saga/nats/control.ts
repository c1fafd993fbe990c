/** Requests about sagas, answered with { ok: true, … } or { ok: false, error: { code, message } }. */

import { missing, PetrelError } from '../../../kernel/errors.ts'
import type { Logger } from '../../../kernel/logger.ts'
import { SAGA_STATES } from '../../../model/sagas.ts'
import type { Json } from '../../../net/net.ts'
import type { Scope } from '../../../operations/caller.ts'
import type { Operations, Perform } from '../../../operations/operation.ts'
import { cancelSaga, listSagas, retrySaga, showSaga } from '../../../operations/sagas/sagas.ts'
import { sagaViewWire, sagaWire } from '../../../wire/saga.ts'
import { choiceOf, type Fields, idOf, need, readBody, textOf, wholeOf } from './body.ts'
import type { Control } from './names.ts'
import { Refusal } from './refusal.ts'
import { senderOf } from './sender.ts'

export interface ControlParams {
  readonly operations: Operations
  readonly logger: Logger | null
  readonly maxBytes: number
}

type Answer = { readonly [key: string]: unknown }

const MOST_LISTED = 200

type Act = (perform: Perform, fields: Fields) => Promise<Answer>

const ACTS: { readonly [what in Control]: { readonly scope: Scope; readonly act: Act } } = {
  status: { scope: 'read', act: async (perform, fields) => sagaViewWire(await perform(showSaga, named(fields))) },
  list: { scope: 'read', act: list },
  retry: { scope: 'enqueue', act: async (perform, fields) => sagaViewWire(await perform(retrySaga, named(fields))) },
  cancel: { scope: 'enqueue', act: async (perform, fields) => sagaViewWire(await perform(cancelSaga, named(fields))) },
}

/** `reach`: the tenant whose sagas the subject of the request selects; null: all sagas. */
export async function answerControl(
  { operations, logger, maxBytes }: ControlParams,
  what: Control,
  data: Uint8Array,
  reach: string | null,
): Promise<Json> {
  try {
    const fields = data.length === 0 ? {} : readBody(data, maxBytes)
    const tenant = textOf(fields, 'tenant_id') ?? null
    if (tenant !== null && reach !== null && tenant !== reach) return outOfReach(what, fields)
    const { scope, act } = ACTS[what]
    const sender = senderOf(scope, { subject: textOf(fields, 'actor', 200) ?? null, tenant: reach ?? tenant })
    return { ok: true, ...(await act(operations.for(sender), fields)) } as Json
  } catch (error) {
    const known = error instanceof PetrelError || error instanceof Refusal
    if (!known) logger?.error({ err: error }, `workflow.v1.${what} failed`)
    const { code, message } = known ? error : { code: 'unavailable', message: 'it could not be done just now' }
    return { ok: false, error: { code, message } }
  }
}

async function list(perform: Perform, fields: Fields): Promise<Answer> {
  const { rows, more } = await perform(listSagas, {
    state: choiceOf(fields, 'state', SAGA_STATES) ?? null,
    type: textOf(fields, 'type') ?? null,
    limit: wholeOf(fields, 'limit', { least: 1, most: MOST_LISTED }) ?? 50,
    before: idOf(fields, 'after') ?? null,
  })
  return { sagas: rows.map(sagaWire), next_after: more ? (rows.at(-1)?.id ?? null) : null }
}

/** The message names another tenant than its subject: nothing of that is there. */
function outOfReach(what: Control, fields: Fields): Json {
  if (what === 'list') return { ok: true, sagas: [], next_after: null }
  throw missing('saga', named(fields).id)
}

function named(fields: Fields): { readonly id: string } {
  return { id: need(idOf(fields, 'workflow_instance_id'), 'workflow_instance_id') }
}
