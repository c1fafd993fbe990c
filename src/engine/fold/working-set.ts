/**
 * The working set of one transaction: the instances and runs that were loaded, what happenings have changed in them, and the
 * new rows. It is data only; the functions of this directory change it. Nothing here survives the transaction.
 * A function that lacks something throws NeedMore; the transaction loads it and folds again from the beginning.
 */

import type { OperationItemRow, OperationRow } from '../../model/bulk/rows.ts'
import type { Command, NewCommand } from '../../model/commands.ts'
import type { FailureRow } from '../../model/errors/groups.ts'
import type { NewEvent } from '../../model/events/events.ts'
import type { RunEventData } from '../../model/events/run-events.ts'
import type { ParkedRow, PauseKey, PauseRow } from '../../model/pauses/pauses.ts'
import type { FairTurnRow } from '../../model/queues/fair.ts'
import type {
  GateRow,
  InstanceRow,
  ItemChunk,
  NetRow,
  QueueRow,
  RunRow,
  ScheduleRow,
  TermRow,
  UniqueRow,
  WorkerRow,
} from '../../model/rows.ts'
import type { DebounceRow } from '../../model/schedules/debounce.ts'
import type { FireRow } from '../../model/schedules/fires.ts'
import type { Loaded, Need } from '../../model/transaction.ts'
import type { CompiledNet } from '../../net/compile.ts'
import type { Facts } from '../../net/facts.ts'
import type { Entries, Happening } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import type { SlotKey } from '../../net/slots.ts'
import type { Admission } from './admission.ts'
import type { Evaluators } from './evaluators.ts'
import { RecordedResults } from './recorded-results.ts'

/** An instance that takes part in the transaction. */
export interface Member {
  /** Its eventSeq is stale during the transaction; `seq` has the current number. */
  row: InstanceRow
  seq: number
  readonly net: CompiledNet
  readonly isNew: boolean
  dirty: boolean
  /** Changed slots, which hide the loaded ones; null: removed. */
  readonly slots: Map<SlotKey, Json | null>
  /** Known items: literal ones of a new instance (fire 0), and lists that were frozen in this transaction. */
  readonly items: Map<string, { readonly first: number; readonly values: readonly Json[] }>
  facts: Facts | null
}

/** Compiled nets in memory. */
interface Nets {
  get(hash: string): CompiledNet | undefined
  load(row: NetRow): CompiledNet
  /** Which net an instance runs. */
  remember(instanceId: string, hash: string): void
}

/** What a fold uses besides the loaded rows. */
export interface FoldDeps {
  readonly nets: Nets
  readonly evaluators: Evaluators
  readonly newId: () => string
  readonly maxDepth: number
}

/** A run that the next happening may redrive. */
export interface Redrive {
  readonly run: RunRow
  /** The command that was sent to a service for it, if there was one. */
  readonly command: Command | null
  /** Part of its event. */
  readonly about: Pick<NonNullable<RunEventData['redriven']>, 'gate'>
  readonly actor: string | null
}

/** A detached child, by the place that starts it. */
export interface DetachedChild {
  readonly id: string
  /** Its number among the children of its node. */
  readonly n: number
  /** The instance that this one retries has started it already. */
  readonly before: boolean
}

/** What a transaction changes of bulk operations. */
export interface BulkChanges {
  /** By id. */
  readonly operations: Map<string, OperationRow>
  /** By itemKey. */
  readonly items: Map<string, OperationItemRow>
  /** Roots of ended trees to remove. */
  readonly trees: Set<string>
}

export class WorkingSet {
  readonly loaded: Loaded
  readonly now: number
  readonly deps: FoldDeps
  readonly admission: Admission
  readonly members = new Map<string, Member>()
  /** Existing runs that were changed. */
  readonly runs = new Map<string, RunRow>()
  readonly newRuns = new Map<string, RunRow>()
  /** Runs to delete. */
  readonly removedRuns = new Set<string>()
  readonly gates = new Map<string, GateRow>()
  readonly newGates = new Map<string, GateRow>()
  readonly chunks: ItemChunk[] = []
  readonly netRows = new Map<string, NetRow>()
  readonly names: { readonly name: string; readonly rootId: string }[] = []
  readonly events: NewEvent[] = []
  /** Position of the `created` event of a new run. */
  readonly createdEvents = new Map<string, number>()
  readonly signalled = new Set<string>()
  readonly uniques = new Map<string, UniqueRow>()
  readonly queues = new Map<string, QueueRow>()
  fairTurns: readonly FairTurnRow[] = []
  readonly schedules = new Map<string, ScheduleRow>()
  readonly fires: FireRow[] = []
  /** By key; null: to remove. */
  readonly debounces = new Map<string, DebounceRow | null>()
  readonly workers = new Map<string, WorkerRow>()
  readonly commands = new Map<string, NewCommand>()
  /** By id and term. */
  readonly terms = new Map<string, TermRow>()
  readonly failures: FailureRow[] = []
  /** By pauseName. */
  readonly pauses = new Map<string, PauseRow>()
  readonly overPauses: PauseKey[] = []
  /** By the id of the row that waits. */
  readonly parked = new Map<string, ParkedRow>()
  readonly results = new RecordedResults()
  /** By place. */
  readonly detached = new Map<string, DetachedChild>()
  /** By node: how many children it has detached, with those of this transaction. */
  readonly detachedCounts = new Map<string, number>()
  /** By place. */
  readonly redrives = new Map<string, Redrive>()
  /** Of runs that were taken over from an earlier instance: their context entries, and whether it keeps the work. */
  readonly taken = new Map<string, { readonly set?: Entries; readonly kept?: true }>()
  /** Whether arguments stored out of line are the same in two instances. */
  readonly shared = new Map<string, boolean>()
  /** Relative times of new runs: part of their `created` event, in case the clock is set back. */
  readonly counted = new Map<string, { readonly delay_ms?: number; readonly expires_in_ms?: number }>()
  /** null: nothing. */
  bulk: BulkChanges | null = null
  readonly endedIds: string[] = []
  /** Quotas under which this transaction found or put an instance in the queue. */
  readonly queuedUnder = new Set<string>()
  /** Keys of requested rows that may not exist. */
  readonly asked: Set<string>
  /** Rows that must be loaded before a pass is valid, although the rest of this pass could be folded without them. */
  readonly lacking: Need[] = []
  /** Happenings that have not been folded yet. */
  readonly pending: { readonly id: string; readonly happening: Happening }[] = []

  constructor(loaded: Loaded, admission: Admission, deps: FoldDeps, asked: Set<string>) {
    this.loaded = loaded
    this.now = loaded.now
    this.asked = asked
    this.admission = admission
    this.deps = deps
  }
}

/** What functions need that find or add an instance. */
export type Members = Pick<WorkingSet, 'loaded' | 'members' | 'deps'>
/** What functions need that read slots, of members and of other instances. */
export type Slots = Pick<WorkingSet, 'loaded' | 'members'>
/** What functions need that record events. */
export type Events = Members & Pick<WorkingSet, 'events' | 'now'>
/** What functions need that find a run. */
export type Runs = Pick<WorkingSet, 'loaded' | 'runs' | 'newRuns'>
/** What functions need that replace a run. */
export type ChangedRuns = Pick<WorkingSet, 'runs' | 'newRuns'>
/** What functions need that record or read results. */
export type Results = Slots & Pick<WorkingSet, 'results' | 'lacking' | 'deps'>
/** What functions need that make instances and runs findable. */
export type Terms = Pick<WorkingSet, 'terms'>
/** What functions need that record failures for good. */
export type Failures = Members & Pick<WorkingSet, 'terms' | 'failures' | 'now'>
/** What functions need that schedule a happening. */
export type Pending = Pick<WorkingSet, 'pending'>

/** Folds the happening after the pending ones. */
export function follow(change: Pending, id: string, happening: Happening): void {
  change.pending.push({ id, happening })
}
