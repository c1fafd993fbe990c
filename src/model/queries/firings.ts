/** What a transaction may load of single firings: their results, their places, and how often nodes have fired. */
import type { InstanceRow, JsonText, RunRow } from '../rows.ts'

export interface FiringNeed {
  readonly resultsAt?: readonly ResultAt[]
  /** Instances: how often their nodes have fired. */
  readonly ran?: readonly string[]
  /** The first firing of a node after another. */
  readonly nextFires?: readonly { readonly instanceId: string; readonly node: string; readonly after: number }[]
  /** The `work` run, and the attached child, at a place. */
  readonly placesAt?: readonly PlaceAt[]
  readonly childPlacesAt?: readonly PlaceAt[]
}

export interface FiringsLoaded {
  /**
   * Key: `${instanceId}/${node}/${fire}`; value: JSON text, null: none. For an `each`: an object keyed by item index.
   */
  readonly resultsAt: ReadonlyMap<string, ResultText>
  readonly ran: ReadonlyMap<string, readonly NodeRan[]>
  /** Key: `${instanceId}/${node}/${after}`; null: there is none. */
  readonly nextFires: ReadonlyMap<string, number | null>
  /** Key: `${instanceId}/${node}/${fire}/${item}`; null: none. */
  readonly placesAt: ReadonlyMap<string, RunRow | null>
  readonly childPlacesAt: ReadonlyMap<string, InstanceRow | null>
}

/** Result of one firing of a node; of a list, the results of the items that succeeded. */
export interface ResultAt {
  readonly instanceId: string
  readonly node: string
  readonly fire: number
  /** Most bytes of a list's results together; longer ones are not read. */
  readonly maxBytes: number
}

/** The marker for results of a list that are longer than requested. */
export const TOO_LONG = Symbol('too long')

export type ResultText = JsonText | typeof TOO_LONG | null

export interface PlaceAt {
  readonly instanceId: string
  readonly node: string
  readonly fire: number
  readonly item: number
}

/** Counts of the runs and attached children of a node. */
export interface NodeRan {
  readonly node: string
  readonly fires: number
  readonly runs: number
  /** Whether any of it has succeeded. */
  readonly done: boolean
}

/**
 * The results of a list are stored with its items, and are collected in memory when an expression names them or a page shows
 * them, within one transaction. Longer ones are not collected: for 100 MB a process needed 1.2 GB and so long that its session
 * was declared dead, and a JavaScript string has at most 512 MB.
 *
 * Bytes of JSON text, all items together.
 */
export const LIST_BYTES = 32 * 1024 * 1024

export function longListError(node: string): Error {
  return new Error(
    `the results of '${node}' are longer than ${LIST_BYTES} bytes together: let its items keep what they give elsewhere and return references, or name only ${node}.stats`,
  )
}
