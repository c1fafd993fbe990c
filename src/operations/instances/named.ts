/**
 * Instances of one notation under names that its clients choose: started, found, listed, cancelled, retried. A name can
 * also belong to a nested instance that has not started yet.
 */
import { missing, PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import { MAX_COUNTED } from '../../kernel/limits.ts'
import { storedKey } from '../../kernel/scoped-names.ts'
import type { RootQuery } from '../../model/queries/trees.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { StartParams } from '../../model/start.ts'
import { actorOf, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { refuseQueueLimits } from '../queues/limits.ts'

export interface InstanceName {
  readonly dialect: string
  /** As the caller gives it: the id, or the name. */
  readonly id: string
  /** The stored form of this name, in the tenant of the caller. */
  readonly startKey: string
}

/** `within`: the root that will create an instance of this name; null: none. */
export interface NotYet {
  readonly within: InstanceRow | null
}

export type Named = InstanceRow | NotYet

export const findNamedInstance = operation({ scope: 'read' }, find)

/** Not a second time, even while active work is still awaited. */
export const cancelNamedInstance = operation({ scope: 'enqueue' }, async (use, name: InstanceName): Promise<Named> => {
  const found = await find(use, name)
  if ('within' in found) return found
  return use.engine.cancelInstance({ id: found.id, actor: actorOf(use.caller), once: true })
})

/** The new instance. */
export const retryNamedInstance = operation({ scope: 'enqueue' }, async (use, name: InstanceName): Promise<Named> => {
  const found = await find(use, name)
  if ('within' in found) return found
  const { id } = await use.engine.retryInstance({ id: found.id, actor: actorOf(use.caller) })
  return created(use, id)
})

/** `taken`: a start key that another instance has, so that nothing was started. */
export type StartedOnce = InstanceRow | { readonly taken: string }

/** Starts an instance and reserves its start key, and the start keys of all instances that it will create. */
export const startNamedInstance = operation(
  { scope: 'enqueue' },
  async (use, asked: Omit<StartParams, 'tenant' | 'initiator'>): Promise<StartedOnce> => {
    const { tenant } = use.caller
    const initiator = actorOf(use.caller)
    const start = { ...asked, ...(tenant === null ? {} : { tenant }), ...(initiator === null ? {} : { initiator }) }
    refuseQueueLimits(use.caller, start.limits)
    const before = await takenOf(use, start)
    if (before !== null) return { taken: before }
    try {
      const [made] = await use.engine.start([start])
      if (made === undefined) throw new Error('one start in, none out')
      if (!made.created) return { taken: storedKey(start.startKey, start.tenant) ?? '' }
      return created(use, made.id)
    } catch (error) {
      // A concurrent request used one of the names first.
      const since = error instanceof PetrelError && error.code === 'duplicate' ? await takenOf(use, start) : null
      if (since === null) throw error
      return { taken: since }
    }
  },
)

export interface RootPage {
  readonly rows: readonly InstanceRow[]
  readonly more: boolean
  /** Counted up to MAX_COUNTED. */
  readonly total: number
}

/** Root instances, newest first. */
export const listRoots = operation(
  { scope: 'read' },
  async ({ engine, caller: { tenant } }, query: Omit<RootQuery, 'tenant'>): Promise<RootPage> => {
    const { trees } = engine.queries
    const [rows, total] = await Promise.all([
      trees.roots({ ...query, tenant, limit: query.limit + 1 }),
      trees.countRoots({ ...query, tenant }, MAX_COUNTED),
    ])
    return { rows: rows.slice(0, query.limit), more: rows.length > query.limit, total }
  },
)

async function find({ engine, caller }: Use, { dialect, id: given, startKey }: InstanceName): Promise<Named> {
  const { queries } = engine
  const id = readId(given)
  const row = (id === null ? null : await queries.instance(id)) ?? (await queries.trees.instanceByKey(startKey))
  if (row !== null && row.dialect === dialect && maySee(caller, row)) return row
  const rootId = (await queries.trees.nameHolders([startKey])).get(startKey)
  const within = rootId === undefined ? null : await queries.instance(rootId)
  return { within: within !== null && maySee(caller, within) ? within : null }
}

async function takenOf({ engine }: Use, { names = [] }: StartParams): Promise<string | null> {
  if (names.length === 0) return null
  const [name] = (await engine.queries.trees.nameHolders(names)).keys()
  return name ?? null
}

async function created({ engine }: Use, id: string): Promise<InstanceRow> {
  const row = await engine.queries.instance(id)
  if (row !== null) return row
  // Removed since.
  throw missing('instance', id)
}
