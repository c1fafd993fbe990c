/** The engine as the SDK, the CLI and the server see it. */

import type { Logger } from '../kernel/logger.ts'
import type { Completion, EngineCommands } from '../model/commands.ts'
import type { Enqueued, EnqueueParams } from '../model/enqueue.ts'
import type { GateAnswer, GateLink, GateView } from '../model/gates.ts'
import type { Leases } from '../model/leases.ts'
import type { LimitParams } from '../model/limits.ts'
import type { QueueStats } from '../model/queries/overview.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { TypeRegistry } from '../model/registry.ts'
import type { InstanceRow, RunRow, ScheduleRow, StoredEvent, WorkerRow } from '../model/rows.ts'
import type { ScheduleParams } from '../model/schedules.ts'
import type { Started, StartParams } from '../model/start.ts'
import type { InstanceState } from '../net/marking.ts'
import type { Json, Net } from '../net/net.ts'
import type { Store } from '../store/store.ts'
import type { InstanceView } from '../views/view.ts'
import type { Why, WhyRun } from '../views/why.ts'
import type { WorkerPort } from '../worker/port.ts'
import type { Vocabularies } from './fold/evaluators.ts'
import type { DefinitionStarted, StartDefinition, TriggerDefinition, Triggered } from './intake/definitions.ts'
import type { Deployments } from './intake/deployments.ts'
import type { Planned, Startable } from './intake/plans.ts'
import type { StartLimits } from './intake/start-check.ts'
import type { Records, Storage } from './records.ts'
import type { InboxScheduling } from './time/inbox-schedules.ts'
import type { Retention } from './time/retention.ts'
import type { CallerTransaction } from './transaction/caller-transaction.ts'
import type { Faults } from './transaction/faults.ts'
import type { RunObserver } from './transaction/observers.ts'

export type { DefinitionChange } from './intake/deployments.ts'
export type { CallerTransaction } from './transaction/caller-transaction.ts'

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
  /** What names in expressions mean, by notation. A notation that is not listed uses the names of the net. */
  readonly vocabularies?: Vocabularies
  /** Source of jitter; tests fix it. */
  readonly random?: () => number
  /** Called at named points; crash tests stop the process there. */
  readonly probe?: (point: string) => void
  /** true: close() closes the store as well. */
  readonly closeStore?: boolean
}

export interface EngineApi {
  /** Reads: no locks, and nothing changes. */
  readonly queries: Queries
  readonly records: Records
  readonly storage: Storage
  /** Adds and retires versions of definitions. */
  readonly deployments: Deployments
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
    /** true: what it has done is undone before it ends; active work is waited for, and undone if it succeeds. */
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
    /** true: a worker with leases of its own ends now, and they with it. */
    readonly now?: boolean
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
  /** The same for showing: as many as fit in so many bytes, the others as markers with their size (model/shown.ts). */
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
