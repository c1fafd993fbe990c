/** Runs and children of places, and how often the nodes of an instance have fired. */
import type { NodeRan } from '../../../model/queries/firings.ts'
import type { InstanceRow, RunRow } from '../../../model/rows.ts'
import type { Need } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { RUN_CELLS, runOf } from '../row/run.ts'

/** Along the place index; read once in the life of an instance, before its finals. */
export const OPEN_CHILDREN = `SELECT ${INSTANCE_CELLS} FROM workflow_instance INDEXED BY idx_workflow_instance_open_child
  WHERE parent_id IS NOT NULL AND ended_at IS NULL AND parent_id = ? AND parent_node IS NOT NULL
    AND (phase = 'forward' OR phase = 'final') ORDER BY id LIMIT ? + 0`
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

/** The place index orders runs by fire before item: go back fire by fire, not through a fire's 100,000 items. */
const FIRE_BEFORE = `SELECT max(fire) FROM workflow_run WHERE instance_id = ? AND node = ? AND fire < ?`
const AT_PLACE = `SELECT ${RUN_CELLS} FROM workflow_run
  WHERE instance_id = ? AND node = ? AND fire = ? AND item = ? AND role = 'work'`
const CHILD_AT_PLACE = `SELECT ${INSTANCE_CELLS} FROM workflow_instance
  WHERE parent_id = ? AND parent_node = ? AND parent_item = ? ORDER BY parent_fire DESC, id DESC LIMIT 1`
const CHILD_AT = `SELECT ${INSTANCE_CELLS} FROM workflow_instance
  WHERE parent_id = ? AND parent_node = ? AND parent_item = ? AND parent_fire = ? ORDER BY id DESC LIMIT 1`

type Place = NonNullable<Need['placesAt']>[number]
type ItemOfNode = NonNullable<Need['places']>[number]

export function runAt(connection: Connection, { instanceId, node, fire, item }: Place): RunRow | null {
  const cells = connection.statement(AT_PLACE).get(instanceId, node, fire, item)
  return cells === undefined ? null : runOf(cells)
}

export function childAt(connection: Connection, { instanceId, node, fire, item }: Place): InstanceRow | null {
  const cells = connection.statement(CHILD_AT).get(instanceId, node, item, fire)
  return cells === undefined ? null : instanceOf(cells)
}

/** The run of the latest fire that has one for this item. */
export function latestRun(connection: Connection, { instanceId, node, item }: ItemOfNode): RunRow | null {
  const before = connection.statement(FIRE_BEFORE)
  let fire = before.get(instanceId, node, Number.MAX_SAFE_INTEGER)?.[0] as number | null
  for (; fire !== null; fire = before.get(instanceId, node, fire)?.[0] as number | null) {
    const cells = connection.statement(AT_PLACE).get(instanceId, node, fire, item)
    if (cells !== undefined) return runOf(cells)
  }
  return null
}

export function latestChild(connection: Connection, { instanceId, node, item }: ItemOfNode): InstanceRow | null {
  const cells = connection.statement(CHILD_AT_PLACE).get(instanceId, node, item)
  return cells === undefined ? null : instanceOf(cells)
}
