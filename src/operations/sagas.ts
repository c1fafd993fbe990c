/** Sagas started, resumed and cancelled, whichever way the request comes: NATS, HTTP, the command line, a program. */
import type { EngineApi } from '../engine/api.ts'
import { missing, PetrelError } from '../kernel/errors.ts'
import type { DefinitionHead } from '../model/definitions.ts'
import type { InstanceRow } from '../model/rows.ts'
import type { Started } from '../model/start.ts'
import type { Json } from '../net/net.ts'
import { notationOf } from '../notations/notations.ts'
import { Catalog } from './definitions/catalog.ts'

export interface StartSaga {
  readonly name: string
  /** null: the latest. */
  readonly version: string | null
  readonly request: Json
  /** Left out: one is made. A second start with the same id changes nothing. */
  readonly id?: string
  /** A second start with the same key answers with the first. */
  readonly startKey?: string
  readonly correlationId?: string
  readonly tenant: string | null
  readonly actor: string | null
  readonly meta?: { readonly [key: string]: Json }
}

/** A tenant's own if there is one of that name, else everybody's. */
export async function startSaga(engine: EngineApi, p: StartSaga): Promise<Started> {
  const { tenant, name, version, id } = p
  const own = await engine.queries.definitions.find({ tenant, name, version })
  const head = own ?? (tenant === null ? null : await engine.queries.definitions.find({ tenant: null, name, version }))
  if (head === null) throw await new Catalog({ engine, logger: null }).unknown({ tenant, name, version })
  checkSaga(head)
  try {
    return await engine.startDefinition({
      name,
      version,
      owner: head.tenant,
      input: p.request,
      tenant,
      actor: p.actor,
      ...(id === undefined ? {} : { id }),
      ...(p.startKey === undefined ? {} : { startKey: p.startKey }),
      meta: { ...p.meta, ...(p.correlationId === undefined ? {} : { correlationId: p.correlationId }) },
      trigger: { kind: 'saga' },
    })
  } catch (error) {
    // Delivered twice, or sent twice: the first one did it.
    const taken = error instanceof PetrelError && error.code === 'duplicate' && id !== undefined
    const there = taken ? await engine.queries.sagas.get(id) : null
    if (there?.type === name && there.tenantId === tenant) return { id: there.id, created: false }
    throw error
  }
}

/** The work of a saga is done by services. */
function isSaga(of: { readonly dialect: string }): boolean {
  return notationOf(of)?.services !== undefined
}

function checkSaga({ name, dialect }: DefinitionHead): void {
  if (isSaga({ dialect })) return
  throw new PetrelError('invalid_request', `'${name}' is in service, but as ${dialect}, not as a saga`, {
    name,
    dialect,
  })
}

/** Goes on in place at what stopped it, under the same step ids. */
export async function retrySaga(engine: EngineApi, id: string, actor: string | null): Promise<InstanceRow> {
  const row = await find(engine, id)
  if (row.state !== 'failed') {
    throw new PetrelError('conflict', `saga ${id} is ${row.state}; only one that failed can go on`, {
      state: row.state,
    })
  }
  return engine.resumeInstance({ id, actor })
}

/** Nothing further is sent; what is in flight is awaited, and what was done is undone. */
export async function cancelSaga(engine: EngineApi, id: string, actor: string | null): Promise<InstanceRow> {
  await find(engine, id)
  return engine.cancelInstance({ id, actor, undo: true })
}

async function find(engine: EngineApi, id: string): Promise<InstanceRow> {
  const row = await engine.queries.instance(id)
  if (row !== null && isSaga(row)) return row
  throw missing('saga', id)
}
