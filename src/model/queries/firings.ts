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
  /** Of a list, all of it together: what is longer is not read. */
  readonly maxBytes: number
}

/** Stands for the results of a list that are longer than was asked for. */
export const TOO_LONG = Symbol('too long')

export type ResultText = JsonText | typeof TOO_LONG | null

export interface PlaceAt {
  readonly instanceId: string
  readonly node: string
  readonly fire: number
  readonly item: number
}

/** What runs and attached children tell of a node's work. */
export interface NodeRan {
  readonly node: string
  readonly fires: number
  readonly runs: number
  /** Some of it has succeeded. */
  readonly done: boolean
}

/**
 * The results of a list are stored with its items, and are gathered when an expression names them or a page shows them: in
 * memory, within one transaction. Longer ones are not gathered. Gathering 100 MB took a process to 1.2 GB and so long that
 * its session was declared dead; beyond 512 MB no JavaScript string holds them.
 *
 * Bytes of JSON text, all items together.
 */
export const LIST_BYTES = 32 * 1024 * 1024

export function longListError(node: string): Error {
  return new Error(
    `the results of '${node}' are longer than ${LIST_BYTES} bytes together: let its items keep what they give elsewhere and return references, or name only ${node}.stats`,
  )
}
