/** The engine as the SDK, the CLI and the server see it. */

import type { Logger } from '../kernel/logger.ts'
import type { Failure, InstanceState } from '../net/marking.ts'
import type { Json, Net, Retry } from '../net/net.ts'
import type { Commands } from '../store/commands.ts'
import type { RunWait } from '../store/reads.ts'
import type {
  GateRow,
  InstanceRow,
  RunRow,
  RunStatus,
  ScheduleRow,
  StoredEvent,
  TotalRow,
  WorkerRow,
} from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import type { WorkerPort } from '../worker/port.ts'
import type { DefinitionStarted, StartDefinition, TriggerDefinition, Triggered } from './definitions.ts'
import type { Faults } from './faults.ts'
import type { InboxScheduling } from './inbox-schedules.ts'
import type { Leases } from './lease-api.ts'
import type { RunObserver } from './observers.ts'
import type { Planned, Startable } from './plans.ts'
import type { EngineKey } from './scoped-names.ts'
import type { StartLimits } from './start-check.ts'
import type { TypeRegistry } from './type-registry.ts'
import type { Standing } from './votes.ts'
import type { Why, WhyRun } from './why.ts'

export { HELD_AT } from '../store/rows.ts'

export interface EngineOptions {
  readonly store: Store
  /** Longest result or payload, in bytes of JSON. Default 1 MiB, never below 64 KiB. */
  readonly maxPayloadBytes?: number
  /** A session is dead when it has not beaten for this long. Default 20,000. */
  readonly sessionTtlMs?: number
  readonly heartbeatMs?: number
  /** Backstop of every wake-up. Default 1,000. */
  readonly pollMs?: number
  /** false: this process does not sweep. */
  readonly sweep?: boolean
  readonly retention?: Retention
  readonly logger?: Logger
  /** Source of jitter; tests fix it. */
  readonly random?: () => number
  /** Called at named points; crash tests stop the process there. */
  readonly probe?: (point: string) => void
}

export interface Retention {
  /** Ended instances and bare runs are kept this long. null: for ever. */
  readonly endedMs: number | null
  readonly eventsMs: number | null
}

export interface EnqueueParams {
  readonly id?: string
  readonly type: string
  readonly payload: Json
  readonly queue?: string
  /** Smaller runs earlier; default 100. */
  readonly priority?: number
  /** Beside runAt: what runAt was counted by. */
  readonly delayMs?: number
  readonly runAt?: number
  readonly maxAttempts?: number
  readonly retry?: Partial<Retry>
  readonly timeoutMs?: number
  readonly expiresAt?: number
  /** The same, counted from when it is enqueued: for templates. */
  readonly expiresInMs?: number
  /** Permanently unique within the tenant: a second enqueue answers with the first run. Refused for another type. */
  readonly idempotencyKey?: string | EngineKey
  readonly unique?: UniqueParams
  readonly limitKey?: string
  /** true: as if put in by plain SQL. Its type is dotted and ends in a version, such as .v1. */
  readonly inbox?: boolean
  /** Limits it brings along: set in the transaction that creates it, not if it is not created. */
  readonly limits?: readonly LimitParams[]
  readonly meta?: Json
  readonly tenant?: string
  /** Who puts it in; told with its `created` event. */
  readonly actor?: string
}

/**
 * A limit by its key, `queue:<name>` or `key:<limit key>`, or of the instances of a workflow (slotKey), which has no rate.
 * What is left out stays as it is, or unlimited if it is new.
 */
export interface LimitParams {
  readonly key: string
  /** Leased, or executing, at the same time. */
  readonly maxConcurrent?: number | null
  /** Leases per period. */
  readonly ratePer?: number | null
  readonly periodMs?: number | null
}

/** Unique among the runs that have the key. The newcomer's words decide; the holder's only about his own period. */
export interface UniqueParams {
  /** Of the tenant: the same key in two tenants is two keys. */
  readonly key: string
  /** Counted from the holder's creation; afterwards the key is free. */
  readonly periodMs?: number
  /** The holder counts while it is in one of these; its part of `pending` may be named. Default: pending and leased. */
  readonly states?: readonly (RunStatus | RunWait)[]
  /**
   * replace: the holder is cancelled, an active one fenced off; one that has ended only gives up the key.
   * replace_except_schedule: the same, and the newcomer is due when the holder would have been.
   */
  readonly onConflict: 'reject' | 'ignore' | 'replace' | 'replace_except_schedule'
}

export interface Enqueued {
  readonly id: string
  /** false: the key was taken, `id` is the holder's. */
  readonly created: boolean
  /** The row as written, or the holder's; null: it was not at hand. */
  readonly run: RunRow | null
  /** The run it replaced. */
  readonly replaced?: string
}

export interface StartParams {
  readonly id?: string
  readonly net: Net
  /** Nets of nested workflows, by reference from child nodes and items. */
  readonly nets?: readonly Net[]
  readonly input?: Json
  /** Literal arguments by node: never part of the net. */
  readonly literals?: { readonly [node: string]: Literal }
  /** Literal items of `each` nodes. */
  readonly items?: { readonly [node: string]: readonly Item[] }
  /** Unique within the tenant: a second start answers with the first instance. Refused for another workflow. */
  readonly startKey?: string | EngineKey
  /**
   * Start keys of this instance and of those nested in it that their author named: reserved together, for ever. If
   * one is taken, nothing starts (`duplicate`).
   */
  readonly names?: readonly string[]
  /** As of EnqueueParams. */
  readonly limits?: readonly LimitParams[]
  /** false: it stays idle, with nothing due, until startInstance. */
  readonly start?: boolean
  /**
   * Instances of this workflow (its name and tenant) that may execute at once, from now on; one for which there is no
   * room waits in the queue, first queued first. Left out: it needs no room and takes none.
   */
  readonly slots?: number
  readonly tenant?: string
  readonly initiator?: string
  readonly meta?: Json
}

export interface Literal {
  readonly args?: Json
  readonly meta?: Json
  /** Not before this moment, however early its turn comes. */
  readonly runAt?: number
  readonly expiresAt?: number
  /** What a child node starts with. */
  readonly start?: ChildStart
}

export interface ChildStart {
  readonly input?: Json
  /** One of the root's `names`. */
  readonly startKey?: string
  readonly meta?: Json
  readonly literals?: { readonly [node: string]: Literal }
  readonly items?: { readonly [node: string]: readonly Item[] }
}

/** An item of an each that names its own work. With a body on the node, items are any JSON. */
export type Item = { readonly run: ItemRun } | { readonly child: string; readonly start: ChildStart } | Json

export interface ItemRun {
  readonly type: string
  readonly args: Json
  readonly queue?: string
  readonly priority?: number
  readonly delayMs?: number
  readonly retry?: Retry
  readonly timeoutMs?: number
  readonly limitKey?: string
  readonly meta?: Json
  /** Not before this moment. */
  readonly runAt?: number
  readonly expiresAt?: number
}

export interface Started {
  readonly id: string
  readonly created: boolean
}

export interface InstanceView {
  readonly instance: InstanceRow
  readonly error: Failure | null
  readonly undoError: Failure | null
  readonly runs: readonly RunRow[]
  readonly gates: readonly GateRow[]
  readonly children: readonly InstanceRow[]
}

/** What a queue holds and has done. */
export interface QueueStats {
  readonly name: string
  readonly paused: boolean
  readonly available: number
  readonly scheduled: number
  readonly retryable: number
  readonly held: number
  readonly active: number
  /** Since the database was made. */
  readonly succeeded: number
  readonly failed: number
  readonly cancelled: number
  /** Failed executions that were tried again. */
  readonly retried: number
  /** The last minutes in which anything ended, oldest first. */
  readonly minutes: readonly TotalRow[]
}

export interface GateAnswer {
  readonly gateId: string
  readonly approved: boolean
  readonly answer?: Json
  /** Who votes; null: nobody says, which a gate that asks for a quorum or roles refuses. */
  readonly actor: string | null
  readonly roles?: readonly string[]
  readonly reason?: string
  /** Id of the signed link the vote came by. */
  readonly link?: string
  /** Decides, whatever quorum, roles and form say: for dry runs. */
  readonly force?: boolean
}

export interface GateLink {
  readonly gateId: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly expiresAt: number
  /** Id of the link. */
  readonly link: string
  readonly actor: string | null
}

export interface GateView {
  readonly gate: GateRow
  readonly instance: InstanceRow
  readonly standing: Standing
}

export interface Completion {
  readonly runId: string
  /** Given: the run must be of this instance. */
  readonly instanceId?: string
  readonly outcome:
    | { readonly kind: 'succeeded'; readonly result: Json }
    | { readonly kind: 'failed'; readonly error: Failure }
  /** For the history. What is beyond 64 KiB is dropped and counted. */
  readonly notes?: readonly Json[]
}

/**
 * Why a completion was refused, in the details of its conflict. duplicate: the work had been completed before. late: it
 * had been given up. early: its worker still has it, or will have; the same completion may come again in a moment.
 */
export type CompletionRefusal = 'duplicate' | 'late' | 'early'

/** Commands of deferred runs, for whoever publishes them. */
export interface EngineCommands extends Commands {
  /** Calls whenever commands may have become due, here or elsewhere. Returns what undoes it. */
  onStored(listener: () => void): () => void
}

export interface EngineApi {
  readonly store: Store
  readonly commands: EngineCommands
  readonly workers: WorkerPort
  readonly leases: Leases
  readonly registry: TypeRegistry
  readonly inboxSchedules: InboxScheduling
  /** Failures that were contained: what was left out, and how often. */
  readonly faults: Faults
  enqueue(params: readonly EnqueueParams[], on?: CallerTransaction): Promise<readonly Enqueued[]>
  start(params: readonly StartParams[], on?: CallerTransaction): Promise<readonly Started[]>
  /** What a start is held to, for whoever plans one elsewhere. */
  readonly startLimits: StartLimits
  /** What a definition is stored as; refuses what a start would refuse. */
  planDefinition(start: Startable): Planned
  /** Starts a deployed definition by its name. */
  startDefinition(params: StartDefinition): Promise<DefinitionStarted>
  /** The same for something that happened: idle instances of that name start; only if there are none, a new one does. */
  triggerDefinition(params: TriggerDefinition): Promise<readonly Triggered[]>
  /**
   * Completes deferred work by its run id. What cannot be completed is refused and changes nothing: `not_found`;
   * `mismatch`, if the run is not of the instance named; `conflict`, whose details say in `reason` why.
   */
  complete(params: Completion): Promise<void>
  cancelInstance(params: {
    readonly id: string
    readonly actor: string | null
    /** true: a second cancel is a conflict, even while the first still waits for active work to end. */
    readonly once?: boolean
    /** true: what it has done is undone before it ends; active work is waited for, and undone if it succeeds. Default: of a saga. */
    readonly undo?: boolean
  }): Promise<InstanceRow>
  cancelRun(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  /** One person's vote; with it the gate may be decided. */
  answerGate(params: GateAnswer): Promise<InstanceRow>
  /** Tells in the history that somebody was given a signed link; whoever makes the link calls this first. */
  noteLink(params: GateLink): Promise<void>
  gate(id: string): Promise<GateView | null>
  patchContext(params: {
    readonly instanceId: string
    readonly set: { readonly [name: string]: Json }
    readonly actor: string | null
  }): Promise<InstanceRow>
  /** An idle instance is queued, and begins at once if there is room. One in any other state is a conflict. */
  startInstance(params: { readonly id: string; readonly actor: string | null }): Promise<InstanceRow>
  /**
   * Starts a new instance that takes over finished results of a failed, cancelled or partial one. `input` replaces
   * what the old one was given. Sent again under the same `startKey`, it answers with the same retry.
   */
  retryInstance(params: {
    readonly id: string
    readonly actor: string | null
    readonly input?: Json
    readonly startKey?: string
  }): Promise<Started>
  /** Goes on in place with an instance that stopped (saga policy stop). */
  resumeInstance(params: { readonly id: string; readonly actor: string | null }): Promise<InstanceRow>
  /** A failed, cancelled or dead-lettered run goes back to pending, attempt 0. */
  /** A smaller number is more urgent. */
  prioritize(params: { readonly id: string; readonly priority: number; readonly actor: string | null }): Promise<RunRow>
  redrive(params: { readonly runId: string; readonly actor: string | null }): Promise<RunRow>
  /** A run that waits at HELD_AT becomes due. */
  activate(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  /**
   * Out of sight, for good by retention: a run that waits is never handed out, of a workflow it counts as cancelled.
   * What a worker holds is a conflict.
   */
  deleteRun(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  /** Removes a dead-lettered run for good. */
  dismiss(params: { readonly id: string; readonly actor: string | null }): Promise<void>
  pauseQueue(params: { readonly queue: string; readonly paused: boolean; readonly actor: string | null }): Promise<void>
  setLimit(params: LimitParams): Promise<void>
  /** Tells a worker to take no more work, or to stop. Nothing takes that back. */
  directWorker(params: {
    readonly id: string
    readonly state: 'quiet' | 'terminate'
    readonly actor: string | null
  }): Promise<WorkerRow>
  /** By name. `minutes`: how many of the last to tell one by one. */
  queueStats(params: { readonly queue: string | null; readonly minutes: number }): Promise<readonly QueueStats[]>
  /** What this process has done since it opened the engine: numbers that only grow. */
  counters(): Readonly<Record<string, number>>
  /** From now on, tells of every run that this process hands out or ends. Returns what undoes it. */
  observe(observer: RunObserver): () => void
  /** For tests: empties the store. */
  reset(): Promise<void>
  putSchedule(params: ScheduleParams): Promise<ScheduleRow>
  setSchedule(params: { readonly name: string; readonly enabled: boolean }): Promise<ScheduleRow>
  removeSchedule(name: string): Promise<boolean>
  view(instanceId: string): Promise<InstanceView | null>
  /** What each node that has not ended waits for, a page at a time; null: there is no such instance. */
  why(params: {
    readonly instanceId: string
    /** `next` of the page before. */
    readonly after?: string | null
    readonly limit?: number
  }): Promise<Why | null>
  whyRun(run: RunRow): Promise<WhyRun>
  /** Results by node key (JSON text); for an each an object keyed by item index; for a child its own results. */
  results(instanceId: string, nodes?: readonly string[]): Promise<ReadonlyMap<string, string | null>>
  /** The same for showing: as many as fit in so many bytes, the others as markers with their size (store/shown.ts). */
  shownResults(instanceId: string, maxBytes: number): Promise<ReadonlyMap<string, string | null>>
  /** What came before a run in its workflow, by node key (JSON text); empty for a bare run. */
  resultsBefore(run: RunRow): Promise<ReadonlyMap<string, string | null>>
  /** What the node of a run says is to be done, where its type alone does not; null: nothing. */
  program(run: RunRow): Promise<Json | null>
  net(hash: string): Promise<Net | null>
  /** Resolves when the instance (or bare run) has ended. */
  ended(params: {
    readonly id: string
    readonly kind: 'instance' | 'run'
    readonly signal?: AbortSignal
  }): Promise<InstanceState | RunRow['status']>
  /** Follows the events of one instance until it ends. */
  watch(instanceId: string, signal?: AbortSignal): AsyncIterable<StoredEvent>
  /** Lets what is being recorded be recorded. Workers are stopped before, with the grace they need. */
  close(): Promise<void>
}

/** The caller's own open Postgres transaction: what is enqueued in it commits or vanishes with it. */
export interface CallerTransaction {
  readonly client: { query(...args: never[]): unknown }
}

export interface ScheduleParams {
  readonly name: string
  readonly expression: string
  readonly timezone?: string
  readonly overlap?: ScheduleRow['overlap']
  readonly enabled?: boolean
  readonly run?: EnqueueParams
  readonly start?: StartParams
  readonly tenant?: string
  /** What its author says of it; kept in the template beside run or start. */
  readonly about?: Json
}
