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
export type { BulkOperations, BulkOrder, BulkPreview, BulkSearch } from './client/bulk.ts'
export type { DeadLetters } from './client/dead-letters.ts'
export type { EnqueueEntry, EnqueueOptions, TransactionClient } from './client/enqueue.ts'
export type { ErrorGroupFilter, ErrorGroups, ErrorGroupsFound } from './client/error-groups.ts'
export { WorkflowFailed } from './client/errors.ts'
export type { Answer, Gates } from './client/gates.ts'
export {
  InstanceHandle,
  type PauseOptions,
  type Repeat,
  type RepeatPage,
  RunHandle,
  type WaitOptions,
} from './client/handles.ts'
export type { GateFilter, InstanceFilter, RunFilter } from './client/listing.ts'
export type { LogLines } from './client/logs.ts'
export { Petrel, type PetrelOptions, type WorkOptions } from './client/petrel.ts'
export type { By, Limits, Queues } from './client/queues.ts'
export { type Saga, type SagaOptions, type SagaStep, saga } from './client/saga.ts'
export type { RunScheduleOptions, ScheduleOptions, Schedules } from './client/schedules.ts'
export type { Searches, SearchOptions } from './client/search.ts'
export type { Debounce, Debounced, DebouncedStart } from './client/starts/debounced.ts'
export type {
  DefinitionOptions,
  DeployedOptions,
  SagaStartOptions,
  StartOptions,
} from './client/starts/options.ts'
export { type StepContext, type Stored, type Task, task } from './client/task.ts'
export type { Retention } from './engine/time/retention.ts'
export { type ErrorCode, PetrelError } from './kernel/errors.ts'
export type { Logger } from './kernel/logger.ts'
export type { Operation, OperationItemRow } from './model/bulk/rows.ts'
export type { UniqueParams } from './model/enqueue.ts'
export type { ErrorGroupRow, ErrorGroupState } from './model/errors/groups.ts'
export type { GateOptions, GateView } from './model/gates.ts'
export type { LimitParams } from './model/limits.ts'
export type { QueueStats } from './model/queries/overview.ts'
export type { QueueDepth, QueueReport, Traffic, TrafficRow } from './model/queries/queueing.ts'
export type { Preview, StepChoice } from './model/queries/repeats.ts'
export type { ListingParams, RuntimeRow, TypeRegistry } from './model/registry.ts'
export type { GateRow, InstanceRow, LimitRow, RunRow, RunStatus, ScheduleRow, StoredEvent } from './model/rows.ts'
export type { Fired, FireRow, ListedSchedule } from './model/schedules/fires.ts'
export type { CountedState, Found } from './model/search/queries.ts'
export type { Failure, InstanceOutcome, InstanceState } from './net/marking.ts'
export type { Json } from './net/net.ts'
export type { Retry } from './net/retry/retry.ts'
export type { Execution } from './notations/playbook/project/execution.ts'
export type { StepHandlerOptions } from './notations/playbook/runtime/handler.ts'
export { DefinitionError, type LocatedMistake } from './notations/source/mistakes.ts'
export type { Envelope, Problem, Tool, ToolCall, ToolError } from './tools/tool.ts'
export { Tools, type ToolsOptions } from './tools/tools.ts'
export type { Marking, NodeMark } from './views/pictures/marking.ts'
export type { Segment } from './views/pictures/segments.ts'
export type { Timeline, TimelineRow } from './views/pictures/timeline.ts'
export type { InstanceView } from './views/view.ts'
export type { Why } from './views/why.ts'
export type { Context, Deferred } from './worker/context.ts'
export { Cancelled, Failed, LeaseLost, Retryable, Shutdown, Terminal, TimedOut } from './worker/errors.ts'
export type { Later } from './worker/later.ts'
export type { Worker } from './worker/worker.ts'
