/** The registry of schemas that arguments are checked against. All tenants share it; a version never changes. */
import type { SchemaRow } from '../../model/registry.ts'
import type { Json } from '../../net/net.ts'
import { actorOf } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import type { Misfits } from './argument-checks.ts'

/** By type and version; without a version, the newest of the type. Or by URI, which may also be a type. */
export type SchemaName = { readonly type: string; readonly version: string | null } | { readonly uri: string }

const CHANGES = { scope: 'admin', shared: true } as const

/** Oldest first. */
export const listSchemas = operation(
  { scope: 'read' },
  ({ engine }, _: null): Promise<readonly SchemaRow[]> => engine.records.settings.schemas({ type: null }),
)

/** By version. */
export const listSchemaVersions = operation({ scope: 'read' }, versionsOf)

/** null: there is none. */
export const showSchema = operation({ scope: 'read' }, find)

/** null: the URI, or the version of the type, is already used. */
export const registerSchema = operation(
  CHANGES,
  async (
    { engine, caller, argumentChecks },
    asked: Pick<SchemaRow, 'uri' | 'type' | 'version' | 'schema'>,
  ): Promise<SchemaRow | null> => {
    const row = { ...asked, createdAt: await engine.queries.now(), createdBy: actorOf(caller) }
    if (!(await engine.records.settings.addSchema(row))) return null
    argumentChecks.forget()
    return row
  },
)

/** null: there is none. */
export const removeSchema = operation(CHANGES, async (use, name: SchemaName): Promise<SchemaRow | null> => {
  const row = await find(use, name)
  if (row === null || !(await use.engine.records.settings.removeSchema(row.uri))) return null
  use.argumentChecks.forget()
  return row
})

/** The mistakes in arguments according to the schema that they name. `path`: of the list of arguments. */
export const checkArguments = operation(
  { scope: 'enqueue' },
  (
    { argumentChecks },
    { uri, args, path }: { readonly uri: string; readonly args: readonly Json[]; readonly path: string },
  ): Promise<Misfits> => argumentChecks.misfits(uri, args, path),
)

async function find(use: Use, name: SchemaName): Promise<SchemaRow | null> {
  if ('uri' in name) {
    const row = await use.engine.records.settings.schemaByUri(name.uri)
    return row ?? find(use, { type: name.uri, version: null })
  }
  const versions = await versionsOf(use, name)
  return (name.version === null ? versions.at(-1) : versions.find(({ version }) => version === name.version)) ?? null
}

async function versionsOf({ engine }: Use, { type }: { readonly type: string }): Promise<readonly SchemaRow[]> {
  return [...(await engine.records.settings.schemas({ type }))].sort(byVersion)
}

function byVersion(a: SchemaRow, b: SchemaRow): number {
  const [left, right] = [a, b].map(({ version }) => version.split('.').map(Number)) as [number[], number[]]
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
