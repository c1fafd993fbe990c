/**
 * The result of a node: of its latest succeeded work, or for an `each` an object of all its items, or what the engine
 * left in slot `r:<node>` (results of children).
 */
import type { Connection } from '../connection.ts'

/**
 * The place index gives a node's runs by fire; the newest fire that has ended work decides. An item an operator cancelled
 * has an error and counts as failed; one that a drain cancelled has none.
 */
const LATEST = `SELECT fire, item, result FROM workflow_run
  WHERE instance_id = ? AND node = ? AND role = 'work' AND (status = 'succeeded'
    OR (item >= 0 AND (status = 'failed' OR (status = 'cancelled' AND error IS NOT NULL))))
  ORDER BY fire DESC LIMIT 1`
const ITEMS = `SELECT item, status, result, error, last_error FROM workflow_run
  WHERE instance_id = ? AND node = ? AND fire = ? AND item >= 0 AND role = 'work'
    AND (status IN ('succeeded', 'failed') OR (status = 'cancelled' AND error IS NOT NULL))
  ORDER BY item`
const SLOT = 'SELECT value FROM workflow_slot WHERE instance_id = ? AND key = ?'

export function resultOf(connection: Connection, instanceId: string, node: string): string | null {
  const latest = connection.statement(LATEST).get(instanceId, node)
  if (latest !== undefined) {
    if ((latest[1] as number) >= 0) return itemResults(connection, instanceId, node, latest[0] as number)
    if (latest[2] !== null) return latest[2] as string
  }
  const slot = connection.statement(SLOT).get(instanceId, `r:${node}`)
  return slot === undefined ? null : (slot[0] as string)
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
