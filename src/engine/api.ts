/** The engine as the SDK, the CLI and the server see it. */

import type { Logger } from '../kernel/logger.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { RunObserver } from '../model/run-observer.ts'
import type { Store } from '../store/store.ts'
import type { Vocabularies } from './fold/evaluators.ts'
import type { Records, Storage } from './records.ts'
import type { Retention } from './time/retention.ts'
import type { Faults } from './transaction/faults.ts'
import type { BulkVerbs } from './verbs/bulk.ts'
import type { DefinitionVerbs } from './verbs/definitions.ts'
import type { ErrorVerbs } from './verbs/errors.ts'
import type { GateVerbs } from './verbs/gates.ts'
import type { InstanceVerbs } from './verbs/instances.ts'
import type { PauseVerbs } from './verbs/pauses.ts'
import type { QueueVerbs } from './verbs/queues.ts'
import type { RunVerbs } from './verbs/runs.ts'
import type { ScheduleVerbs } from './verbs/schedules.ts'
import type { WorkerVerbs } from './verbs/workers.ts'

export type { OperationOrder } from './control/bulk.ts'
export type { PausedInstance } from './control/pauses.ts'
export type { DefinitionChange } from './intake/deployments.ts'
export type { Retention } from './time/retention.ts'
export type { CallerTransaction } from './transaction/caller-transaction.ts'

export interface EngineOptions {
  readonly store: Store
  /** Longest result or payload, in bytes of JSON. Default 1 MiB, never below 64 KiB. */
  readonly maxPayloadBytes?: number
  /** A session is dead after this long without a heartbeat. Default 20,000. */
  readonly sessionTtlMs?: number
  readonly heartbeatMs?: number
  /** How often the engine polls, in case a wake-up is lost. Default 1,000. */
  readonly pollMs?: number
  /** false: this process does not sweep. */
  readonly sweep?: boolean
  readonly retention?: Retention
  readonly logger?: Logger
  /** What names in expressions mean, by notation. A notation that is not listed uses the names of the net. */
  readonly vocabularies?: Vocabularies
  /** Source of jitter, which tests replace. */
  readonly random?: () => number
  /** Called at named points; crash tests stop the process there. */
  readonly probe?: (point: string) => void
  /** true: close() closes the store as well. */
  readonly closeStore?: boolean
}

export interface EngineApi
  extends RunVerbs,
    InstanceVerbs,
    DefinitionVerbs,
    ErrorVerbs,
    GateVerbs,
    ScheduleVerbs,
    QueueVerbs,
    PauseVerbs,
    WorkerVerbs,
    BulkVerbs {
  /** Reads: no locks, and nothing changes. */
  readonly queries: Queries
  readonly records: Records
  readonly storage: Storage
  /** Contained failures: what could not be handled, and how often. */
  readonly faults: Faults
  /** What this process has done since it opened the engine: numbers that only grow. */
  counters(): Readonly<Record<string, number>>
  /** Reports every run that this process hands out or ends from now on. Returns a function that ends the reports. */
  observe(observer: RunObserver): () => void
  /** For tests: empties the store. */
  reset(): Promise<void>
  /** Waits until what is being recorded is recorded. Workers are stopped before, with the grace they need. */
  close(): Promise<void>
}
