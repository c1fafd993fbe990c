/** The work of an instance at its places, one statement each. */

import type { FiringsOf, WorkAt, WorkCount, WorkQueries } from '../../../model/queries/work.ts'
import { HELD_AT } from '../../../model/rows.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'

/** A list that fired has an item 0, and its index begins with the item: all others need not be read. */
const CHILD = 'c.parent_id = ?1 AND c.parent_node = ?2'
const RUN = 'r.instance_id = ?1 AND r.node = ?2'
const GATE = '?3 = 1 AND g.instance_id = ?1 AND g.node = ?2'
/** Greater than every firing: min() of several values is null if one is. */
const NONE = 2 ** 31

const next = (after: string): string => `nullif(min(
  coalesce((SELECT min(r.fire) FROM workflow_run r WHERE ${RUN} AND r.fire > ${after}), ${NONE}),
  coalesce((SELECT min(c.parent_fire) FROM workflow_instance c WHERE ${CHILD} AND c.parent_item = -1 AND c.parent_fire > ${after}), ${NONE}),
  coalesce((SELECT min(c.parent_fire) FROM workflow_instance c WHERE ${CHILD} AND c.parent_item = 0 AND c.parent_fire > ${after}), ${NONE}),
  coalesce((SELECT min(g.fire) FROM workflow_gate g WHERE ${GATE} AND g.fire > ${after}), ${NONE})), ${NONE})`

/** From one firing to the next along the index, however many items each has. */
const FIRINGS = `WITH RECURSIVE f(fire) AS (
    SELECT ${next('0')} UNION ALL SELECT ${next('f.fire')} FROM f WHERE f.fire IS NOT NULL LIMIT ?4)
  SELECT fire FROM f WHERE fire IS NOT NULL`

const LAST_FIRING = `SELECT nullif(max(
  coalesce((SELECT max(r.fire) FROM workflow_run r WHERE ${RUN}), 0),
  coalesce((SELECT max(c.parent_fire) FROM workflow_instance c WHERE ${CHILD} AND c.parent_item = -1), 0),
  coalesce((SELECT max(c.parent_fire) FROM workflow_instance c WHERE ${CHILD} AND c.parent_item = 0), 0),
  coalesce((SELECT max(g.fire) FROM workflow_gate g WHERE ${GATE}), 0)), 0)`

const RUN_AT = `SELECT 'run', r.id, r.status, r.unknown_outcome FROM workflow_run r
  WHERE ${RUN} AND r.fire = ?3 AND r.item = ?4 AND r.role = 'work'`
const CHILD_AT = `SELECT 'child', c.id, c.state, 0 FROM workflow_instance c
  WHERE ${CHILD} AND c.parent_item = ?4 AND c.parent_fire = ?3 ORDER BY c.id DESC LIMIT 1`
const GATE_AT = `SELECT 'gate', g.id, g.state, 0 FROM workflow_gate g
  WHERE g.instance_id = ?1 AND g.node = ?2 AND g.fire = ?3 AND ?4 = -1`

const SIDES = [
  ['<', -1],
  ['=', 0],
  ['>', 1],
] as const
const runs = ([than, side]: (typeof SIDES)[number]): string =>
  `SELECT * FROM (SELECT 'run' AS kind, ${side} AS side, r.status AS status, r.unknown_outcome AS unknown
    FROM workflow_run r WHERE ${RUN} AND r.fire ${than} ?3 AND r.role = 'work' LIMIT ?4)`
const children = ([than, side]: (typeof SIDES)[number]): string =>
  `SELECT * FROM (SELECT 'child', ${side}, c.state, 0
    FROM workflow_instance c WHERE ${CHILD} AND c.parent_fire ${than} ?3 LIMIT ?4)`
const COUNTS = `SELECT kind, side, status, unknown, count(*)
  FROM (${[...SIDES.map(runs), ...SIDES.map(children)].join(' UNION ALL ')}) GROUP BY 1, 2, 3, 4`

/** Detached children are independent. */
const WAITING = `WITH RECURSIVE t(id) AS (
    SELECT ?1 UNION ALL
    SELECT c.id FROM t JOIN workflow_instance c ON c.parent_id = t.id WHERE c.ended_at IS NULL AND c.parent_node IS NOT NULL)
  SELECT r.id FROM t CROSS JOIN workflow_run r INDEXED BY idx_workflow_run_waiting
  WHERE r.instance_id = t.id AND r.status = 'pending' AND r.deleted_at IS NULL
    AND r.run_at > ?2 AND r.run_at < ${HELD_AT} AND r.id > ?3
  ORDER BY r.id LIMIT ?4`

export function workOn(connection: Connection): WorkQueries {
  const rows = <Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]): Row[] =>
    connection
      .statement(sql)
      .all(...values)
      .map(rowOf)
  const firing = ({ instanceId, node, gates }: FiringsOf): Value[] => [instanceId, node, gates ? 1 : 0]
  return {
    firings: ({ limit, ...of }) =>
      connection.read(() => rows(([fire]) => fire as number, FIRINGS, ...firing(of), limit)),
    lastFiring: (of) =>
      connection.read(() => rows(([fire]) => fire as number | null, LAST_FIRING, ...firing(of))[0] ?? null),
    at: ({ instanceId, node, fire, item }) =>
      connection.read(() => {
        const found = [RUN_AT, CHILD_AT, GATE_AT].flatMap((sql) => rows(workFrom, sql, instanceId, node, fire, item))
        return found[0] ?? null
      }),
    counts: ({ instanceId, nodes, fire, most }) =>
      connection.read(() =>
        nodes.flatMap((node) => rows((cells) => ({ node, ...countFrom(cells) }), COUNTS, instanceId, node, fire, most)),
      ),
    waiting: ({ instanceId, now, after, limit }) =>
      connection.read(() => rows(([id]) => id as string, WAITING, instanceId, now, after ?? '', limit)),
  }
}

function workFrom([kind, id, status, unknown]: Cells): WorkAt {
  return { kind, id, status, unknown: unknown === 1 } as WorkAt
}

function countFrom([kind, side, status, unknown, count]: Cells): Omit<WorkCount, 'node'> {
  return { kind, side, status, unknown: unknown === 1, count } as Omit<WorkCount, 'node'>
}
