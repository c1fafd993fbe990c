/** A definition by name and version: it is there, or 404 with what there is instead. */

import type { DefinitionName, DefinitionRow } from '../../model/definitions.ts'
import type { Catalog } from '../../operations/definitions/catalog.ts'

export interface Asked extends DefinitionName {
  /** null: the latest. */
  readonly version: string | null
}

export async function findDefinition(catalog: Catalog, asked: Asked): Promise<DefinitionRow> {
  // What no row can hold breaks one store, and is not there for the other.
  const storable = [asked.name, asked.version ?? ''].every((text) => !text.includes('\0') && text.isWellFormed())
  const row = storable ? await catalog.get(asked) : null
  return row ?? Promise.reject(await catalog.unknown(storable ? asked : { ...asked, version: null }))
}
