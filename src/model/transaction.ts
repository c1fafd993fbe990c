/** What a transaction loads, what it has loaded, and what it writes. */

import type { BulkDelta, BulkNeed, LoadedBulk } from './bulk/work.ts'
import type { NewCommand } from './commands.ts'
import type { DefinitionHead, DefinitionName, DefinitionRow } from './definitions.ts'
import type { FailureRow } from './errors/groups.ts'
import type { EventRow } from './events/events.ts'
import type { ParkedRow, PauseKey, PauseRow } from './pauses/pauses.ts'
import type { FiringNeed, FiringsLoaded } from './queries/firings.ts'
import type { FairPlace, FairTurnRow } from './queues/fair.ts'
import type { Listing } from './registry.ts'
import type {
  GateRow,
  InstanceRow,
  ItemChunk,
  JsonText,
  LimitRow,
  NetRow,
  QueueRow,
  RunRow,
  ScheduleRow,
  SlotRow,
  TermRow,
  UniqueRow,
  WorkerRow,
} from './rows.ts'
import type { DebounceRow } from './schedules/debounce.ts'
import type { FireRow } from './schedules/fires.ts'

/** What to load. Each part may be left out. Requesting something that is already loaded is harmless. */
export interface Need extends FiringNeed {
  /** Locked FOR UPDATE, ordered by id. */
  readonly runs?: readonly string[]
  readonly instances?: readonly string[]
  readonly slots?: readonly { readonly instanceId: string; readonly keys: readonly string[] }[]
  /** All slots of an instance whose key starts with a prefix. */
  readonly slotsWith?: readonly { readonly instanceId: string; readonly prefix: string }[]
  /** The slot with the greatest key under a prefix. */
  readonly topSlot?: readonly { readonly instanceId: string; readonly prefix: string }[]
  /** Pending runs of an instance (new, scheduled or between attempts): what a drain cancels at once. Locked. */
  readonly unstarted?: readonly { readonly instanceId: string; readonly limit: number }[]
  /**
   * Leased runs of an instance: all of them, or those that no worker of the engine holds (deferred, or held by plain SQL).
   * Locked.
   */
  readonly leased?: readonly {
    readonly instanceId: string
    readonly held: 'all' | 'unattended'
    readonly limit: number
  }[]
  /** Attached children that are not already ending (phase forward or final). */
  readonly openChildren?: readonly { readonly instanceId: string; readonly limit: number }[]
  readonly gates?: readonly string[]
  readonly openGates?: readonly { readonly instanceId: string; readonly limit: number }[]
  /** Items [from, from + count). */
  readonly items?: readonly {
    readonly instanceId: string
    readonly node: string
    readonly fire: number
    readonly from: number
    readonly count: number
  }[]
  /** Result of the latest succeeded work of a node (item −1: of a node that is not an `each`; item null: all items). */
  readonly results?: readonly { readonly instanceId: string; readonly node: string }[]
  /** Latest `work` run of a node (and item; −1: none), whatever its state. */
  readonly places?: readonly { readonly instanceId: string; readonly node: string; readonly item: number }[]
  /** Latest attached child started at a place of this instance. */
  readonly childPlaces?: readonly { readonly instanceId: string; readonly node: string; readonly item: number }[]
  readonly nets?: readonly string[]
  readonly queues?: readonly string[]
  /** Locked FOR UPDATE, ordered by key. */
  readonly limits?: readonly string[]
  /**
   * The same, after those; held even if there is no row: an unlimited one is created. Two transactions with the same
   * new limit are serialised.
   */
  readonly heldLimits?: readonly string[]
  /** Quota keys: whether an instance is queued under them. */
  readonly queuedUnder?: readonly string[]
  /** The best claimable runs, best first, locked FOR UPDATE SKIP LOCKED. */
  readonly candidates?: Candidates
  /** Smallest priority among claimable runs that this filter matches. Reads only. */
  readonly urgency?: readonly ClaimFilter[]
  /** The same for the next transaction: answered by the commit, not always before this one is decided. */
  readonly nextUrgency?: readonly ClaimFilter[]
  /** Existing runs with these idempotency keys. */
  readonly idempotencyKeys?: readonly string[]
  /** Existing instances with these start keys. */
  readonly startKeys?: readonly string[]
  /** Holders of unique keys, locked, ordered by key. */
  readonly uniques?: readonly string[]
  readonly sessions?: readonly string[]
  readonly schedules?: readonly string[]
  /** Keys of debounced starts, locked. */
  readonly debounces?: readonly string[]
  /** All versions of these names; the names are locked, even if there are none. */
  readonly definitions?: readonly DefinitionName[]
  readonly pauses?: readonly PauseKey[]
  /**
   * Roots that are about to be paused or resumed: waits until transactions of foreign clients have ended that gave back
   * runs of theirs, and blocks others until this one ends.
   */
  readonly foreignReturns?: readonly string[]
  /** Leased runs handed to a session in reply to a report: answers a repeated report. */
  readonly handedBy?: readonly { readonly sessionId: string; readonly reportId: string }[]
  readonly bulk?: readonly BulkNeed[]
}

/** Which runs a worker may take. Queues are exact names, types are in the format of type-filter.ts; null: any. */
export interface ClaimFilter {
  readonly queues: readonly string[] | null
  readonly types: readonly string[] | null
  readonly tenant: string | null
  /** Types that the registry binds to another runtime are left out; null: all types that it binds to any. */
  readonly runtime: string | null
}

export interface Candidates extends ClaimFilter {
  readonly limit: number
  /** Queues and limit keys found full in this transaction: their runs are skipped. */
  readonly skipQueues: readonly string[]
  readonly skipLimitKeys: readonly string[]
  /** true: a queue named earlier comes first, whatever the priorities; needs `queues`. */
  readonly inOrder?: boolean
  /** Limit for all payloads together: the first run that exceeds it is the last. */
  readonly maxBytes?: number
}

/**
 * Everything loaded so far. Missing rows are known to be missing: `slots.get(k)` is null, not undefined, once
 * requested.
 */
export interface Loaded extends FiringsLoaded {
  readonly now: number
  /**
   * The registry's entry for a type; null: none. Need not be requested: every transaction that hands out work uses it.
   */
  listing(type: string): Listing | null
  /**
   * The state of the pause of a definition or a type; null: there is none. As `listing`; undefined: a transaction of the
   * caller does not know it, and requests the pause.
   */
  pauseState(key: PauseKey): PauseRow['state'] | null | undefined
  readonly locked: ReadonlySet<string>
  readonly runs: ReadonlyMap<string, RunRow>
  readonly instances: ReadonlyMap<string, InstanceRow>
  /** Key: `${instanceId}/${slot key}`. Value null: known absent. */
  readonly slots: ReadonlyMap<string, string | null>
  /** Key: `${instanceId}/${prefix}`. */
  readonly slotsWith: ReadonlyMap<string, readonly SlotRow[]>
  readonly topSlot: ReadonlyMap<string, SlotRow | null>
  readonly unstarted: ReadonlyMap<string, readonly RunRow[]>
  readonly leased: ReadonlyMap<string, readonly RunRow[]>
  readonly openChildren: ReadonlyMap<string, readonly InstanceRow[]>
  readonly gates: ReadonlyMap<string, GateRow>
  readonly openGates: ReadonlyMap<string, readonly GateRow[]>
  /** Key: `${instanceId}/${node}/${fire}/${index}`; value: JSON text. */
  readonly items: ReadonlyMap<string, string>
  /** Key: `${instanceId}/${node}`; value: JSON text, null: no result. For an `each`: an object keyed by item index. */
  readonly results: ReadonlyMap<string, string | null>
  /** The firing that each result belongs to; no entry: none. */
  readonly resultFires: ReadonlyMap<string, number>
  /** Key: `${instanceId}/${node}/${item}`; null: none. */
  readonly places: ReadonlyMap<string, RunRow | null>
  readonly childPlaces: ReadonlyMap<string, InstanceRow | null>
  readonly nets: ReadonlyMap<string, NetRow>
  readonly queues: ReadonlyMap<string, QueueRow>
  readonly limits: ReadonlyMap<string, LimitRow>
  /** Requested, but held by another transaction: there is no room under them, and none can be returned. */
  readonly lockedLimits?: ReadonlySet<string>
  readonly queuedUnder: ReadonlyMap<string, boolean>
  readonly candidates: readonly RunRow[]
  /** Candidates of this and earlier rounds that were chosen by the turns of their keys. */
  readonly fairPlaces?: readonly FairPlace[]
  /** In the order of `need.urgency`; null: nothing is pending. */
  readonly urgency: readonly (number | null)[]
  /** In the order of `need.nextUrgency`. Not for `decide`: a store may ask together with the writes. */
  readonly nextUrgency: readonly (number | null)[]
  readonly idempotencyKeys: ReadonlyMap<string, RunRow>
  /** Requested idempotency keys whose run retention has removed: key → id of that run. Still taken. */
  readonly keptKeys?: ReadonlyMap<string, string>
  readonly startKeys: ReadonlyMap<string, InstanceRow>
  readonly uniques: ReadonlyMap<string, UniqueRow>
  readonly sessions: ReadonlyMap<string, WorkerRow>
  readonly schedules: ReadonlyMap<string, ScheduleRow>
  readonly debounces: ReadonlyMap<string, DebounceRow>
  /** By definitionKey, oldest first. */
  readonly definitions: ReadonlyMap<string, readonly DefinitionHead[]>
  /** By pauseName. */
  readonly pauses: ReadonlyMap<string, PauseRow>
  /** Key: `${sessionId}/${reportId}`. */
  readonly handedBy: ReadonlyMap<string, readonly RunRow[]>
  /** null: nothing was requested of bulk operations. */
  readonly bulk?: LoadedBulk | null
}

/** What to write. Rows in `update` are complete new rows; stores write only the columns that can change. */
export interface Delta {
  readonly instances?: { readonly insert?: readonly InstanceRow[]; readonly update?: readonly InstanceRow[] }
  readonly slots?: {
    readonly put?: readonly SlotRow[]
    readonly remove?: readonly { readonly instanceId: string; readonly key: string }[]
  }
  readonly runs?: {
    readonly insert?: readonly RunRow[]
    readonly update?: readonly RunRow[]
    readonly remove?: readonly string[]
  }
  readonly gates?: { readonly insert?: readonly GateRow[]; readonly update?: readonly GateRow[] }
  readonly items?: readonly ItemChunk[]
  /**
   * Instances whose leased runs get cancel_requested_at (if not set): their workers are asked to stop. Runs that this
   * delta inserts are excluded: they follow from the stop.
   */
  readonly signal?: readonly string[]
  readonly nets?: readonly NetRow[]
  /** Reserved for a root and everything nested in it. A taken one is a StoreConflictError. */
  readonly names?: readonly { readonly name: string; readonly rootId: string }[]
  readonly queues?: readonly QueueRow[]
  readonly limits?: readonly LimitRow[]
  readonly fairTurns?: readonly FairTurnRow[]
  readonly uniques?: { readonly put?: readonly UniqueRow[]; readonly remove?: readonly string[] }
  readonly workers?: { readonly put?: readonly WorkerRow[] }
  /** The history of a removed schedule is removed with it. */
  readonly schedules?: { readonly put?: readonly ScheduleRow[]; readonly remove?: readonly string[] }
  /** One that was not loaded is new: a conflict if another transaction has added it. */
  readonly debounces?: { readonly put?: readonly DebounceRow[]; readonly remove?: readonly string[] }
  /** Beyond MAX_FIRES the oldest of their schedules are removed. */
  readonly fires?: readonly FireRow[]
  /** Their names are locked. `put` writes whole rows. */
  readonly definitions?: {
    readonly put?: readonly DefinitionRow[]
    readonly retire?: readonly string[]
    readonly restore?: readonly string[]
    readonly tag?: readonly { readonly id: string; readonly tags: JsonText | null }[]
  }
  readonly pauses?: { readonly put?: readonly PauseRow[]; readonly remove?: readonly PauseKey[] }
  /** Replaces an earlier entry of the same row. */
  readonly parked?: readonly ParkedRow[]
  /** For runs that are deferred here. A previous command of the run is replaced. */
  readonly commands?: { readonly put?: readonly NewCommand[] }
  /** Those that exist already stay as they are. */
  readonly terms?: readonly TermRow[]
  readonly bulk?: BulkDelta
  /** To be counted into their groups. */
  readonly failures?: readonly FailureRow[]
  readonly events?: readonly EventRow[]
}
