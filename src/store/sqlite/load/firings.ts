/** How often the nodes of an instance have fired, counted from the runs and attached children of its places. */
import type { NodeRan } from '../../../model/queries/firings.ts'
import type { Connection } from '../connection.ts'

/** Along the place index; read once in the life of an instance, before its finals. */
const RUNS = `SELECT node, count(DISTINCT fire), count(*), max(status = 'succeeded') FROM workflow_run
  WHERE instance_id = ? AND role = 'work' GROUP BY node`
const CHILDREN = `SELECT parent_node, count(DISTINCT parent_fire), max(state = 'completed') FROM workflow_instance
  WHERE parent_id = ? AND parent_node IS NOT NULL AND parent_role = 'work' GROUP BY parent_node`
const NEXT_RUN = 'SELECT min(fire) FROM workflow_run WHERE instance_id = ? AND node = ? AND fire > ?'
const NEXT_CHILD = `SELECT min(parent_fire) FROM workflow_instance
  WHERE parent_id = ? AND parent_node = ? AND parent_fire > ?`

export function ranOf(connection: Connection, instanceId: string): readonly NodeRan[] {
  const ran = new Map<string, NodeRan>()
  for (const [node, fires, runs, done] of connection.statement(RUNS).all(instanceId)) {
    const key = node as string
    ran.set(key, { node: key, fires: fires as number, runs: runs as number, done: done !== 0 })
  }
  for (const [node, fires, done] of connection.statement(CHILDREN).all(instanceId)) {
    const key = node as string
    const { fires: known = 0, runs = 0, done: ended = false } = ran.get(key) ?? {}
    ran.set(key, { node: key, fires: Math.max(known, fires as number), runs, done: ended || done !== 0 })
  }
  return [...ran.values()]
}

/** null: it has not fired since. */
export function nextFire(connection: Connection, instanceId: string, node: string, after: number): number | null {
  const found = [NEXT_RUN, NEXT_CHILD].flatMap((sql) => {
    const fire = connection.statement(sql).get(instanceId, node, after)?.[0] ?? null
    return fire === null ? [] : [fire as number]
  })
  return found.length === 0 ? null : Math.min(...found)
}
