/** What an operator wants to know first. No part of it grows with the store. */
import type { Retention } from '../../engine/api.ts'
import type { Operation } from '../../model/bulk/rows.ts'
import type { ErrorGroupRow } from '../../model/errors/groups.ts'
import type { PauseRow } from '../../model/pauses/pauses.ts'
import type { OpenGates } from '../../model/queries/overview.ts'
import { operation } from '../operation.ts'
import type { Shared } from './shared.ts'

const DAY_MS = 86_400_000
/** The groups with the most recent failures, among which the others are found. */
const MOST_GROUPS = 500
const TOP_GROUPS = 5
const MOST_LISTED = 20

export interface Overview {
  readonly now: number
  readonly gates: OpenGates
  readonly errors: {
    /** Open ones. */
    readonly open: number
    /** First seen in the last 24 hours. */
    readonly fresh: number
    /** There are more groups than were looked at. */
    readonly more: boolean
    readonly top: readonly ErrorGroupRow[]
  }
  readonly pauses: readonly PauseRow[]
  readonly operations: readonly Operation[]
  /** What concerns all tenants; null: the caller belongs to one. */
  readonly shared: (Shared & { readonly retention: Retention }) | null
}

export const readOverview = operation({ scope: 'read' }, async (use, _: null): Promise<Overview> => {
  const { engine, caller, shared } = use
  const { tenant } = caller
  const [now, gates, groups, pauses, operations, ofAll] = await Promise.all([
    engine.queries.now(),
    engine.queries.overview.openGates({ tenant }),
    engine.errorGroups.list({ tenant, states: ['open'], text: null, limit: MOST_GROUPS, before: null }),
    engine.pauses.list({ tenant, limit: MOST_LISTED, before: null }),
    engine.bulk.list({ tenant, states: ['running'], limit: MOST_LISTED, before: null }),
    caller.bound ? null : shared.get(),
  ])
  const { rows } = groups
  return {
    now,
    gates,
    errors: {
      open: rows.length,
      fresh: rows.filter(({ firstAt }) => firstAt > now - DAY_MS).length,
      more: groups.next !== null,
      top: rows.toSorted((a, b) => b.count - a.count).slice(0, TOP_GROUPS),
    },
    pauses: pauses.filter(({ resumedAt }) => resumedAt === null),
    operations,
    shared: ofAll === null ? null : { ...ofAll, retention: engine.storage.retention },
  }
})
