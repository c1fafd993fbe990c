/**
 * Reads of trees of instances: what a projection shows of a workflow and everything nested in it. Each is one statement
 * however large the tree is, and bounded where stated.
 */

import type { SlotKey, SlotPrefix } from '../../net/slots.ts'
import type { InstanceRow, NetRow, RunRow, SlotRow } from '../rows.ts'

export interface TreeQueries {
  instanceByKey(startKey: string): Promise<InstanceRow | null>
  /** Which root has reserved each of these names; free ones are left out. */
  nameHolders(names: readonly string[]): Promise<ReadonlyMap<string, string>>
  nets(hashes: readonly string[]): Promise<readonly NetRow[]>
  /**
   * These instances and the children attached below them, outer ones first, at most `limit` in all. Of lists only items
   * [from, from + count) of the instance itself, and the first `count` of those below it.
   */
  below(params: { readonly windows: readonly Window[]; readonly limit: number }): Promise<readonly InstanceRow[]>
  /** The ancestors of these instances, up to their roots. */
  ancestors(params: { readonly ids: readonly string[] }): Promise<readonly InstanceRow[]>
  slotsOf(params: {
    readonly instanceIds: readonly string[]
    readonly prefixes: readonly SlotPrefix[]
  }): Promise<readonly SlotRow[]>
  /** The slots with exactly these keys. */
  slotsAt(params: {
    readonly instanceIds: readonly string[]
    readonly keys: readonly SlotKey[]
  }): Promise<readonly SlotRow[]>
  /** Runs by id, in no order. */
  briefs(params: { readonly ids: readonly string[]; readonly maxBytes: number }): Promise<readonly RunBrief[]>
  /** Work and finals of these instances in the order of their places; of lists only items [from, from + count). */
  placesOf(params: {
    readonly windows: readonly Window[]
    readonly failedOnly: boolean
    readonly limit: number
    readonly maxBytes: number
  }): Promise<readonly RunBrief[]>
  /** Counts of runs of an instance and everything attached below it, without finals. */
  totals(params: { readonly ids: readonly string[] }): Promise<ReadonlyMap<string, Totals>>
  /** Those of these instances in which, or below which, work is due or has begun. */
  begun(params: { readonly ids: readonly string[] }): Promise<ReadonlySet<string>>
  roots(query: RootQuery): Promise<readonly InstanceRow[]>
  /** Counts no further than `most`. */
  countRoots(query: Omit<RootQuery, 'limit' | 'offset' | 'before'>, most: number): Promise<number>
}

export interface Window {
  readonly instanceId: string
  readonly from: number
  readonly count: number
}

/** What a view shows of a run. Results are read in order until the budget of bytes is used up. */
export interface RunBrief
  extends Pick<
    RunRow,
    | 'id'
    | 'instanceId'
    | 'node'
    | 'fire'
    | 'item'
    | 'role'
    | 'type'
    | 'queue'
    | 'status'
    | 'attempt'
    | 'unknown'
    | 'deadLetter'
    | 'createdAt'
    | 'expiresAt'
    | 'leasedBy'
    | 'startedAt'
    | 'firstStartedAt'
    | 'finishedAt'
    | 'lastError'
    | 'error'
    | 'meta'
    | 'result'
  > {
  /** true: it has a result that was left out. */
  readonly omitted: boolean
}

export interface Totals {
  readonly succeeded: number
  readonly failed: number
}

export interface RootQuery {
  readonly dialect: string
  readonly states: readonly string[] | null
  /** true: work is due or has begun; false: none yet. null: either. */
  readonly begun: boolean | null
  readonly name: string | null
  readonly tenant: string | null
  /** Net.kind; null: any. */
  readonly kind: string | null
  readonly limit: number
  readonly offset: number
  /** Newest first, strictly older than this id. */
  readonly before: string | null
}
