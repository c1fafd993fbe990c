/** Instances node by node, one statement each. */

import type { NodeOf, StepQueries, StepRun } from '../../../model/queries/steps.ts'
import { type InstanceRow, RUN, type RunStatus } from '../../../model/rows.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { EVENT_CELLS, eventOf, GATE_CELLS, gateOf, LIMIT_CELLS, limitOf } from '../row/narrow-rows.ts'
import { namesOf } from '../row/reader.ts'
import { RUN_CELLS, runOf } from '../row/run.ts'
import { SHOWN_LAST_ERROR, shownError } from '../shown.ts'
import { frontOf } from './front.ts'

/** Replacements of long columns: nothing, or for long failures the code and the beginning of the message. */
const HEAVY: Readonly<Record<string, string>> = {
  payload: "''",
  result: 'NULL',
  meta: 'NULL',
  error: shownError('error'),
  last_error: SHOWN_LAST_ERROR,
}
const LEAN = namesOf(RUN)
  .map((name) => (HEAVY[name] === undefined ? name : `${HEAVY[name]} AS ${name}`))
  .join(', ')
export const lean = (rest: string): string => `SELECT ${RUN_CELLS} FROM (SELECT ${LEAN} FROM workflow_run ${rest})`

/** Backwards along the place index: the last firing, with its undo. */
const RUNS_AT = `SELECT ${RUN_CELLS} FROM (SELECT ${LEAN}
  FROM (SELECT value ->> 0 AS at_instance, value ->> 1 AS at_node FROM json_each(?))
  CROSS JOIN workflow_run ON rowid IN (SELECT rowid FROM workflow_run r
    WHERE r.instance_id = at_instance AND r.node = at_node AND r.item = -1
    ORDER BY r.fire DESC, r.item DESC, r.role DESC LIMIT 2))`
/** Without the gate's input and answer. */
const GATE_AT = `SELECT ${GATE_CELLS.replace(/\b(args|answer)\b/g, 'NULL AS $1')} FROM workflow_gate WHERE instance_id = ? AND node = ? ORDER BY fire DESC LIMIT 1`
const CHILD_AT = `SELECT ${INSTANCE_CELLS} FROM workflow_instance
  WHERE parent_id = ? AND parent_node = ? AND parent_item = -1 ORDER BY parent_fire DESC LIMIT 1`
const ITEM_COUNTS = `SELECT status, count(*) FROM (
    SELECT * FROM (SELECT status FROM workflow_run
      WHERE instance_id = ?1 AND node = ?2 AND item >= 0 AND role = 'work' LIMIT ?3)
    UNION ALL
    SELECT * FROM (SELECT CASE WHEN ended_at IS NULL THEN 'leased' WHEN state = 'completed' THEN 'succeeded' ELSE 'failed' END
      FROM workflow_instance WHERE parent_id = ?1 AND parent_node = ?2 AND parent_item >= 0 LIMIT ?3))
  GROUP BY status`
const OPEN_ITEMS = lean(
  `WHERE instance_id = ? AND item >= 0 AND (status = 'pending' OR status = 'leased') ORDER BY id LIMIT ?`,
)
const OPEN_CHILDREN = `SELECT ${INSTANCE_CELLS} FROM workflow_instance
  WHERE parent_id = ? AND ended_at IS NULL AND parent_node IS NOT NULL ORDER BY id LIMIT ?`
const USAGES = `SELECT result -> '$.usage' FROM workflow_run
  WHERE instance_id = ? AND result IS NOT NULL AND json_type(result, '$.usage') = 'object'`
const STATE_EVENTS = `SELECT ${EVENT_CELLS} FROM workflow_event
  WHERE instance_id = ? AND workflow_id IS NULL
    AND (substr(event_type, 1, 9) = 'instance.' OR event_type = 'gate.rejected') ORDER BY seq LIMIT ?`
const LIMIT_OF = `SELECT ${LIMIT_CELLS} FROM workflow_limit WHERE key = ?`

export function stepsOn(connection: Connection): StepQueries {
  const rows = <Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]): Row[] =>
    connection
      .statement(sql)
      .all(...values)
      .map(rowOf)
  const at = <Row>(rowOf: (cells: Cells) => Row, sql: string, nodes: readonly NodeOf[]): Promise<Row[]> =>
    connection.read(() => nodes.flatMap(({ instanceId, node }) => rows(rowOf, sql, instanceId, node)))
  return {
    runsAt: (nodes) => {
      const places = JSON.stringify(nodes.map(({ instanceId, node }) => [instanceId, node]))
      return connection.readLong((on) => on.statement(RUNS_AT).all(places).map(runOf))
    },
    gatesAt: (nodes) => at(gateOf, GATE_AT, nodes),
    childrenAt: (nodes) => at(instanceOf, CHILD_AT, nodes),
    itemCounts: ({ instanceId, node, most }) =>
      connection.read(
        () =>
          new Map(
            rows(
              ([status, count]): [RunStatus, number] => [status as RunStatus, count as number],
              ITEM_COUNTS,
              instanceId,
              node,
              most,
            ),
          ),
      ),
    openItems: ({ instanceId, limit }) => connection.read(() => rows<StepRun>(runOf, OPEN_ITEMS, instanceId, limit)),
    openChildren: ({ instanceId, limit }) =>
      connection.read(() => rows<InstanceRow>(instanceOf, OPEN_CHILDREN, instanceId, limit)),
    usages: ({ instanceIds }) =>
      connection.read(() => instanceIds.flatMap((id) => rows(([usage]) => usage as string, USAGES, id))),
    stateEvents: ({ instanceId, limit }) => connection.read(() => rows(eventOf, STATE_EVENTS, instanceId, limit)),
    front: (params) => connection.read(() => frontOf(connection, params)),
    limitsOf: (keys) => connection.read(() => keys.flatMap((key) => rows(limitOf, LIMIT_OF, key))),
  }
}
