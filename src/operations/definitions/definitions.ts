/** Definitions of the caller's tenant: deploy, list, get, retire. */
import { isStorable } from '../../kernel/json-limits.ts'
import type { DefinitionHead, DefinitionQuery, DefinitionRow } from '../../model/definitions.ts'
import { actorOf } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import type { Catalog, Deployed } from './catalog.ts'

interface Named {
  readonly name: string
  /** null: the latest. */
  readonly version: string | null
}

/** `file` is only used in errors. Repeating it changes nothing. */
export const deployDefinition = operation(
  { scope: 'admin' },
  async (
    use,
    given: { readonly file: string; readonly text: string; readonly tags?: readonly string[] },
  ): Promise<Deployed> => {
    const catalog = await catalogOf(use)
    return catalog.deploy({ ...given, tenant: use.caller.tenant, actor: actorOf(use.caller) })
  },
)

/** Reads definitions in service, for one that refers to them. */
export const deployedDefinitions = operation(
  { scope: 'read' },
  async (use, _: null): Promise<ReturnType<Catalog['deployed']>> => (await catalogOf(use)).deployed(use.caller.tenant),
)

/** The latest of each name, newest first. */
export const listDefinitions = operation(
  { scope: 'read' },
  ({ engine, caller }, query: Omit<DefinitionQuery, 'tenant' | 'name'>): Promise<Page<DefinitionHead>> => {
    const { definitions } = engine.queries
    const asked = { ...query, tenant: caller.tenant, name: null }
    return pageOf(query.limit, (limit) => definitions.list({ ...asked, limit }))
  },
)

/** Newest first. */
export const listVersions = operation(
  { scope: 'read' },
  async (use, { name, ...page }: Pick<Named, 'name'> & Paging): Promise<Page<DefinitionHead>> => {
    await findDefinition(use, { name, version: null })
    const asked = { ...page, tenant: use.caller.tenant, name, dialect: null }
    return pageOf(page.limit, (limit) => use.engine.queries.definitions.list({ ...asked, limit }))
  },
)

/** With its text. */
export const showDefinition = operation(
  { scope: 'read' },
  (use, named: Named): Promise<DefinitionRow> => findDefinition(use, named),
)

/** `version` null: all of them. They can no longer be started; running instances continue. */
export const retireDefinition = operation(
  { scope: 'admin' },
  async (use, named: Named): Promise<readonly DefinitionHead[]> => {
    await findDefinition(use, named)
    const catalog = await catalogOf(use)
    return catalog.retire({ ...named, tenant: use.caller.tenant, actor: actorOf(use.caller) })
  },
)

type Paging = Pick<DefinitionQuery, 'limit' | 'before'>

export async function findDefinition(use: Use, named: Named): Promise<DefinitionRow> {
  const { tenant } = use.caller
  // With an invalid name, one store would find nothing and the other would fail.
  const possible = [named.name, named.version ?? ''].every(isStorable)
  const row = possible ? await use.engine.queries.definitions.get({ ...named, tenant }) : null
  if (row !== null) return row
  const catalog = await catalogOf(use)
  throw await catalog.unknown({ ...named, tenant, ...(possible ? {} : { version: null }) })
}

/** Loads the compilers only for operations that need them, since the command line performs operations, too. */
async function catalogOf({ engine, logger }: Use): Promise<Catalog> {
  const { Catalog } = await import('./catalog.ts')
  return new Catalog({ engine, logger })
}
