/** Lists of gates. */
import type { GateQuery, Queries } from '../../../model/queries/queries.ts'
import type { GateRow } from '../../../model/rows.ts'
import * as column from '../columns.ts'
import { ask } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'
import { shownGates } from '../shown.ts'
import { gateConditions } from './conditions.ts'

const OPEN = `SELECT ${column.selectList(column.GATE, 'g')} FROM workflow.workflow_gate g WHERE g.state = 'open'`
const OPEN_GATES = statement(`${OPEN} ORDER BY g.id LIMIT $1::int`)
const OPEN_GATES_OF = statement(`${OPEN} AND g.instance_id = $2::uuid ORDER BY g.id LIMIT $1::int`)
const SHOWN_GATES = statement(
  shownGates(
    `SELECT * FROM workflow.workflow_gate g WHERE g.state = 'open' AND g.instance_id = $2::uuid ORDER BY g.id LIMIT $1::int`,
    'g.id',
  ),
)

export function openGates(
  lanes: Lanes,
  { instanceId, limit }: Parameters<Queries['openGates']>[0],
): Promise<readonly GateRow[]> {
  return instanceId === null
    ? ask(lanes, { statement: OPEN_GATES, values: [String(limit)], row: column.gateFrom })
    : ask(lanes, { statement: OPEN_GATES_OF, values: [String(limit), instanceId], row: column.gateFrom })
}

export function openGatesShown(
  lanes: Lanes,
  { instanceId, limit }: Parameters<Queries['shownGates']>[0],
): Promise<readonly GateRow[]> {
  return ask(lanes, { statement: SHOWN_GATES, values: [String(limit), instanceId], row: column.gateFrom })
}

export function listGates(lanes: Lanes, query: GateQuery): Promise<readonly GateRow[]> {
  const where = gateConditions(query)
  const order = 'g.id DESC'
  const select = `SELECT * FROM workflow.workflow_gate g ${where.text()} ORDER BY ${order} ${where.page(query)}`
  const text = shownGates(select, order)
  return ask(lanes, { statement: statement(text), values: where.values, row: column.gateFrom })
}
