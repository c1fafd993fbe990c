/**
 * What the engine asks of a database. Every change of state is one `transact`: lock, load, decide, write, commit.
 * `decide` is synchronous and may be called again (after a deadlock, a serialization failure or a lost connection
 * before commit), so it must depend on nothing but what was loaded. No SQL exists outside the two stores.
 */

import type { Commands, NewCommand } from './commands.ts'
import type { DefinitionHead, DefinitionName, DefinitionRow, Definitions } from './definitions.ts'
import type { FiringNeed, FiringsLoaded, ResultAt, ResultText } from './firings.ts'
import type { InboxPage, InboxQuery, TypeDepth } from './inbox.ts'
import type { InboxSchedules } from './inbox-schedules.ts'
import type { Overview } from './overview.ts'
import type { Listing, Registry } from './registry.ts'
import type {
  EventRow,
  GateRow,
  InstanceRow,
  ItemChunk,
  JsonText,
  KeyRow,
  LimitRow,
  NetRow,
  QueueCounts,
  QueueRow,
  RunError,
  RunRow,
  RunStatus,
  ScheduleRow,
  SlotRow,
  StoredEvent,
  TotalRow,
  UniqueRow,
  WorkerRow,
} from './rows.ts'
import type { SagaReads } from './sagas.ts'
import type { Saved } from './saved.ts'
import type { StepReads } from './steps.ts'
import type { TreeReads } from './trees.ts'
import type { Webhooks } from './webhooks.ts'

export interface Store {
  readonly kind: 'sqlite' | 'postgres'

  /** Applies missing migrations under a lock; refuses a database with a newer schema or a changed checksum. */
  migrate(): Promise<{ readonly applied: readonly string[]; readonly version: number }>
  close(): Promise<void>
  /** The store's clock. */
  now(): Promise<number>
  /** Moves the store's clock relative to the machine's, for every process on this store (tests, dry runs). */
  moveClock(offsetMs: number): Promise<void>

  /**
   * The one way anything changes. Locks the roots (ordered by id), loads the need, lets `decide` ask for more until it
   * gives a delta, writes it, commits. Lock order: root instances → runs → limits → unique keys, each ordered.
   */
  transact<T>(params: Transaction<T>): Promise<T>

  /** Called after other processes' commits that may interest us; see Wake. Returns an unsubscribe function. */
  onWake(listener: (wake: Wake) => void): () => void
  /** Tells other processes; coalesced, after commit, never inside a transaction. */
  wake(wake: Wake): void

  /** For tests: empties every table but migrations, settings, keys, and nets (named by their content, so never wrong). */
  reset(): Promise<void>

  readonly read: Reads
  readonly sweep: Sweeps
  readonly keys: Keys
  readonly saved: Saved
  readonly webhooks: Webhooks
  readonly registry: Registry
  readonly overview: Overview
  readonly inboxSchedules: InboxSchedules
  readonly definitions: Definitions
  readonly commands: Commands
  readonly sagas: SagaReads
}

export interface Transaction<T> {
  /** Root instances to lock FOR UPDATE. */
  readonly roots: readonly string[]
  /** true: wait for a locked root. false: SKIP LOCKED; skipped roots are missing from `loaded.locked`. */
  readonly wait: boolean
  readonly need: Need
  decide(loaded: Loaded): { readonly need: Need } | { readonly delta: Delta; readonly result: T }
}

/** What to load. Each part may be left out. Asking again for something already loaded is harmless. */
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
  /** Leased runs of an instance that no worker of ours holds: deferred, or held by plain SQL. Locked. */
  readonly unattended?: readonly { readonly instanceId: string; readonly limit: number }[]
  /** Attached children that are not ending already (phase forward or final). */
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
  /** Result of the latest succeeded work of a node (item −1: of a node that is no `each`; item null: all items). */
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
   * The same, after those; held even where there is no row: an unlimited one is made. Two that bring the same new limit
   * come one after the other.
   */
  readonly heldLimits?: readonly string[]
  /** Slot keys: is any instance queued under them? */
  readonly queuedUnder?: readonly string[]
  /** The best claimable runs, best first, locked FOR UPDATE SKIP LOCKED. */
  readonly candidates?: Candidates
  /** Smallest priority among claimable runs that this filter matches. Reads only. */
  readonly urgency?: readonly ClaimFilter[]
  /** The same for the next transaction: answered by the commit, not always by the time this one is decided. */
  readonly nextUrgency?: readonly ClaimFilter[]
  /** Existing runs with these idempotency keys. */
  readonly idempotencyKeys?: readonly string[]
  /** Existing instances with these start keys. */
  readonly startKeys?: readonly string[]
  /** Holders of unique keys, locked, ordered by key. */
  readonly uniques?: readonly string[]
  readonly sessions?: readonly string[]
  readonly schedules?: readonly string[]
  /** All versions of these names; the names are locked, whether or not there are any. */
  readonly definitions?: readonly DefinitionName[]
  /** Leased runs handed to a session by a report: answers a repeated report. */
  readonly handedBy?: readonly { readonly sessionId: string; readonly reportId: string }[]
}

/** Which runs a worker may take. Queues are exact names, types as type-filter.ts reads them; null: any. */
export interface ClaimFilter {
  readonly queues: readonly string[] | null
  readonly types: readonly string[] | null
  readonly tenant: string | null
  /** Types that the registry binds to another runtime are left out; null: all that it binds to any. */
  readonly runtime: string | null
}

export interface Candidates extends ClaimFilter {
  readonly limit: number
  /** Queues and limit keys found full in this transaction: their runs are passed over. */
  readonly skipQueues: readonly string[]
  readonly skipLimitKeys: readonly string[]
  /** true: a queue named earlier comes first, whatever the priorities; needs `queues`. */
  readonly inOrder?: boolean
}

/** Everything loaded so far. Absent things are known absent: `slots.get(k)` is null, not undefined, once asked for. */
export interface Loaded extends FiringsLoaded {
  readonly now: number
  /** What the registry says of a type; null: nothing. Need not be asked for: whoever hands out work must know it. */
  listing(type: string): Listing | null
  readonly locked: ReadonlySet<string>
  readonly runs: ReadonlyMap<string, RunRow>
  readonly instances: ReadonlyMap<string, InstanceRow>
  /** Key: `${instanceId}/${slot key}`. Value null: known absent. */
  readonly slots: ReadonlyMap<string, string | null>
  /** Key: `${instanceId}/${prefix}`. */
  readonly slotsWith: ReadonlyMap<string, readonly SlotRow[]>
  readonly topSlot: ReadonlyMap<string, SlotRow | null>
  readonly unstarted: ReadonlyMap<string, readonly RunRow[]>
  readonly unattended: ReadonlyMap<string, readonly RunRow[]>
  readonly openChildren: ReadonlyMap<string, readonly InstanceRow[]>
  readonly gates: ReadonlyMap<string, GateRow>
  readonly openGates: ReadonlyMap<string, readonly GateRow[]>
  /** Key: `${instanceId}/${node}/${fire}/${index}`; value: JSON text. */
  readonly items: ReadonlyMap<string, string>
  /** Key: `${instanceId}/${node}`; value: JSON text, null: no result. For an `each`: an object keyed by item index. */
  readonly results: ReadonlyMap<string, string | null>
  /** Of which firing they are; no entry: of none. */
  readonly resultFires: ReadonlyMap<string, number>
  /** Key: `${instanceId}/${node}/${item}`; null: none. */
  readonly places: ReadonlyMap<string, RunRow | null>
  readonly childPlaces: ReadonlyMap<string, InstanceRow | null>
  readonly nets: ReadonlyMap<string, NetRow>
  readonly queues: ReadonlyMap<string, QueueRow>
  readonly limits: ReadonlyMap<string, LimitRow>
  readonly queuedUnder: ReadonlyMap<string, boolean>
  readonly candidates: readonly RunRow[]
  /** In the order of `need.urgency`; null: nothing is pending. */
  readonly urgency: readonly (number | null)[]
  /** In the order of `need.nextUrgency`. Not for `decide`: a store may ask together with the writes. */
  readonly nextUrgency: readonly (number | null)[]
  readonly idempotencyKeys: ReadonlyMap<string, RunRow>
  /** Asked-for idempotency keys whose run retention has removed: key → id of that run. Still taken. */
  readonly keptKeys?: ReadonlyMap<string, string>
  readonly startKeys: ReadonlyMap<string, InstanceRow>
  readonly uniques: ReadonlyMap<string, UniqueRow>
  readonly sessions: ReadonlyMap<string, WorkerRow>
  readonly schedules: ReadonlyMap<string, ScheduleRow>
  /** By definitionKey, oldest first. */
  readonly definitions: ReadonlyMap<string, readonly DefinitionHead[]>
  /** Key: `${sessionId}/${reportId}`. */
  readonly handedBy: ReadonlyMap<string, readonly RunRow[]>
}

/** What to write. Rows in `update` carry the whole new row; stores write only the columns that can change. */
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
  /** Instances whose leased runs get cancel_requested_at (if not set): their workers are asked to stop. */
  readonly signal?: readonly string[]
  readonly nets?: readonly NetRow[]
  /** Reserved for a root and what is nested in it. A taken one is a StoreConflictError. */
  readonly names?: readonly { readonly name: string; readonly rootId: string }[]
  readonly queues?: readonly QueueRow[]
  readonly limits?: readonly LimitRow[]
  readonly uniques?: { readonly put?: readonly UniqueRow[]; readonly remove?: readonly string[] }
  readonly workers?: { readonly put?: readonly WorkerRow[] }
  readonly schedules?: { readonly put?: readonly ScheduleRow[]; readonly remove?: readonly string[] }
  /** Their names are locked. `put` writes whole rows. */
  readonly definitions?: {
    readonly put?: readonly DefinitionRow[]
    readonly retire?: readonly string[]
    readonly restore?: readonly string[]
  }
  /** Of runs that are deferred here. One that its run had before is replaced. */
  readonly commands?: { readonly put?: readonly NewCommand[] }
  readonly events?: readonly EventRow[]
}

/** `runs`: something became claimable on these queues. `ended`: these instances or bare runs reached their end. */
export interface Wake {
  readonly queues?: readonly string[]
  readonly ended?: readonly string[]
  /** Cancel requests, pauses, worker directives: sessions should beat now. */
  readonly control?: boolean
  /** A foreign client ended runs: they wait to be settled. Only the database says so (its triggers), no process does. */
  readonly outside?: boolean
  /** Commands were put: they are due at once. */
  readonly commands?: boolean
}

/** Read models. No locks; each is one statement or a few. */
export interface Reads {
  readonly trees: TreeReads
  readonly steps: StepReads
  run(id: string): Promise<RunRow | null>
  runs(params: { readonly ids: readonly string[] }): Promise<readonly RunRow[]>
  /** Runs a session holds by the store's word. */
  heldBy(sessionId: string): Promise<readonly RunRow[]>
  instance(id: string): Promise<InstanceRow | null>
  net(hash: string): Promise<NetRow | null>
  listInstances(params: InstanceQuery): Promise<readonly InstanceRow[]>
  listRuns(params: RunQuery): Promise<readonly RunRow[]>
  /** Inbox runs, newest first. */
  listInbox(query: InboxQuery): Promise<InboxPage>
  /** What waits and what is held, by type. Reads as much as queueCounts does. */
  typeDepths(): Promise<readonly TypeDepth[]>
  countInstances(): Promise<ReadonlyMap<string, number>>
  countRuns(params: { readonly queue: string | null }): Promise<ReadonlyMap<string, number>>
  /** How many a list would give in all, counted up to `atMost`: a total on a page must not read a million rows. */
  countListedRuns(query: RunQuery, atMost: number): Promise<number>
  countListedInstances(query: InstanceQuery, atMost: number): Promise<number>
  /** What waits and is held, by queue. Reads every pending and leased run's entry in partial indexes, nothing else. */
  queueCounts(params: { readonly queue: string | null }): Promise<readonly QueueCounts[]>
  /** Ended runs by queue and minute, from `since` on, besides the sum of all before (minute 0). */
  totals(params: { readonly queue: string | null; readonly since: number }): Promise<readonly TotalRow[]>
  /** Runs of one instance in the order they were created. */
  instanceRuns(params: {
    readonly instanceId: string
    readonly limit: number
    readonly after: string | null
  }): Promise<readonly RunRow[]>
  /** How many wait before this one in the queue of its slot key, counted up to `atMost`. */
  queuedBefore(params: {
    readonly slotKey: string
    readonly queuedAt: number
    readonly id: string
    readonly atMost: number
  }): Promise<number>
  /** Oldest first; `limit`: so many of them. */
  children(instanceId: string, limit?: number): Promise<readonly InstanceRow[]>
  slots(params: { readonly instanceId: string; readonly prefix: string }): Promise<readonly SlotRow[]>
  /** Of one slot; null: there is none. */
  slot(params: { readonly instanceId: string; readonly key: string }): Promise<JsonText | null>
  /** Results of nodes as in Loaded.results. */
  results(params: {
    readonly instanceId: string
    readonly nodes: readonly string[]
  }): Promise<ReadonlyMap<string, string | null>>
  /** As in Loaded.resultsAt. */
  resultAt(params: ResultAt): Promise<ResultText>
  /** Follows one instance by seq. */
  instanceEvents(params: {
    readonly instanceId: string
    readonly afterSeq: number
    readonly limit: number
  }): Promise<readonly StoredEvent[]>
  /** Full history of a run, one row per event of the eight words (and ours), oldest first. */
  runHistory(runId: string): Promise<readonly StoredEvent[]>
  /** The same for many runs. Runs without history are not in the map. */
  histories(params: { readonly runIds: readonly string[] }): Promise<ReadonlyMap<string, readonly StoredEvent[]>>
  /** Failed executions since the run was made or last redriven, oldest first, the newest `limit` of each run. */
  errorsOf(params: {
    readonly runIds: readonly string[]
    readonly limit: number
  }): Promise<ReadonlyMap<string, readonly RunError[]>>
  /** Global feed; stops before the oldest transaction in flight. */
  feed(params: { readonly afterId: number; readonly limit: number }): Promise<readonly StoredEvent[]>
  /** The global feed through a filter. */
  events(query: EventQuery): Promise<EventPage>
  /** The feed shows by now whatever has an id up to this: where those begin who want only what comes. */
  feedEnd(): Promise<number>
  /** Id of the oldest event kept; 0: none. */
  feedStart(): Promise<number>
  gate(id: string): Promise<GateRow | null>
  openGates(params: { readonly instanceId: string | null; readonly limit: number }): Promise<readonly GateRow[]>
  listGates(query: GateQuery): Promise<readonly GateRow[]>
  queues(): Promise<readonly (QueueRow & { readonly pending: number; readonly leased: number })[]>
  /** Configured queues, and whether each is paused. */
  queuesPaused(): Promise<ReadonlyMap<string, boolean>>
  limits(): Promise<readonly LimitRow[]>
  workers(): Promise<readonly WorkerRow[]>
  schedules(): Promise<readonly ScheduleRow[]>
  schedule(name: string): Promise<ScheduleRow | null>
  /** Saved progress of a run. */
  checkpoint(runId: string): Promise<{ readonly state: string; readonly sequence: number } | null>
  /** Invariants that hold in every committed state; each finding names the row. */
  doctor(): Promise<readonly { readonly check: string; readonly subject: string; readonly finding: string }[]>
}

export interface InstanceQuery {
  readonly states: readonly string[] | null
  readonly name: string | null
  readonly dialect: string | null
  readonly tenant: string | null
  readonly rootsOnly: boolean
  /** What the notation calls the shape (Net.kind): chain, group … */
  readonly kind?: string | null
  readonly startKey?: string | null
  readonly retryOf?: string | null
  /** Created at this moment or later. */
  readonly createdAfter?: number | null
  /** Created earlier than this. */
  readonly createdBefore?: number | null
  readonly limit: number
  /** Newest first, strictly older than this id. */
  readonly before: string | null
  /** Passed over after `before`; each costs as much as one listed. */
  readonly offset?: number
}

export interface GateQuery {
  readonly states: readonly string[] | null
  readonly instanceId: string | null
  readonly tenant: string | null
  readonly limit: number
  /** Newest first, strictly older than this id. */
  readonly before: string | null
}

/** The parts of `pending`: due now; due later and never failed; due later after a failure; waiting to be activated. */
export type RunWait = 'available' | 'scheduled' | 'retryable' | 'held'

export interface RunQuery {
  readonly status: readonly RunStatus[] | null
  readonly queue: string | null
  readonly type: string | null
  readonly deadLetter: boolean | null
  readonly tenant: string | null
  readonly instanceId?: string | null
  readonly rootId?: string | null
  /** Besides `status`: pending runs in one of these parts. Both null: any run. */
  readonly wait?: readonly RunWait[] | null
  /** Created then or later; read from the rows that the rest leaves. */
  readonly createdFrom?: number | null
  readonly createdBefore?: number | null
  readonly limit: number
  readonly before: string | null
  readonly offset?: number
}

/** Conditions on events; each may be left out. Those on queue and type look the run up by its id. */
export interface EventQuery {
  readonly afterId: number
  readonly limit: number
  readonly types?: readonly string[] | null
  readonly tenant?: string | null
  readonly runId?: string | null
  readonly instanceId?: string | null
  readonly queues?: readonly string[] | null
  readonly runTypes?: readonly string[] | null
}

export interface EventPage {
  readonly events: readonly StoredEvent[]
  /** Everything up to this id has been looked at: ask after it next. */
  readonly cursor: number
  /** true: there may be more behind the cursor already. */
  readonly more: boolean
}

/** Small writes that touch no instance, and look-ups of what is due. Each is one statement, SKIP LOCKED where it locks. */
export interface Sweeps {
  /** Registers or refreshes a session. Returns what the worker must know: its state, and its runs to stop. */
  beat(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<Beat>
  /**
   * Workers past their time become `dead`; returns up to `limit` runs that their sessions (or those dead before) still
   * hold. Leases of their own end at that moment and are found by `expiredLeases`.
   */
  lostRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Leases past lease_until: workers' own, and foreign clients'. */
  expiredLeases(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Runs past timeout_at, or pending past expires_at. */
  overdueRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  overdueInstances(params: {
    readonly limit: number
  }): Promise<readonly { readonly id: string; readonly rootId: string }[]>
  overdueGates(params: { readonly limit: number }): Promise<readonly GateRow[]>
  /** Open gates whose escalation has a stage that is due. */
  escalatingGates(params: { readonly limit: number }): Promise<readonly GateRow[]>
  /** Terminal runs finished by foreign clients and not yet settled. */
  unsettledRuns(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Runs that foreign clients have begun, of instances that do not know yet that they have begun. */
  begunOutside(params: { readonly limit: number }): Promise<readonly RunKey[]>
  /** Instances with a cascade cut off. */
  unfinishedCascades(params: {
    readonly limit: number
  }): Promise<readonly { readonly id: string; readonly rootId: string }[]>
  /** Slot keys under which instances are queued though there is room. */
  freeSlots(params: { readonly limit: number }): Promise<readonly string[]>
  /** The first in the queue under a slot key: as many as there is room for, at most `limit`. */
  nextQueued(params: {
    readonly key: string
    readonly limit: number
  }): Promise<readonly { readonly id: string; readonly netHash: string }[]>
  dueSchedules(params: { readonly limit: number }): Promise<readonly ScheduleRow[]>
  /** When the next thing becomes due (run_at, timeout, deadline, gate, schedule); null: nothing is scheduled. */
  nextDueAt(): Promise<number | null>
  /** Records starts of runs still held under these epochs (batched; returns the ids that were). */
  started(params: {
    readonly runs: readonly { readonly id: string; readonly epoch: number; readonly at: number }[]
  }): Promise<readonly string[]>
  /**
   * Renews leases of their own that have not run out, of `holder` (null: of anybody). `leaseMs` null: each for as long
   * as before. `epochs`, in the order of `runIds`: only leases under these. Returns the ids renewed; tells each as a
   * heartbeat.
   */
  extendLeases(params: {
    readonly holder: string | null
    readonly runIds: readonly string[]
    readonly leaseMs: number | null
    readonly epochs?: readonly number[]
  }): Promise<readonly string[]>
  /**
   * A worker with leases of its own says that it lives: registered, or alive again if it was dead. Its own word may
   * make it quiet or terminate; nothing takes that back. Returns the state that stands.
   */
  beatLease(params: { readonly worker: WorkerRow; readonly ttlMs: number }): Promise<WorkerRow['state']>
  /** Adds to the totals. */
  addTotals(params: { readonly totals: readonly TotalRow[] }): Promise<void>
  checkpoint(params: { readonly runId: string; readonly epoch: number; readonly state: string }): Promise<number | null>
  progress(params: { readonly runId: string; readonly epoch: number; readonly value: string }): Promise<boolean>
  /**
   * Sets in_use of these limits to what holds room under them, runs or executing instances: first locks the rows, then counts in a later statement.
   * Foreign clients take no room, whatever they lease.
   */
  recountLimits(params: { readonly keys: readonly string[] }): Promise<void>
  /**
   * Deletes ended instances, bare runs that ended or were deleted, and events older than the cut, in chunks; keeps
   * for-ever idempotency keys. Returns rows removed.
   */
  prune(params: {
    readonly endedBefore: number
    readonly eventsBefore: number
    readonly limit: number
  }): Promise<number>
}

export interface RunKey {
  readonly id: string
  readonly rootId: string | null
  readonly instanceId: string | null
}

export interface Beat {
  readonly state: WorkerRow['state']
  /** Runs of this session whose cancel was requested, or that it no longer holds. */
  readonly stop: readonly string[]
}

/** API keys of the server. */
export interface Keys {
  add(key: KeyRow): Promise<void>
  find(id: string): Promise<KeyRow | null>
  /** Oldest first, revoked ones too. */
  list(): Promise<readonly KeyRow[]>
  /** null: there is no such key, or it was revoked before. */
  revoke(id: string): Promise<KeyRow | null>
  /** The secret that links are signed with, the same for every process: the first that anybody offers stays. */
  signing(fresh: string): Promise<string>
}
