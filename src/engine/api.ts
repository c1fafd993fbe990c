/** The engine as the SDK, the CLI and the server see it. */
import type { Failure, InstanceState } from '../net/marking.ts'
import type { Json, Net, Retry } from '../net/net.ts'
import type { GateRow, InstanceRow, RunRow, ScheduleRow, StoredEvent } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import type { WorkerPort } from '../worker/port.ts'

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

export interface Logger {
  debug(context: object, message: string): void
  info(context: object, message: string): void
  warn(context: object, message: string): void
  error(context: object, message: string): void
}

export interface EnqueueParams {
  readonly id?: string
  readonly type: string
  readonly payload: Json
  readonly queue?: string
  /** Smaller runs earlier; default 100. */
  readonly priority?: number
  readonly delayMs?: number
  readonly runAt?: number
  readonly maxAttempts?: number
  readonly retry?: Partial<Retry>
  readonly timeoutMs?: number
  readonly expiresAt?: number
  /** Unique for ever: a second enqueue answers with the first. */
  readonly idempotencyKey?: string
  readonly unique?: UniqueParams
  readonly limitKey?: string
  readonly meta?: Json
  readonly tenant?: string
}

/** Unique among live runs. */
export interface UniqueParams {
  readonly key: string
  /** Counted from the holder's creation; afterwards the key is free. */
  readonly periodMs?: number
  readonly states?: readonly ('pending' | 'leased' | 'succeeded' | 'failed' | 'cancelled')[]
  readonly onConflict: 'reject' | 'ignore' | 'replace'
}

export interface Enqueued {
  readonly id: string
  /** false: the key was taken, `id` is the holder's. */
  readonly created: boolean
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
  /** A second start with the same key answers with the first instance. */
  readonly startKey?: string
  readonly tenant?: string
  readonly initiator?: string
  readonly meta?: Json
}

export interface Literal {
  readonly args?: Json
  readonly meta?: Json
  /** What a child node starts with. */
  readonly start?: ChildStart
}

export interface ChildStart {
  readonly input?: Json
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

export interface EngineApi {
  readonly store: Store
  readonly workers: WorkerPort
  enqueue(params: readonly EnqueueParams[], on?: CallerTransaction): Promise<readonly Enqueued[]>
  start(params: readonly StartParams[], on?: CallerTransaction): Promise<readonly Started[]>
  /** Completes deferred work by its run id. */
  complete(params: {
    readonly runId: string
    readonly outcome:
      | { readonly kind: 'succeeded'; readonly result: Json }
      | { readonly kind: 'failed'; readonly error: Failure }
  }): Promise<void>
  cancelInstance(params: { readonly id: string; readonly actor: string | null }): Promise<InstanceRow>
  cancelRun(params: { readonly id: string; readonly actor: string | null }): Promise<RunRow>
  answerGate(params: {
    readonly gateId: string
    readonly approved: boolean
    readonly answer?: Json
    readonly actor: string | null
    readonly reason?: string
  }): Promise<InstanceRow>
  patchContext(params: {
    readonly instanceId: string
    readonly set: { readonly [name: string]: Json }
    readonly actor: string | null
  }): Promise<InstanceRow>
  /** Starts a new instance that takes over finished results of a failed, cancelled or partial one. */
  retryInstance(params: { readonly id: string; readonly actor: string | null }): Promise<Started>
  /** Goes on in place with an instance that stopped (saga policy stop). */
  resumeInstance(params: { readonly id: string; readonly actor: string | null }): Promise<InstanceRow>
  /** A failed, cancelled or dead-lettered run goes back to pending, attempt 0. */
  redrive(params: { readonly runId: string; readonly actor: string | null }): Promise<RunRow>
  pauseQueue(params: { readonly queue: string; readonly paused: boolean; readonly actor: string | null }): Promise<void>
  setLimit(params: {
    readonly key: string
    readonly maxConcurrent: number | null
    readonly ratePer: number | null
    readonly periodMs: number | null
  }): Promise<void>
  putSchedule(params: ScheduleParams): Promise<ScheduleRow>
  removeSchedule(name: string): Promise<boolean>
  view(instanceId: string): Promise<InstanceView | null>
  /** Results by node key (JSON text); for an each an object keyed by item index; for a child its own results. */
  results(instanceId: string, nodes?: readonly string[]): Promise<ReadonlyMap<string, string | null>>
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
}
