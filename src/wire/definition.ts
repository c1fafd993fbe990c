/** Definitions as /v1 and `--json` show them. */

import type { DefinitionHead, DefinitionRow } from '../model/definitions.ts'
import { json, time, type Wire } from './value.ts'

export function definitionWire(row: DefinitionHead): Wire {
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    number: row.number,
    latest: row.latest,
    dialect: row.dialect,
    tenant: row.tenant,
    trigger: json(row.trigger),
    net: row.netHash,
    source_hash: row.sourceHash,
    created_at: time(row.createdAt),
    created_by: row.createdBy,
    used_at: time(row.usedAt),
    retired_at: time(row.retiredAt),
  }
}

interface Deployed {
  readonly row: DefinitionHead
  readonly what: string
  readonly warnings: readonly object[]
}

/** With its text. */
export function sourceWire(row: DefinitionRow): Wire {
  return { ...definitionWire(row), source: row.source }
}

export function deployedWire({ row, what, warnings }: Deployed): Wire {
  return { definition: definitionWire(row), what, warnings }
}
