/**
 * The result of a node: that of its latest succeeded work, or for an `each` an object of all its items, or what the
 * engine stored in a slot (results of children).
 */
import { type ResultAt, type ResultText, TOO_LONG } from '../../../model/queries/firings.ts'
import { ALWAYS_BYTES, omitted } from '../../../model/shown.ts'
import { SLOT } from '../../../net/slots.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'

/**
 * The place index has a node's runs by fire; the newest fire with ended work decides. An item an operator cancelled has
 * an error and counts as failed; one that a drain cancelled has none.
 */
const LATEST = `SELECT fire, item, result FROM workflow_run
  WHERE instance_id = ? AND node = ? AND role <> 'undo' AND (status = 'succeeded'
    OR (item >= 0 AND (status = 'failed' OR (status = 'cancelled' AND error IS NOT NULL))))
  ORDER BY fire DESC LIMIT 1`
const ITEMS = `SELECT item, status, result, error, last_error FROM workflow_run
  WHERE instance_id = ? AND node = ? AND fire = ? AND item >= 0 AND role = 'work'
    AND (status IN ('succeeded', 'failed') OR (status = 'cancelled' AND error IS NOT NULL))
  ORDER BY item`
const SLOT_VALUE = 'SELECT value FROM workflow_slot WHERE instance_id = ? AND key = ?'

export interface Result {
  readonly text: string | null
  /** null: not the result of a run. */
  readonly fire: number | null
}

export function resultOf(connection: Connection, instanceId: string, node: string): Result {
  const latest = connection.statement(LATEST).get(instanceId, node)
  if (latest !== undefined) {
    const fire = latest[0] as number
    if ((latest[1] as number) >= 0) return { text: itemResults(connection, instanceId, node, fire), fire }
    if (latest[2] !== null) return { text: latest[2] as string, fire }
  }
  const slot = connection.statement(SLOT_VALUE).get(instanceId, SLOT.result.key(node))
  return { text: slot === undefined ? null : (slot[0] as string), fire: null }
}

const SHOWN_LATEST = `SELECT fire, item, octet_length(result), CASE WHEN octet_length(result) <= ?3 THEN result END
  FROM workflow_run WHERE instance_id = ?1 AND node = ?2 AND role <> 'undo' AND (status = 'succeeded'
    OR (item >= 0 AND (status = 'failed' OR (status = 'cancelled' AND error IS NOT NULL))))
  ORDER BY fire DESC LIMIT 1`
const ITEMS_SIZE = `SELECT sum(10 + coalesce(octet_length(result), 4) + coalesce(octet_length(error), 0)
    + coalesce(octet_length(last_error), 0)) FROM workflow_run
  WHERE instance_id = ? AND node = ? AND fire = ? AND item >= 0 AND role = 'work'
    AND (status IN ('succeeded', 'failed') OR (status = 'cancelled' AND error IS NOT NULL))`
const SHOWN_SLOT = `SELECT octet_length(value), CASE WHEN octet_length(value) <= ?3 THEN value END FROM workflow_slot
  WHERE instance_id = ?1 AND key = '${SLOT.result.prefix}' || ?2`

/** In order, until their sum exceeds `maxBytes`; for the others only the size is read. */
export function shownResults(
  connection: Connection,
  instanceId: string,
  nodes: readonly string[],
  maxBytes: number,
): Map<string, string | null> {
  const found = new Map<string, string | null>()
  let left = maxBytes
  for (const node of nodes) {
    const { bytes, text } = shownResult(connection, instanceId, node, Math.max(ALWAYS_BYTES, left))
    left -= bytes
    found.set(`${instanceId}/${node}`, bytes > 0 && text === null ? omitted(bytes) : text)
  }
  return found
}

/** `text`: null if it is longer than `most`. */
function shownResult(
  connection: Connection,
  instanceId: string,
  node: string,
  most: number,
): { readonly bytes: number; readonly text: string | null } {
  const latest = connection.statement(SHOWN_LATEST).get(instanceId, node, most)
  if (latest !== undefined && (latest[1] as number) >= 0) {
    const fire = latest[0] as number
    const bytes = connection.statement(ITEMS_SIZE).get(instanceId, node, fire)?.[0] as number
    return { bytes, text: bytes <= most ? itemResults(connection, instanceId, node, fire) : null }
  }
  const [bytes, text] =
    latest !== undefined && latest[2] !== null
      ? latest.slice(2)
      : (connection.statement(SHOWN_SLOT).get(instanceId, node, most) ?? [0, null])
  return { bytes: bytes as number, text: text as string | null }
}

/** Few enough that the longest results of a portion fit into memory; along the place index, a portion takes 0.1 ms. */
const PORTION = 100
const SUCCEEDED = `SELECT item, result FROM workflow_run
  WHERE instance_id = ? AND node = ? AND fire = ? AND item > ? AND role = 'work' AND status = 'succeeded'
  ORDER BY item LIMIT ${PORTION}`

/** Results of one firing, without items that did not succeed. */
export function resultAt(connection: Connection, { instanceId, node, fire, maxBytes }: ResultAt): ResultText {
  const portion = (after: number): readonly Cells[] =>
    connection.statement(SUCCEEDED).all(instanceId, node, fire, after)
  let rows = portion(-2)
  const [first] = rows
  if (first === undefined) return null
  if ((first[0] as number) < 0) return first[1] as string | null
  const texts: string[] = []
  for (let bytes = 0; ; rows = portion(rows.at(-1)?.[0] as number)) {
    for (const [item, result] of rows) {
      const text = (result ?? 'null') as string
      bytes += Buffer.byteLength(text)
      if (bytes > maxBytes) return TOO_LONG
      texts.push(`"${item}":${text}`)
    }
    if (rows.length < PORTION) return `{${texts.join(',')}}`
  }
}

function itemResults(connection: Connection, instanceId: string, node: string, fire: number): string {
  const entries = connection
    .statement(ITEMS)
    .all(instanceId, node, fire)
    .map(([item, status, result, error, lastError]) =>
      status === 'succeeded'
        ? `"${item}":${result ?? 'null'}`
        : `"${item}":{"error":${error ?? JSON.stringify({ message: lastError })},"state":"failed"}`,
    )
  return `{${entries.join(',')}}`
}
