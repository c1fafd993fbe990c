/**
 * The results of a list lie with its items, and are gathered when somebody names or shows them: in memory, within one
 * transaction. Beyond this they are not. Gathering 100 MB took a process to 1.2 GB and so long that its session was
 * declared dead; beyond 512 MB no JavaScript string holds them.
 */
import type { Closed } from '../net/lists.ts'
import { statsOf } from '../net/lists.ts'
import type { Json } from '../net/net.ts'

/** Of JSON text, all items together. */
export const LIST_BYTES = 32 * 1024 * 1024

const LONG = `longer than ${LIST_BYTES} bytes together`

/** For whoever names them. */
export function longListError(node: string): Error {
  return new Error(
    `the results of '${node}' are ${LONG}: let its items keep what they give elsewhere and return references, or name only ${node}.stats`,
  )
}

/** For whoever looks: all but the results. */
export function longListShown(closed: Closed): Json {
  return { results: null, results_omitted: `they are ${LONG}; read them item by item`, stats: statsOf(closed) }
}
