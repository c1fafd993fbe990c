/** Entries of the registry: which runtime executes a type. */
import type { RuntimeRow } from '../model/registry.ts'
import { time, type Wire } from './value.ts'

export function registryWire(row: RuntimeRow & { readonly pending?: number }): Wire {
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
