/**
 * The engine's interface for workers. In-process the engine implements it; over HTTP the client does. A worker holds a
 * session; its runs depend on the session's heartbeat, not on leases of their own.
 */
import type { LogLine } from '../kernel/log-lines.ts'
import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'

export interface WorkerPort {
  /**
   * Registers the session. `deliver` is called when the engine hands out work without a request (hand-off at start).
   */
  open(session: SessionOptions, inbox: SessionInbox): Promise<Session>
}

export interface SessionOptions {
  readonly name: string
  /** Compared with the registry's; types that it does not list are open to all. */
  readonly runtime: string
  /** null: all queues. */
  readonly queues: readonly string[] | null
  /** Exact types, or prefixes such as `billing.%` (kernel/type-filters.ts). null: all types. */
  readonly types: readonly string[] | null
  readonly concurrency: number
  readonly tenant: string | null
  /** The build of the worker's program; null or left out: it states none. */
  readonly build?: string | null
}

export interface SessionInbox {
  /** How many more runs the worker would accept now. Called often: must be cheap. */
  room(): number
  deliver(deliveries: readonly Delivery[]): void
  /** Runs delivered and not yet reported: buffered and executing ones. */
  holding(): readonly string[]
  /** Something may be claimable. */
  wake(): void
  /** These runs must stop: cancelled, timed out, or no longer held by this worker. */
  stop(runs: readonly { readonly runId: string; readonly reason: 'cancel' | 'timeout' | 'lost' }[]): void
}

export interface Session {
  readonly id: string
  claim(limit: number): Promise<readonly Delivery[]>
  /** Records an outcome. Concurrent calls are batched. Retries by itself while the store is unavailable. */
  settle(report: Report): Promise<Reply>
  /** Records that these runs have begun (batched, best effort: a lost one only costs a delivery, not an attempt). */
  started(runs: readonly { readonly runId: string; readonly epoch: number; readonly at: number }[]): Promise<void>
  /** Results a run may read: by node of its own net (and the enclosing ones), loaded on request. */
  results(delivery: Delivery): Promise<ParentResults>
  /** The instructions of the run's node, where its type alone does not define them; null: none. */
  program(delivery: Delivery): Promise<Json | null>
  /** The arguments of a run whose payload refers to arguments stored out of line; undefined: they no longer exist. */
  dereference(delivery: Delivery): Promise<Json | undefined>
  checkpoint(delivery: Delivery, state: string): Promise<number>
  loadCheckpoint(delivery: Delivery): Promise<string | null>
  progress(delivery: Delivery, value: string): Promise<void>
  /** Stores lines that executions have logged; those of leases that have ended are dropped. */
  log(parts: readonly LogPart[]): Promise<void>
  /** quiet: accepts no more work. */
  quiet(): Promise<void>
  /** Ends the session; runs it still holds are handed back. */
  close(): Promise<void>
}

/** One run handed out. JSON travels as text. */
export interface Delivery {
  readonly runId: string
  readonly epoch: number
  readonly type: string
  readonly queue: string
  /** The run's tenant; null: none. */
  readonly tenant: string | null
  readonly priority: number
  readonly payload: string
  /** Number of this execution, from 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** The same for every execution of this run: use it to make effects idempotent. */
  readonly key: string
  readonly instanceId: string | null
  readonly rootId: string | null
  readonly node: string | null
  readonly fire: number
  readonly item: number
  readonly role: 'work' | 'undo' | 'final'
  readonly scope: string
  readonly limitKey: string | null
  readonly timeoutMs: number | null
  readonly meta: string | null
  /** Result of the previous step, when it came with a hand-off; undefined: ask `results`. */
  readonly previous?: string | null
}

/** Lines of one execution that follow one another. */
export interface LogPart {
  readonly runId: string
  readonly epoch: number
  /** The number of the first line among those of the execution, from 0. */
  readonly first: number
  readonly lines: readonly LogLine[]
}

/** A request to a service. */
export interface Command {
  readonly subject: string
  /** JSON text, sent byte for byte. */
  readonly body: string
  /** Published again when it has been unanswered for this long. */
  readonly resendMs: number
}

export interface Report {
  readonly delivery: Delivery
  /** Identifies this report: if it is sent again with the same id, the reply is the same success. */
  readonly reportId: string
  readonly startedAt: number | null
  readonly outcome:
    | { readonly kind: 'succeeded'; readonly result: string | null }
    | { readonly kind: 'failed'; readonly error: Failure }
    /** Will be completed later by id. `command` asks an external service to do so; stored and published until then. */
    | { readonly kind: 'deferred'; readonly command?: Command }
    /** Handed back unstarted (recall, drain): costs no attempt. */
    | { readonly kind: 'released' }
    /** Handed back after a start, due after this delay: the same attempt continues then. */
    | { readonly kind: 'later'; readonly delayMs: number }
  /**
   * Context entries, JSON text of an object. Written if the run ends with this report, is deferred or postponed; not if
   * the execution is tried again.
   */
  readonly set?: string
  /** The execution's own notes, JSON text of a list: kept with the event of this report. */
  readonly notes?: string
  /** Notes dropped because they did not fit. */
  readonly notesDropped?: number
  /** true: a slot is free, the reply may contain the next run. */
  readonly wantNext: boolean
  /** true: the worker does nothing else, so no other outcome follows soon. */
  readonly alone?: boolean
}

/** What a worker reports besides an outcome. */
export type Remarks = Pick<Report, 'set' | 'notes' | 'notesDropped'>

export interface Reply {
  /**
   * recorded: now or by this same report before. stale: the lease was lost, nothing changed. waiting: another
   * transaction holds its row; the engine keeps the report and records it when that transaction has ended.
   */
  readonly status: 'recorded' | 'stale' | 'not_found' | 'waiting'
  readonly next: Delivery | null
}

export interface ParentResults {
  /** Result of the one previous step (JSON text), null: none. */
  readonly previous: string | null
  /** By node key, JSON text. */
  readonly byNode: ReadonlyMap<string, string | null>
}
