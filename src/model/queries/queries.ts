import type { InstanceState } from '../../net/marking.ts'
import type { SlotKey, SlotPrefix } from '../../net/slots.ts'
import type { DefinitionQueries } from '../definitions.ts'
import type { InboxPage, InboxQuery, TypeDepth } from '../inbox.ts'
import type {
  GateRow,
  InstanceRow,
  JsonText,
  LimitRow,
  NetRow,
  QueueCounts,
  RunError,
  RunRow,
  RunStatus,
  ScheduleRow,
  SlotRow,
  StoredEvent,
  TotalRow,
  WorkerRow,
} from '../rows.ts'
import type { SagaQueries } from '../sagas.ts'
import type { DebounceQueries } from '../schedules/debounce.ts'
import type { ScheduleQueries } from '../schedules/fires.ts'
import type { SearchQueries } from '../search/queries.ts'
import type { ResultAt, ResultText } from './firings.ts'
import type { Overview } from './overview.ts'
import type { PlaceQueries } from './places.ts'
import type { QueueingQueries } from './queueing.ts'
import type { StepQueries } from './steps.ts'
import type { TreeQueries } from './trees.ts'
import type { WorkQueries } from './work.ts'

/**
 * Read models. No locks; each is one statement or a few. `maxBytes`: for display; payloads, results and other values are
 * returned in order as far as they fit, the others as markers (shown.ts). Left out: all of them, complete.
 */
export interface Queries extends ExecutionQueries {
  readonly definitions: DefinitionQueries
  readonly sagas: SagaQueries
  readonly overview: Overview
  /** Schedules of all kinds, and what they did. */
  readonly timetable: ScheduleQueries
  /** Starts that wait until no other has followed. */
  readonly debounces: DebounceQueries
  /** What waits in a queue and passes through it; bounded, however long the queue is. */
  readonly queueing: QueueingQueries
  /** When these parked runs are due without their pause, by id; `owner` as in PARKED. */
  plannedTimes(parked: readonly { readonly owner: string; readonly id: string }[]): Promise<ReadonlyMap<string, number>>
  /** The store's clock. */
  now(): Promise<number>
}

/** Runs, instances and everything that belongs to them; queues, limits, workers and schedules. */
export interface ExecutionQueries {
  readonly trees: TreeQueries
  readonly steps: StepQueries
  readonly search: SearchQueries
  readonly places: PlaceQueries
  readonly work: WorkQueries
  run(id: string): Promise<RunRow | null>
  runs(params: { readonly ids: readonly string[] }): Promise<readonly RunRow[]>
  /** Runs that a session holds according to the store. */
  heldBy(sessionId: string): Promise<readonly RunRow[]>
  instance(id: string): Promise<InstanceRow | null>
  net(hash: string): Promise<NetRow | null>
  listInstances(params: InstanceQuery): Promise<readonly InstanceRow[]>
  listRuns(params: RunQuery): Promise<readonly RunRow[]>
  /** Inbox runs, newest first. */
  listInbox(query: InboxQuery): Promise<InboxPage>
  /** Pending and leased runs, by type. Of each queue and type at most MAX_COUNTED_RUNS pending ones are counted. */
  typeDepths(): Promise<readonly TypeDepth[]>
  countInstances(): Promise<ReadonlyMap<string, number>>
  countRuns(params: { readonly queue: string | null }): Promise<ReadonlyMap<string, number>>
  /** The length of a list, counted up to `atMost`: a total on a page must not read a million rows. */
  countListedRuns(query: RunQuery, atMost: number): Promise<number>
  countListedInstances(query: InstanceQuery, atMost: number): Promise<number>
  /** Pending and leased runs, by queue. Reads only their entries in partial indexes. */
  queueCounts(params: { readonly queue: string | null }): Promise<readonly QueueCounts[]>
  /** Ended runs by queue and minute, from `since` on, and the sum of all before (minute 0). */
  totals(params: { readonly queue: string | null; readonly since: number }): Promise<readonly TotalRow[]>
  /** Runs of one instance in the order they were created. */
  instanceRuns(params: {
    readonly instanceId: string
    readonly limit: number
    readonly after: string | null
    readonly maxBytes?: number
  }): Promise<readonly RunRow[]>
  /** How many instances wait before this one in the queue of its quota, counted up to `atMost`. */
  queuedBefore(params: {
    readonly quotaKey: string
    readonly queuedAt: number
    readonly id: string
    readonly atMost: number
  }): Promise<number>
  /** Oldest first, at most `limit`. */
  children(instanceId: string, limit?: number): Promise<readonly InstanceRow[]>
  slots(params: {
    readonly instanceId: string
    readonly prefix: SlotPrefix
    readonly maxBytes?: number
  }): Promise<readonly SlotRow[]>
  /** One slot; null: there is none. */
  slot(params: { readonly instanceId: string; readonly key: SlotKey }): Promise<JsonText | null>
  /** Results of nodes as in Loaded.results. */
  results(params: {
    readonly instanceId: string
    readonly nodes: readonly string[]
    readonly maxBytes?: number
  }): Promise<ReadonlyMap<string, string | null>>
  /** As in Loaded.resultsAt. */
  resultAt(params: ResultAt): Promise<ResultText>
  /** The progress of instances; those that do not exist are left out. */
  progress(params: { readonly instanceIds: readonly string[] }): Promise<ReadonlyMap<string, Progress>>
  /**
   * Follows one instance by seq. As with all pages of events: fewer than `limit` if they are long (shown.ts), never
   * none.
   */
  instanceEvents(params: {
    readonly instanceId: string
    readonly afterSeq: number
    readonly limit: number
  }): Promise<readonly StoredEvent[]>
  /** Full history of a run, one row per event of the view workflow_history, oldest first. */
  runHistory(runId: string): Promise<readonly StoredEvent[]>
  /**
   * For display: `limit` events of it after the first `after`; their data until the sum exceeds PAGE_BYTES, then
   * markers.
   */
  runHistoryPage(params: {
    readonly runId: string
    readonly after: number
    readonly limit: number
  }): Promise<readonly StoredEvent[]>
  /** Full histories of many runs. Runs without history are not in the map. */
  histories(params: { readonly runIds: readonly string[] }): Promise<ReadonlyMap<string, readonly StoredEvent[]>>
  /**
   * Failed executions since the run was created or last redriven, oldest first, the newest `limit` of each run. Complete until
   * their sum exceeds PAGE_BYTES, the newest of a run first; then code and message alone, and a marker for the details.
   */
  errorsOf(params: {
    readonly runIds: readonly string[]
    readonly limit: number
  }): Promise<ReadonlyMap<string, readonly RunError[]>>
  /**
   * Those of these runs that had a lease which their holder did not end: it ran out, or the work timed
   * out.
   */
  leasesLost(params: { readonly runIds: readonly string[] }): Promise<ReadonlySet<string>>
  /** Global feed; stops before the oldest transaction in flight. */
  feed(params: { readonly afterId: number; readonly limit: number }): Promise<readonly StoredEvent[]>
  /** The global feed through a filter. */
  events(query: EventQuery): Promise<EventPage>
  /** The feed shows all events up to this id: readers that want only new events begin after it. */
  feedEnd(): Promise<number>
  /** Id of the oldest event kept; 0: none. */
  feedStart(): Promise<number>
  gate(id: string): Promise<GateRow | null>
  openGates(params: { readonly instanceId: string | null; readonly limit: number }): Promise<readonly GateRow[]>
  /** Open gates of an instance for display, oldest first, as with the `maxBytes` of a page. */
  shownGates(params: { readonly instanceId: string; readonly limit: number }): Promise<readonly GateRow[]>
  /** For display, too. */
  listGates(query: GateQuery): Promise<readonly GateRow[]>
  /** Configured queues, and whether each is paused. */
  queuesPaused(): Promise<ReadonlyMap<string, boolean>>
  limits(): Promise<readonly LimitRow[]>
  workers(): Promise<readonly WorkerRow[]>
  /** By name; a template beyond TEMPLATE_BYTES is a marker (shown.ts). */
  schedules(): Promise<readonly ScheduleRow[]>
  schedule(name: string): Promise<ScheduleRow | null>
  /** Saved progress of a run. */
  checkpoint(runId: string): Promise<{ readonly state: string; readonly sequence: number } | null>
  /** Invariants that hold in every committed state; each finding names the row. */
  doctor(): Promise<readonly { readonly check: string; readonly subject: string; readonly finding: string }[]>
}

export interface Progress {
  readonly eventSeq: number
  readonly state: InstanceState
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
  /** Created at this time or later. */
  readonly createdAfter?: number | null
  /** Created earlier than this. */
  readonly createdBefore?: number | null
  readonly limit: number
  /** Newest first, strictly older than this id. */
  readonly before: string | null
  /** How many are skipped after `before`; each costs as much as a listed one. */
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

/**
 * The parts of `pending`: due now; due later and never failed; due later after a failure; waiting to be activated; waiting
 * until its workflow or its type is resumed.
 */
export type RunWait = 'available' | 'scheduled' | 'retryable' | 'held' | 'paused'

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
  /** Created at this time or later; applied after the other conditions. */
  readonly createdFrom?: number | null
  readonly createdBefore?: number | null
  /** Left out: the newest first. Otherwise that many of the newest, in this order; `before` is ignored. */
  readonly sort?: RunSort | null
  readonly limit: number
  readonly before: string | null
  readonly offset?: number
  readonly maxBytes?: number
}

export interface RunSort {
  readonly by: 'created' | 'due' | 'priority'
  readonly descending: boolean
  readonly among: number
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
  /** Everything up to this id has been read: the next page begins after it. */
  readonly cursor: number
  /** true: there may be more after the cursor already. */
  readonly more: boolean
}
