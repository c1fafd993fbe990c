/** Sagas: started, listed, shown, resumed and cancelled. */
import { missing, PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import type { RefusedRow } from '../../model/commands.ts'
import type { DefinitionHead } from '../../model/definitions.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { SagaQuery, SagaRow, SagaView } from '../../model/sagas.ts'
import type { Started } from '../../model/start.ts'
import type { Json } from '../../net/net.ts'
import { notationOf } from '../../notations/notations.ts'
import { actorOf, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import { sagaView } from './view.ts'

interface ById {
  readonly id: string
}

export interface StartSaga {
  readonly name: string
  /** null: the latest. */
  readonly version: string | null
  readonly request: Json
  /** If absent, one is generated. A second start with the same id changes nothing. */
  readonly id?: string
  /** A second start with the same key returns the first. */
  readonly startKey?: string
  readonly correlationId?: string
  readonly meta?: { readonly [key: string]: Json }
  readonly tags?: readonly string[]
  readonly fairKey?: string
}

/** The definition of this name in the caller's tenant, or else the common one. */
export const startSaga = operation({ scope: 'enqueue' }, async (use, p: StartSaga): Promise<Started> => {
  const { engine, caller } = use
  const { tenant } = caller
  const { name, version, id } = p
  const head = await headOf(use, p)
  checkSaga(head)
  try {
    return await engine.startDefinition({
      name,
      version,
      owner: head.tenant,
      input: p.request,
      tenant,
      actor: actorOf(caller),
      ...(id === undefined ? {} : { id }),
      ...(p.startKey === undefined ? {} : { startKey: p.startKey }),
      meta: { ...p.meta, ...(p.correlationId === undefined ? {} : { correlationId: p.correlationId }) },
      ...(p.tags === undefined ? {} : { tags: p.tags }),
      ...(p.fairKey === undefined ? {} : { fairKey: p.fairKey }),
      trigger: { kind: 'saga' },
    })
  } catch (error) {
    // Delivered or sent twice: the first delivery did it.
    const taken = error instanceof PetrelError && error.code === 'duplicate' && id !== undefined
    const there = taken ? await engine.queries.sagas.get(id) : null
    if (there?.type === name && there.tenantId === tenant) return { id: there.id, created: false }
    throw error
  }
})

async function headOf({ engine, caller: { tenant } }: Use, { name, version }: StartSaga): Promise<DefinitionHead> {
  const { definitions } = engine.queries
  const own = await definitions.find({ tenant, name, version })
  const head = own ?? (tenant === null ? null : await definitions.find({ tenant: null, name, version }))
  if (head !== null) return head
  const { Catalog } = await import('../definitions/catalog.ts')
  throw await new Catalog({ engine, logger: null }).unknown({ tenant, name, version })
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

/** Newest first. */
export const listSagas = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, query: Omit<SagaQuery, 'tenant'>): Promise<Page<SagaRow>> =>
    pageOf(query.limit, (limit) => engine.queries.sagas.list({ ...query, tenant, limit })),
)

/** With its steps, and the effects that its rollback has not undone. */
export const showSaga = operation(
  { scope: 'read' },
  async (use, { id }: ById): Promise<SagaView> => sagaView(use.engine, await findSaga(use, id)),
)

/** Continues in place after a stop, under the same step ids. */
export const retrySaga = operation({ scope: 'enqueue' }, async (use, { id: name }: ById): Promise<SagaView> => {
  const { id } = await findSaga(use, name)
  const row = await instanceOf(use, id)
  if (row.state !== 'failed') {
    throw new PetrelError('conflict', `saga ${id} is ${row.state}; only one that failed can be resumed`, {
      state: row.state,
    })
  }
  await use.engine.resumeInstance({ id, actor: actorOf(use.caller) })
  return showSaga.run(use, { id })
})

/** Sends nothing further, waits for steps in flight, and undoes completed ones. */
export const cancelSaga = operation({ scope: 'enqueue' }, async (use, { id: name }: ById): Promise<SagaView> => {
  const { id } = await findSaga(use, name)
  await instanceOf(use, id)
  await use.engine.cancelInstance({ id, actor: actorOf(use.caller), undo: true })
  return showSaga.run(use, { id })
})

/** Rejected messages on NATS, newest first. They belong to no tenant. */
export const listRefused = operation(
  { scope: 'admin', shared: true },
  (
    { engine },
    { limit, before }: { readonly limit: number; readonly before: number | null },
  ): Promise<Page<RefusedRow>> => pageOf(limit, (most) => engine.commands.refused.list({ limit: most, before })),
)

async function findSaga({ engine, caller }: Use, given: string): Promise<SagaRow> {
  const id = readId(given)
  if (id === null) {
    throw new PetrelError('not_found', `there is no saga ${given}`, {
      kind: 'saga',
      id: given,
      hint: 'The id of a saga is a UUID.',
    })
  }
  const saga = await engine.queries.sagas.get(id)
  if (saga === null || !maySee(caller, { tenant: saga.tenantId })) throw missing('saga', given)
  return saga
}

async function instanceOf({ engine }: Use, id: string): Promise<InstanceRow> {
  const row = await engine.queries.instance(id)
  if (row !== null && isSaga(row)) return row
  throw missing('saga', id)
}
