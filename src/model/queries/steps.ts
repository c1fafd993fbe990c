/**
 * Reads of an instance node by node: the rows at each of its places, and the runs before one in a queue. Rows come without
 * arguments and results, so that ten thousand steps are a few megabytes. Every count has a limit.
 */
import type { GateRow, InstanceRow, JsonText, LimitRow, RunRow, RunStatus, StoredEvent } from '../rows.ts'

export interface StepQueries {
  /** The latest run at each node and the run that undoes it; lists are left out. */
  runsAt(nodes: readonly NodeOf[]): Promise<readonly StepRun[]>
  /** The latest gate at each node. */
  gatesAt(nodes: readonly NodeOf[]): Promise<readonly GateRow[]>
  /** The latest attached child at each node; lists are left out. */
  childrenAt(nodes: readonly NodeOf[]): Promise<readonly InstanceRow[]>
  /** Items of a list that have a run or a child, by status; at most `most` of each are read. */
  itemCounts(params: NodeOf & { readonly most: number }): Promise<ReadonlyMap<RunStatus, number>>
  /** Items of lists whose run has not ended, in the order of their creation. */
  openItems(params: { readonly instanceId: string; readonly limit: number }): Promise<readonly StepRun[]>
  /** Attached children that have not ended, in the order of their creation. */
  openChildren(params: { readonly instanceId: string; readonly limit: number }): Promise<readonly InstanceRow[]>
  /** The values under `usage` in the results of these instances. */
  usages(params: { readonly instanceIds: readonly string[] }): Promise<readonly JsonText[]>
  /** Events of an instance about its state and about rejected gates, oldest first. */
  stateEvents(params: { readonly instanceId: string; readonly limit: number }): Promise<readonly StoredEvent[]>
  /** Ids of the first due runs of a queue, at most `limit`, in the order in which claims take them. */
  front(params: { readonly queue: string; readonly most: number }): Promise<readonly string[]>
  limitsOf(keys: readonly string[]): Promise<readonly LimitRow[]>
}

export interface NodeOf {
  readonly instanceId: string
  readonly node: string
}

/** A run without its arguments and its result. */
export type StepRun = Omit<RunRow, 'payload' | 'result' | 'meta'>
