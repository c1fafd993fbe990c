/**
 * Reads for pictures of an instance: its rows in the order of their places, so that each page is one stretch of an index,
 * and what happened to its runs. Every read has a limit.
 */
import type { GateRow, InstanceRow, RunRow, RunStatus, StoredEvent } from '../rows.ts'
import type { StepRun } from './steps.ts'

export interface PlaceQueries {
  /** Runs by node, firing, item and role, without arguments and results. */
  runs(page: PlacePage<RunPlace>): Promise<readonly StepRun[]>
  /** The same with arguments and results, until their sum exceeds `maxBytes` (shown.ts). */
  shownRuns(page: PlacePage<RunPlace> & { readonly maxBytes: number }): Promise<readonly RunRow[]>
  /** Attached children by node, item and firing. */
  children(page: PlacePage<ChildPlace>): Promise<readonly InstanceRow[]>
  /** Detached children by id. */
  detached(page: DetachedPage): Promise<readonly InstanceRow[]>
  /** Gates by node and firing, without what is to be decided and the answer; options and votes up to 4 KiB each. */
  gates(page: PlacePage<GatePlace>): Promise<readonly GateRow[]>
  /**
   * The first `most` events of each run, or the last, by run and id; of long data only the members about leases and times.
   * Events that a client wrote have no type and no data. `since`: none of them is older.
   */
  transitions(params: {
    readonly runIds: readonly string[]
    readonly since: number
    readonly most: number
    readonly from: 'first' | 'last'
  }): Promise<readonly StoredEvent[]>
  /** The nodes of the events after `afterSeq`, by seq. `since`: none of them is older. */
  touched(params: {
    readonly instanceId: string
    readonly afterSeq: number
    readonly since: number
    readonly limit: number
  }): Promise<readonly { readonly seq: number; readonly node: string | null }[]>
  /** Nodes with a held run outside of lists, or an open child. Reads all runs of the instance outside of lists. */
  active(params: { readonly instanceId: string }): Promise<readonly string[]>
  /** The latest firing of lists, and its items by status as far as `most` of them. */
  lists(params: {
    readonly instanceId: string
    readonly nodes: readonly string[]
    readonly most: number
  }): Promise<readonly ListRows[]>
  /** How many items of lists are held, by list; counted among `most` held runs of all instances. */
  heldItems(params: { readonly instanceId: string; readonly most: number }): Promise<HeldItems>
}

export interface PlacePage<P> {
  readonly instanceId: string
  /** null: of every node. */
  readonly node: string | null
  /** null: from the beginning. */
  readonly after: P | null
  readonly limit: number
}

export interface DetachedPage {
  readonly instanceId: string
  readonly after: string | null
  readonly limit: number
}

export interface GatePlace {
  readonly node: string
  readonly fire: number
}

export interface ChildPlace extends GatePlace {
  readonly item: number
}

export interface RunPlace extends ChildPlace {
  readonly role: string
}

/** Before every place. */
export const FIRST_PLACE: RunPlace = { node: '', fire: -1, item: -2, role: '' }

export interface ListRows {
  readonly node: string
  readonly fire: number
  /** The greatest index that has a run or a child. */
  readonly lastItem: number
  readonly counts: ReadonlyMap<RunStatus, number>
}

export interface HeldItems {
  /** By `<node>/<fire>`. */
  readonly counts: ReadonlyMap<string, number>
  /** false: more than `most` runs are held. */
  readonly complete: boolean
}
