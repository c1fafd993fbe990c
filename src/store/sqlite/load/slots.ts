/** Slots of an instance, and the items of its lists. */
import type { SlotRow } from '../../../model/rows.ts'
import type { Need } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import { SLOT_CELLS, slotOf } from '../row/narrow-rows.ts'

export const SLOT = 'SELECT value FROM workflow_slot WHERE instance_id = ? AND key = ?'
export const SLOTS_WITH = `SELECT ${SLOT_CELLS} FROM workflow_slot
  WHERE instance_id = ? AND key >= ? AND key < ? ORDER BY key`
const TOP_SLOT = `SELECT ${SLOT_CELLS} FROM workflow_slot
  WHERE instance_id = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT 1`
/** The chunk that holds the first wanted item, and those after it. */
const CHUNKS = `SELECT first, "values" FROM workflow_item
  WHERE instance_id = ?1 AND node = ?2 AND fire = ?3 AND first < ?5 AND first >= coalesce((
    SELECT max(first) FROM workflow_item WHERE instance_id = ?1 AND node = ?2 AND fire = ?3 AND first <= ?4), 0)
  ORDER BY first`

/** Sorts after every key that begins with the prefix. */
export const LAST = '\u{10FFFF}'

/** null: there is no such slot. */
export function slotValue(connection: Connection, instanceId: string, key: string): string | null {
  const cells = connection.statement(SLOT).get(instanceId, key)
  return cells === undefined ? null : (cells[0] as string)
}

export function slotsWith(connection: Connection, instanceId: string, prefix: string): readonly SlotRow[] {
  return connection
    .statement(SLOTS_WITH)
    .all(instanceId, prefix, prefix + LAST)
    .map(slotOf)
}

export function topSlot(connection: Connection, instanceId: string, prefix: string): SlotRow | null {
  const cells = connection.statement(TOP_SLOT).get(instanceId, prefix, prefix + LAST)
  return cells === undefined ? null : slotOf(cells)
}

/** Adds the wanted items, named as `Loaded.items` names them. */
export function loadItems(
  connection: Connection,
  { instanceId, node, fire, from, count }: NonNullable<Need['items']>[number],
  into: Map<string, string>,
): void {
  const end = from + count
  for (const [first, values] of connection.statement(CHUNKS).all(instanceId, node, fire, from, end)) {
    const items = JSON.parse(values as string) as unknown[]
    items.forEach((item, offset) => {
      const index = (first as number) + offset
      if (index >= from && index < end) into.set(`${instanceId}/${node}/${fire}/${index}`, JSON.stringify(item))
    })
  }
}
