/**
 * Rows as the engine sees them. Times are milliseconds since the epoch on the store's clock. JSON columns are JSON text, so that
 * a result is neither parsed nor serialised again on its way.
 */

import type { DrainReason, InstanceOutcome, InstanceState, Phase } from '../net/marking.ts'
import type { EventPlace } from './events/events.ts'
import type { PausedTimeouts } from './pauses/pauses.ts'
import { bigint, bool, int, json, jsonb, list, type RowOf, table, text, time, uuid } from './table.ts'

export type JsonText = string

/** Far beyond every clock: a run that waits to be activated is due then. */
export const HELD_AT = Date.UTC(9999, 0, 1)

/** Later still: what waits while its instance or type is paused is due then; `workflow_parked` has its own time. */
export const PARKED_AT = Date.UTC(9999, 6, 1)

export type RunStatus = 'pending' | 'leased' | 'succeeded' | 'failed' | 'cancelled'
export type RunRole = 'work' | 'undo' | 'final'

/**
 * One unit of work: a row of `workflow_run`. The first block is the shape that foreign clients use; the rest belongs to
 * the engine.
 */
export const RUN = table('workflow_run', {
  id: uuid().often(),
  type: text().often(),
  payload: jsonb().often(),
  status: text<RunStatus>().initially('pending').changing().often(),
  /** Smaller runs earlier. */
  priority: int().initially(100).changing().often(),
  runAt: time().changing().often(),
  idempotencyKey: text().orNull(),
  /** Failed executions so far. */
  attempt: int().initially(0).changing().often(),
  /** Executions allowed in all. */
  maxAttempts: int().initially(3).often(),
  leasedBy: text().orNull().changing().often(),
  /** null while a session holds the lease, or while deferred. */
  leaseUntil: time().orNull().changing(),
  /** Length of a lease of its own, as given or last renewed; null: held by a session, by plain SQL, or not at all. */
  leaseMs: bigint().orNull().changing(),
  lastError: text().orNull().changing(),
  result: jsonb().orNull().changing(),
  createdAt: time().often(),
  deletedAt: time().orNull().changing(),

  queue: text().initially('default').often(),
  tenant: text().orNull(),
  /** null: a bare run, of no instance. */
  instanceId: uuid().orNull().often(),
  rootId: uuid().orNull().often(),
  node: text().orNull().often(),
  fire: int().initially(0).often(),
  /** −1 outside an `each`. */
  item: int().initially(-1).often(),
  role: text<RunRole>().initially('work').often(),
  scope: text().initially('').often(),
  /** Fencing number: increased whenever a lease ends. */
  epoch: int().initially(0).changing().often(),
  /** The session (workflow_worker.id) that holds it; null: a foreign client does, or none. */
  sessionId: text().orNull().changing().often(),
  /** Leases that ended without a reported start. */
  deliveries: int().initially(0).changing(),
  leasedAt: time().orNull().changing().often(),
  /** Start of the current or last execution. */
  startedAt: time().orNull().changing().often(),
  firstStartedAt: time().orNull().changing().often(),
  finishedAt: time().orNull().changing(),
  /** When the outcome was settled; null on a terminal row: ended by a foreign client and not settled yet. */
  settledAt: time().orNull().changing(),
  doneSeq: int().orNull().changing(),
  /** The report that ended the last lease, or that caused this hand-off. */
  reportId: text().orNull().changing().often(),
  /** true: completed later by id; leased, but by no session. */
  deferred: bool().initially(false).changing(),
  /** true on a failed or cancelled row whose work may have taken effect. */
  unknown: bool().initially(false).changing().named('unknown_outcome'),
  timeoutMs: bigint().orNull(),
  timeoutPer: text<'attempt' | 'node'>().initially('attempt'),
  /** When the current execution times out; null while not started or without timeout. */
  timeoutAt: time().orNull().changing(),
  /** If it has not started by then, it is discarded. */
  expiresAt: time().orNull().changing(),
  /** Retry policy as JSON; null: the default of its kind. */
  retry: json().orNull(),
  /** Structured last error ({ code, message, … }). */
  error: json().orNull().changing(),
  limitKey: text().orNull(),
  uniqueKey: text().orNull().changing(),
  /** Exhausted and kept for an operator. */
  deadLetter: bool().initially(false).changing(),
  cancelRequestedAt: time().orNull().changing(),
  /** Unknown envelope fields, tags, initiator … of the enqueue. */
  meta: json().orNull(),
  /** Inserted by plain SQL or enqueued as an inbox run: its type is versioned, and it is listed by age. */
  inbox: bool().initially(false),
  /** The key that it shares its queue under (model/queues/fair.ts); null: none. */
  fairKey: text().orNull(),
})
/** `plannedAt`: of a parked run that is read to be shown, when it is due without its pause; no column of the table. */
export type RunRow = RowOf<typeof RUN> & { readonly plannedAt?: number }

/** The narrow row that every settle rewrites. Input, context, errors and results are in slots. */
export const INSTANCE = table('workflow_instance', {
  id: uuid().often(),
  rootId: uuid().often(),
  parentId: uuid().orNull(),
  /** The place in the parent that waits for this child (null: detached or a root). */
  parentNode: text().orNull(),
  parentFire: int().initially(0),
  parentItem: int().initially(-1),
  parentScope: text().initially(''),
  parentRole: text<RunRole>().initially('work'),
  depth: int().initially(0),
  netHash: text().often(),
  name: text().often(),
  dialect: text().often(),
  tenant: text().orNull(),
  startKey: text().orNull(),
  retryOf: uuid().orNull(),
  state: text<InstanceState>().changing().often(),
  phase: text<Phase>().changing().often(),
  outcome: text<InstanceOutcome>().orNull().changing(),
  reason: text<DrainReason>().orNull().changing(),
  live: int().initially(0).changing().often(),
  held: int().initially(0).changing(),
  open: int().initially(0).changing().often(),
  gates: int().initially(0).changing(),
  fires: int().initially(0).changing().often(),
  doneSeq: int().initially(0).changing().often(),
  succeeded: int().initially(0).changing().often(),
  failed: int().initially(0).changing(),
  unhandled: int().initially(0).changing(),
  finalsFailed: int().initially(0).changing(),
  more: bool().initially(false).changing(),
  eventSeq: int().initially(0).changing().often(),
  createdAt: time().often(),
  /** When the first run began. */
  startedAt: time().orNull().changing().often(),
  endedAt: time().orNull().changing(),
  deadlineAt: time().orNull().changing(),
  /** The quota under which it executes; null: none. Only roots have one: nested instances count with their root. */
  quotaKey: text().orNull().changing().named('slot_key'),
  /** When it entered the queue; null: it did not have to wait there. */
  queuedAt: time().orNull().changing(),
  /** Of a root: its tree is paused, and this happens to its times; null: it is not. */
  paused: text<PausedTimeouts>().orNull().changing(),
  /** Of its runs that have no key of their own, and of the instances nested in it; as stored in runs. */
  fairKey: text().orNull(),
})
export type InstanceRow = RowOf<typeof INSTANCE>

export const SLOT = table('workflow_slot', {
  instanceId: uuid(),
  key: text(),
  value: json(),
})
export type SlotRow = RowOf<typeof SLOT>

export const ITEM = table('workflow_item', {
  instanceId: uuid(),
  node: text(),
  /** 0: literal items, given at the start. */
  fire: int(),
  /** Index of the first item in this chunk. */
  first: int(),
  /** JSON array. */
  values: json().named('"values"'),
})
export type ItemChunk = RowOf<typeof ITEM>

export const GATE = table('workflow_gate', {
  id: uuid(),
  instanceId: uuid(),
  rootId: uuid(),
  node: text(),
  fire: int(),
  scope: text(),
  state: text<'open' | 'approved' | 'rejected' | 'closed'>().changing(),
  options: json().changing(),
  args: json().orNull().changing(),
  dueAt: time().orNull().changing(),
  onTimeout: text<'approve' | 'reject'>().changing(),
  answer: json().orNull().changing(),
  answeredBy: text().orNull().changing(),
  reason: text().orNull().changing(),
  /** A JSON list of votes (engine/fold/votes.ts), oldest first. */
  votes: json().initially('[]').changing(),
  /** Stages of its escalation that have begun. */
  escalated: int().initially(0).changing(),
  /** When the next stage begins; null: none is left. */
  escalateAt: time().orNull().changing(),
  createdAt: time(),
  answeredAt: time().orNull().changing(),
})
export type GateRow = RowOf<typeof GATE>

/** An instance or a run is found by it: model/search/terms.ts. */
export const TERM = table('workflow_term', {
  id: uuid(),
  term: text(),
  tenant: text().orNull(),
})
export type TermRow = RowOf<typeof TERM>

export const NET = table('workflow_net', {
  hash: text(),
  name: text(),
  dialect: text(),
  net: json(),
})
export type NetRow = RowOf<typeof NET>

export const QUEUE = table('workflow_queue', {
  name: text(),
  paused: bool(),
})
export type QueueRow = RowOf<typeof QUEUE>

/** A concurrency and/or rate limit. Key is `queue:<name>`, `key:<limit key>` or `workflow:<tenant>:<name>`. */
export const LIMIT = table('workflow_limit', {
  key: text(),
  /** Leased (instances of a workflow: executing) at the same time; null: unlimited. */
  maxConcurrent: int().orNull(),
  inUse: int(),
  /** Leases per period; null: no rate. */
  ratePer: int().orNull(),
  periodMs: bigint().orNull(),
  windowStart: time(),
  windowUsed: int(),
})
export type LimitRow = RowOf<typeof LIMIT>

export const WORKER = table('workflow_worker', {
  id: text(),
  name: text(),
  host: text(),
  pid: int(),
  runtime: text(),
  queues: list(),
  types: list(),
  concurrency: int(),
  state: text<'running' | 'quiet' | 'terminate' | 'dead'>(),
  startedAt: time(),
  heartbeatAt: time(),
  expiresAt: time(),
  tenant: text().orNull(),
  /** lease: over HTTP, its runs have leases of their own; `id` is then the name they are leased by. */
  holds: text<'session' | 'lease'>().initially('session'),
  /** The build of its program, as it states it. */
  build: text().orNull(),
})
export type WorkerRow = RowOf<typeof WORKER>

/** Codes of failures that ended a lease without a report of its holder. */
export const LEASE_LOST_CODES: readonly string[] = ['visibility_timeout', 'worker_death', 'lease_expired', 'timeout']

/** A failed execution, according to the history. */
export interface RunError {
  readonly at: number
  /** The event that recorded it: retried, failed, cancelled or returned. */
  readonly type: string
  /** Failed executions up to this one. */
  readonly attempt: number | null
  /** A Failure. */
  readonly error: JsonText
  /** When it was to be retried; null: not, or at once. */
  readonly runAt: number | null
}

/** Runs that ended in one minute on one queue. Counted after the commit, so a killed process may lose a second. */
export interface TotalRow {
  readonly queue: string
  /** Beginning of the minute; 0: the sum of all minutes that are no longer kept. */
  readonly minute: number
  readonly succeeded: number
  readonly failed: number
  readonly cancelled: number
  /** Failed executions that were retried. */
  readonly retried: number
}

/** Pending and leased runs of one queue. */
export interface QueueCounts {
  readonly queue: string
  readonly available: number
  readonly scheduled: number
  readonly retryable: number
  /** Waits to be activated. */
  readonly held: number
  readonly leased: number
}

/**
 * One line of the audit trail as it is read. Its type may be one that this version does not know. The event that ends a
 * lease records the whole lease (leased_at, leased_by, started_at in `data`); the view `workflow_history` shows it as the
 * several events that it combines.
 */
export interface StoredEvent extends EventPlace {
  readonly id: number
  readonly type: string
  readonly data: JsonText | null
}

export const UNIQUE = table('workflow_unique', {
  key: text(),
  runId: uuid(),
  /** When the key is free, whatever its holder does; null: when the holder is no longer in one of `states`. */
  expiresAt: time().orNull(),
  states: list(),
})
export type UniqueRow = RowOf<typeof UNIQUE>

export const SCHEDULE = table('workflow_cron', {
  name: text(),
  expression: text(),
  timezone: text(),
  overlap: text<'skip' | 'allow' | 'cancel_previous' | 'enqueue'>(),
  enabled: bool(),
  /** { run: … } or { start: … }: what firing creates. */
  template: json(),
  nextAt: time().orNull(),
  lastAt: time().orNull(),
  lastId: text().orNull(),
  fireCount: int(),
  tenant: text().orNull(),
  createdAt: time(),
})
export type ScheduleRow = RowOf<typeof SCHEDULE>

/** An API key. The secret is stored nowhere. */
export interface KeyRow {
  readonly id: string
  /** SHA-256 of the secret, in hex. */
  readonly hash: string
  /** Who it stands for: recorded as actor and initiator. */
  readonly subject: string
  readonly scopes: readonly string[]
  readonly roles: readonly string[]
  /** Sees and claims only what belongs to this tenant; null: everything. */
  readonly tenant: string | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Names of instances, reserved permanently for a root. */
export const NAME = table('workflow_name', { name: text(), rootId: uuid() })

export const EVENT = table('workflow_event', {
  runId: uuid().orNull().named('workflow_id'),
  instanceId: uuid().orNull(),
  seq: int().orNull(),
  type: text().named('event_type'),
  node: text().orNull(),
  actor: text().orNull(),
  tenant: text().orNull(),
  data: jsonb().orNull(),
  at: time().named('created_at'),
})
