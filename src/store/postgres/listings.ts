/**
 * The registry as this process last read it. Every change of the table, by any client, increments a version in the
 * settings (by a trigger). A transaction reads the version along with the clock, or has it checked along with its
 * writes (expect_rows); only if it has changed is the table read again, as a whole: it is small, and it is not known in
 * advance which runs a transaction will hand out.
 */
import type { Listing } from '../../model/registry.ts'
import { type Call, statement } from './connection/statement.ts'

/** In one snapshot; one row without a type if nothing is listed. */
const LISTED = statement(
  `SELECT (SELECT s.value FROM workflow.workflow_setting s WHERE s.key = 'registry_version'), g.workflow_name, g.runtime, g.is_enabled
   FROM (VALUES (1)) one LEFT JOIN workflow.workflow_registry g ON g.deleted_at IS NULL`,
)

export interface Listings {
  readonly version: string
  readonly types: ReadonlyMap<string, Listing>
}

export class KnownListings {
  latest: Listings = { version: '', types: new Map() }

  /** A version that no store has. */
  forget(): void {
    this.latest = { version: 'unknown', types: new Map() }
  }

  /** The listings of a version that a transaction met; `fly` queries on its connection. */
  async at(version: string, fly: (calls: readonly Call[]) => Promise<unknown>): Promise<Listings> {
    if (this.latest.version === version) return this.latest
    const types = new Map<string, Listing>()
    let read = ''
    const row: Call['row'] = ([found, type, runtime, enabled]) => {
      read = found ?? ''
      if (type != null) types.set(type, { runtime: runtime as string, enabled: enabled === 't' })
    }
    await fly([{ statement: LISTED, values: [], row }])
    this.latest = { version: read, types }
    return this.latest
  }
}
