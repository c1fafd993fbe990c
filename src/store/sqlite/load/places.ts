/** The runs and children of places. */
import type { InstanceRow, RunRow } from '../../../model/rows.ts'
import type { Need } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { RUN_CELLS, runOf } from '../row/run.ts'

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
