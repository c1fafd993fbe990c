/** The public API of Petrel. What is not exported here may change without notice. */
export {
  type AnyStep,
  type Batch,
  batch,
  type Callbacks,
  type Chain,
  chain,
  type Group,
  group,
  type Job,
  job,
  type Step,
  type StepOptions,
} from './client/builders.ts'
export { WorkflowFailed } from './client/errors.ts'
export { InstanceHandle, RunHandle, type WaitOptions } from './client/handles.ts'
export {
  type Answer,
  type EnqueueEntry,
  type EnqueueOptions,
  Petrel,
  type PetrelOptions,
  type StartOptions,
  type TransactionClient,
  type WorkOptions,
} from './client/petrel.ts'
export { type StepContext, type Stored, type Task, task } from './client/task.ts'
export type {
  EngineApi,
  GateView,
  InstanceView,
  Logger,
  Retention,
  ScheduleParams,
  UniqueParams,
} from './engine/api.ts'
export { type ErrorCode, PetrelError } from './engine/errors.ts'
export type { GateOptions } from './engine/gate-options.ts'
export type { Failure, InstanceOutcome, InstanceState } from './net/marking.ts'
export type { Json, Retry } from './net/net.ts'
export type { GateRow, InstanceRow, RunRow, RunStatus, StoredEvent } from './store/rows.ts'
export type { Context, Deferred } from './worker/context.ts'
export { Cancelled, LeaseLost, Retryable, Shutdown, Terminal, TimedOut } from './worker/errors.ts'
export type { Worker } from './worker/worker.ts'
