/**
 * The registry, and the pauses of definitions and types, as this process last read them. Every change, by any client, increments a version in the
 * settings (by a trigger). A transaction reads the version along with the clock, or has it checked along with its
 * writes (expect_rows); only if it has changed is the table read again, as a whole: it is small, and it is not known in
 * advance which runs a transaction will hand out.
 */
import { type PauseKey, type PauseKind, type PauseRow, pauseName } from '../../model/pauses/pauses.ts'
import type { Listing } from '../../model/registry.ts'
import { type Call, statement } from './connection/statement.ts'

/** In one snapshot; one row without a name if there is no rule. */
const LISTED = statement(
  `SELECT (SELECT s.value FROM workflow.workflow_setting s WHERE s.key = 'registry_version'), r.name, r.about, r.is_enabled, r.pause
   FROM (VALUES (1)) one LEFT JOIN (
     SELECT g.workflow_name AS name, g.runtime AS about, g.is_enabled, NULL AS pause
     FROM workflow.workflow_registry g WHERE g.deleted_at IS NULL
     UNION ALL
     SELECT p.key, p.state, NULL, p.kind FROM workflow.workflow_pause p WHERE p.kind IN ('definition', 'type')
   ) r ON true`,
)

export interface Listings {
  readonly version: string
  readonly types: ReadonlyMap<string, Listing>
  /** Of definitions and types, by pauseName. */
  readonly pauses: ReadonlyMap<string, PauseRow['state']>
}

export function pauseStateIn({ pauses }: Listings, key: PauseKey): PauseRow['state'] | null {
  return pauses.size === 0 ? null : (pauses.get(pauseName(key)) ?? null)
}

export class KnownListings {
  latest: Listings = { version: '', types: new Map(), pauses: new Map() }

  /** A version that no store has. */
  forget(): void {
    this.latest = { version: 'unknown', types: new Map(), pauses: new Map() }
  }

  /** The listings of a version that a transaction met; `fly` queries on its connection. */
  async at(version: string, fly: (calls: readonly Call[]) => Promise<unknown>): Promise<Listings> {
    if (this.latest.version === version) return this.latest
    const types = new Map<string, Listing>()
    const pauses = new Map<string, PauseRow['state']>()
    let read = ''
    const row: Call['row'] = ([found, name, about, enabled, pause]) => {
      read = found ?? ''
      if (name == null) return
      if (pause == null) types.set(name, { runtime: about as string, enabled: enabled === 't' })
      else pauses.set(pauseName({ kind: pause as PauseKind, key: name }), about as PauseRow['state'])
    }
    await fly([{ statement: LISTED, values: [], row }])
    this.latest = { version: read, types, pauses }
    return this.latest
  }
}
