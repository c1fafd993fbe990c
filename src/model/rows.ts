/**
 * Rows as the engine sees them. Times are milliseconds since the epoch on the store's clock; JSON columns are carried
 * as JSON text, so that a result is neither parsed nor printed again on its way through.
 */
import type { DrainReason, InstanceOutcome, InstanceState, Phase } from '../net/marking.ts'

export type JsonText = string

/** Far beyond every clock: a run that waits to be activated is due then. */
export const HELD_AT = Date.UTC(9999, 0, 1)

export type RunStatus = 'pending' | 'leased' | 'succeeded' | 'failed' | 'cancelled'
export type RunRole = 'work' | 'undo' | 'final'

/** One unit of work: a row of `workflow_run`. The first block is the shape foreign clients know; the rest is ours. */
export interface RunRow {
  readonly id: string
  readonly type: string
  readonly payload: JsonText
  readonly status: RunStatus
  /** Smaller runs earlier. */
  readonly priority: number
  readonly runAt: number
  readonly idempotencyKey: string | null
  /** Failed executions so far. */
  readonly attempt: number
  /** Executions allowed in all. */
  readonly maxAttempts: number
  readonly leasedBy: string | null
  /** null while the lease lives with a session, or while deferred. */
  readonly leaseUntil: number | null
  /** Length of a lease of its own, as given or last renewed; null: held by a session, by plain SQL, or by nobody. */
  readonly leaseMs: number | null
  readonly lastError: string | null
  readonly result: JsonText | null
  readonly createdAt: number
  readonly deletedAt: number | null

  readonly queue: string
  readonly tenant: string | null
  /** null: a bare run, of no instance. */
  readonly instanceId: string | null
  readonly rootId: string | null
  readonly node: string | null
  readonly fire: number
  /** −1 outside an `each`. */
  readonly item: number
  readonly role: RunRole
  readonly scope: string
  /** Fencing number: bumped whenever a lease ends. */
  readonly epoch: number
  /** The session (workflow_worker.id) that holds it; null when a foreign client does, or nobody. */
  readonly sessionId: string | null
  /** Leases that ended without a reported start. */
  readonly deliveries: number
  readonly leasedAt: number | null
  /** Start of the current or last execution. */
  readonly startedAt: number | null
  readonly firstStartedAt: number | null
  readonly finishedAt: number | null
  /** When the outcome was folded into the instance; null on a terminal row: finished from outside, not yet settled. */
  readonly settledAt: number | null
  readonly doneSeq: number | null
  /** The report that ended the last lease, or that caused this hand-off. */
  readonly reportId: string | null
  /** true: completed later by id; leased, but by no session. */
  readonly deferred: boolean
  /** true on a failed or cancelled row whose work may have taken effect. */
  readonly unknown: boolean
  readonly timeoutMs: number | null
  readonly timeoutPer: 'attempt' | 'node'
  /** When the current execution times out; null while not started or without timeout. */
  readonly timeoutAt: number | null
  /** Not started by then: discarded. */
  readonly expiresAt: number | null
  /** Retry policy as JSON; null: the default of its kind. */
  readonly retry: JsonText | null
  /** Structured last error ({ code, message, … }). */
  readonly error: JsonText | null
  readonly limitKey: string | null
  readonly uniqueKey: string | null
  /** Exhausted and kept for an operator. */
  readonly deadLetter: boolean
  readonly cancelRequestedAt: number | null
  /** Unknown envelope fields, tags, initiator … of the one who enqueued it. */
  readonly meta: JsonText | null
  /** Put in by plain SQL or as an inbox run: its type is versioned, and it is listed by age. */
  readonly inbox: boolean
}

/** The narrow row that every settle rewrites. Input, context, errors and results lie in slots. */
export interface InstanceRow {
  readonly id: string
  readonly rootId: string
  readonly parentId: string | null
  /** The place in the parent that waits for this child (null: detached or a root). */
  readonly parentNode: string | null
  readonly parentFire: number
  readonly parentItem: number
  readonly parentScope: string
  readonly parentRole: RunRole
  readonly depth: number
  readonly netHash: string
  readonly name: string
  readonly dialect: string
  readonly tenant: string | null
  readonly startKey: string | null
  readonly retryOf: string | null
  readonly state: InstanceState
  readonly phase: Phase
  readonly outcome: InstanceOutcome | null
  readonly reason: DrainReason | null
  readonly live: number
  readonly held: number
  readonly open: number
  readonly gates: number
  readonly fires: number
  readonly doneSeq: number
  readonly succeeded: number
  readonly failed: number
  readonly unhandled: number
  readonly finalsFailed: number
  readonly more: boolean
  readonly eventSeq: number
  readonly createdAt: number
  /** When the first run began. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly deadlineAt: number | null
  /** The limit under which it executes; null: none. Only roots have one: what is nested counts with its root. */
  readonly slotKey: string | null
  /** When it entered the queue; null: it did not have to wait there. */
  readonly queuedAt: number | null
}

export interface SlotRow {
  readonly instanceId: string
  readonly key: string
  readonly value: JsonText
}

export interface ItemChunk {
  readonly instanceId: string
  readonly node: string
  /** 0: literal items, given at the start. */
  readonly fire: number
  /** Index of the first item in this chunk. */
  readonly first: number
  /** JSON array. */
  readonly values: JsonText
}

export interface GateRow {
  readonly id: string
  readonly instanceId: string
  readonly rootId: string
  readonly node: string
  readonly fire: number
  readonly scope: string
  readonly state: 'open' | 'approved' | 'rejected' | 'closed'
  readonly options: JsonText
  readonly args: JsonText | null
  readonly dueAt: number | null
  readonly onTimeout: 'approve' | 'reject'
  readonly answer: JsonText | null
  readonly answeredBy: string | null
  readonly reason: string | null
  /** A JSON list of votes (engine/fold/votes.ts), oldest first. */
  readonly votes: JsonText
  /** Stages of its escalation that have begun. */
  readonly escalated: number
  /** When the next stage begins; null: none is left. */
  readonly escalateAt: number | null
  readonly createdAt: number
  readonly answeredAt: number | null
}

export interface NetRow {
  readonly hash: string
  readonly name: string
  readonly dialect: string
  readonly net: JsonText
}

export interface QueueRow {
  readonly name: string
  readonly paused: boolean
}

/** A concurrency and/or rate limit. Key is `queue:<name>`, `key:<limit key>` or `workflow:<tenant>:<name>`. */
export interface LimitRow {
  readonly key: string
  /** Leased (instances of a workflow: executing) at the same time; null: unlimited. */
  readonly maxConcurrent: number | null
  readonly inUse: number
  /** Leases per period; null: no rate. */
  readonly ratePer: number | null
  readonly periodMs: number | null
  readonly windowStart: number
  readonly windowUsed: number
}

export interface WorkerRow {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly runtime: string
  readonly queues: readonly string[]
  readonly types: readonly string[]
  readonly concurrency: number
  readonly state: 'running' | 'quiet' | 'terminate' | 'dead'
  readonly startedAt: number
  readonly heartbeatAt: number
  readonly expiresAt: number
  readonly tenant: string | null
  /** lease: over HTTP, its runs have leases of their own; `id` is then the name they are leased by. */
  readonly holds: 'session' | 'lease'
}

/** Codes of failures by which a lease ended without its holder. */
export const LEASE_LOST_CODES: readonly string[] = ['visibility_timeout', 'worker_death', 'lease_expired', 'timeout']

/** A failed execution, as the history tells it. */
export interface RunError {
  readonly at: number
  /** The event that tells it: retried, failed, cancelled or returned. */
  readonly type: string
  /** Executions that had failed with this one. */
  readonly attempt: number | null
  /** A Failure. */
  readonly error: JsonText
  /** When it was to be tried again; null: not, or at once. */
  readonly runAt: number | null
}

/** Runs that ended in one minute on one queue. Told after the commit, so a killed process may leave a second untold. */
export interface TotalRow {
  readonly queue: string
  /** Begin of the minute; 0: all that is older than the minutes kept. */
  readonly minute: number
  readonly succeeded: number
  readonly failed: number
  readonly cancelled: number
  /** Failed executions that were tried again. */
  readonly retried: number
}

/** What waits and what is held on one queue. */
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
 * One stored line of the audit trail. The event that ends a lease tells the whole lease (leased_at, leased_by,
 * started_at in `data`); the view `workflow_history` shows it as the several events it stands for.
 */
export interface EventRow {
  /** null: about an instance, not a run. */
  readonly runId: string | null
  readonly instanceId: string | null
  readonly seq: number | null
  readonly type: string
  readonly node: string | null
  readonly actor: string | null
  readonly tenant: string | null
  readonly data: JsonText | null
  readonly at: number
}

export interface StoredEvent extends EventRow {
  readonly id: number
}

export interface UniqueRow {
  readonly key: string
  readonly runId: string
  /** After this moment the key is free whatever its holder does; null: while the holder is in one of `states`. */
  readonly expiresAt: number | null
  readonly states: readonly string[]
}

export interface ScheduleRow {
  readonly name: string
  readonly expression: string
  readonly timezone: string
  readonly overlap: 'skip' | 'allow' | 'cancel_previous' | 'enqueue'
  readonly enabled: boolean
  /** { run: … } or { start: … }: what firing creates. */
  readonly template: JsonText
  readonly nextAt: number | null
  readonly lastAt: number | null
  readonly lastId: string | null
  readonly fireCount: number
  readonly tenant: string | null
  readonly createdAt: number
}

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
