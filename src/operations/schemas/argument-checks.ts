/** Arguments against the registered schemas. A schema describes the list of arguments; one of type `object` the first. */
import { type Check, compileSchema, misfitsOf } from '../../kernel/json-schema.ts'
import type { Settings } from '../../model/registry.ts'
import type { Json } from '../../net/net.ts'

const MOST_KEPT = 500
/** A schema that another server has deleted is still used for this long. */
const KEEP_MS = 2_000

export type Misfits = ReturnType<typeof misfitsOf>

interface Known {
  /** As stored; null: no schema is registered. */
  readonly schema: string | null
  readonly check: Check | null
  readonly ofFirst: boolean
  readonly until: number
}

export class ArgumentChecks {
  readonly #settings: Pick<Settings, 'schemaByUri'>
  readonly #known = new Map<string, Known>()

  constructor(settings: Pick<Settings, 'schemaByUri'>) {
    this.#settings = settings
  }

  forget(): void {
    this.#known.clear()
  }

  /** Empty: they fit, or no schema is registered under this URI. `path`: of the list of arguments. */
  async misfits(uri: string, args: readonly Json[], path: string): Promise<Misfits> {
    const { check, ofFirst } = await this.#find(uri)
    if (check === null) return []
    return ofFirst ? misfitsOf(check, args[0], `${path}.0`) : misfitsOf(check, args, path)
  }

  async #find(uri: string): Promise<Known> {
    const known = this.#known.get(uri)
    if (known !== undefined && known.until > performance.now()) return known
    const schema = (await this.#settings.schemaByUri(uri))?.schema ?? null
    const found = { ...(known?.schema === schema ? known : compiled(schema)), until: performance.now() + KEEP_MS }
    if (this.#known.size >= MOST_KEPT) this.#known.clear()
    this.#known.set(uri, found)
    return found
  }
}

function compiled(schema: string | null): Omit<Known, 'until'> {
  if (schema === null) return { schema, check: null, ofFirst: false }
  const parsed = JSON.parse(schema) as { readonly type?: unknown }
  return { schema, check: compileSchema(parsed), ofFirst: parsed.type === 'object' }
}
