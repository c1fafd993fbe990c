/** Entries of the registry: which runtime executes a type. */
import type { RuntimeRow } from '../model/registry.ts'
import { flag, list, time as moment, named, nullable, object, optional, text, type Value, whole } from './schema.ts'
import { time } from './value.ts'

export const RegistryEntry = named(
  'RegistryEntry',
  object({
    workflow_name: text('The type.'),
    intent_type: text(),
    runtime: text('The runtime of the workers that may take it.'),
    is_enabled: flag('false: no worker may take it.'),
    description: nullable(text()),
    created_at: moment(),
    updated_at: moment(),
    pending: optional(whole('Pending runs of the type. In lists.')),
  }),
)

export const RegistryReply = named('RegistryReply', object({ entry: RegistryEntry }))
export const RegistryList = named('RegistryList', object({ entries: list(RegistryEntry) }))

export function registryWire(row: RuntimeRow & { readonly pending?: number }): Value<typeof RegistryEntry> {
  return {
    workflow_name: row.workflowName,
    intent_type: row.intentType,
    runtime: row.runtime,
    is_enabled: row.isEnabled,
    description: row.description,
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
    ...(row.pending === undefined ? {} : { pending: row.pending }),
  }
}
