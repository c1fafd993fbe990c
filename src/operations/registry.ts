/** Which runtime executes a type, and whether it is enabled. All tenants share the registry. */
import { PetrelError } from '../kernel/errors.ts'
import type { ListingParams, RuntimeRow, TypeRegistry } from '../model/registry.ts'
import { actorOf } from './caller.ts'
import { operation } from './operation.ts'

interface ByName {
  /** The type. */
  readonly name: string
}

const LOOK = { scope: 'read', shared: true } as const
const CHANGE = { scope: 'admin', shared: true } as const

/** By name. */
export const listRegistry = operation(
  LOOK,
  ({ engine }, _: null): ReturnType<TypeRegistry['list']> => engine.registry.list(),
)

export const showRegistryEntry = operation(LOOK, async ({ engine }, { name }: ByName): Promise<RuntimeRow> => {
  const row = await engine.registry.get(name)
  if (row === null) throw unlisted(name)
  return row
})

/** Missing fields keep their value, so that naming the runtime of a type does not enable it. */
export const putRegistryEntry = operation(
  CHANGE,
  ({ engine, caller }, entry: Omit<ListingParams, 'actor'>): Promise<RuntimeRow> =>
    engine.registry.put({ ...entry, actor: actorOf(caller) }),
)

/** The same for a type that is already registered. */
export const changeRegistryEntry = operation(
  CHANGE,
  async (use, entry: Omit<ListingParams, 'actor'>): Promise<RuntimeRow> => {
    await showRegistryEntry.run(use, { name: entry.workflowName })
    return putRegistryEntry.run(use, entry)
  },
)

/** The removed entry: its type is open to all workers. */
export const removeRegistryEntry = operation(CHANGE, async (use, { name }: ByName): Promise<RuntimeRow> => {
  const row = await showRegistryEntry.run(use, { name })
  if (!(await use.engine.registry.remove(name, actorOf(use.caller)))) throw unlisted(name)
  return row
})

function unlisted(name: string): PetrelError {
  return new PetrelError('not_found', `there is no registry entry ${name}`, {
    kind: 'registry entry',
    id: name,
    hint: 'A type that is not listed is open to all workers.',
  })
}
