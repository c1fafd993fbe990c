/** Rows of an instance along the indexes of their places, for pictures: outside the event loop, one statement each. */
import {
  FIRST_PLACE,
  type HeldItems,
  type ListRows,
  type PlacePage,
  type PlaceQueries,
  type RunPlace,
} from '../../../model/queries/places.ts'
import type { StepRun } from '../../../model/queries/steps.ts'
import { EVENT, type RunStatus } from '../../../model/rows.ts'
import { LEAN_DATA_BYTES, LEAN_GATE_BYTES } from '../../../model/shown.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { eventOf, GATE_CELLS, gateOf } from '../row/narrow-rows.ts'
import { namesOf } from '../row/reader.ts'
import { runOf, shownRuns } from '../row/run.ts'
import { lean } from './steps.ts'

const RUN_ORDER = 'node, fire, item, role'
const runsWhere = (node: string): string =>
  `WHERE instance_id = ? AND instance_id IS NOT NULL ${node} AND (${RUN_ORDER}) > (?, ?, ?, ?)`
const CHILD_ORDER = 'parent_node, parent_item, parent_fire'
const children = (node: string): string => `SELECT ${INSTANCE_CELLS} FROM workflow_instance
  WHERE parent_id = ? AND parent_node IS NOT NULL ${node} AND (${CHILD_ORDER}) > (?, ?, ?) ORDER BY ${CHILD_ORDER} LIMIT ?`
const DETACHED = `SELECT ${INSTANCE_CELLS} FROM workflow_instance
  WHERE parent_id = ? AND parent_id IS NOT NULL AND parent_node IS NULL AND id > ? ORDER BY id LIMIT ?`
const GATE = GATE_CELLS.replace(/\b(args|answer)\b/g, 'NULL AS $1')
  .replace(/\boptions\b/, `iif(octet_length(options) <= ${LEAN_GATE_BYTES}, options, '{}')`)
  .replace(/\bvotes\b/, `iif(octet_length(votes) <= ${LEAN_GATE_BYTES}, votes, '[]')`)
const gates = (node: string): string =>
  `SELECT ${GATE} FROM workflow_gate WHERE instance_id = ? ${node} AND (node, fire) > (?, ?) ORDER BY node, fire LIMIT ?`

const LEAN_DATA = `iif(e.engine = 0, NULL, iif(e.data IS NULL OR octet_length(e.data) <= ${LEAN_DATA_BYTES}, e.data, json_patch('{}', json_object(
  'run_at', e.data ->> '$.run_at', 'leased_at', e.data ->> '$.leased_at', 'leased_by', e.data ->> '$.leased_by',
  'started_at', e.data ->> '$.started_at', 'attempt', e.data ->> '$.attempt', 'because', e.data ->> '$.because',
  'error', json_object('code', e.data ->> '$.error.code')))))`
/** What a client has written is its own affair, and has no type here. */
const LEAN: Readonly<Record<string, string>> = {
  data: LEAN_DATA,
  event_type: "iif(e.engine = 1, e.event_type, '')",
}
const LEAN_EVENT = `e.id, ${namesOf(EVENT)
  .map((name) => LEAN[name] ?? `e.${name}`)
  .join(', ')}`
const transitions = (order: string): string =>
  `SELECT ${LEAN_EVENT} FROM json_each(?) n CROSS JOIN workflow_event e ON e.id IN (
    SELECT id FROM workflow_event WHERE workflow_id = n.value ORDER BY id ${order} LIMIT ?)
  ORDER BY n.key, e.id`
const FIRST_EVENTS = transitions('')
const LAST_EVENTS = transitions('DESC')
const TOUCHED = 'SELECT seq, node FROM workflow_event WHERE instance_id = ? AND seq > ? ORDER BY seq LIMIT ?'
const ACTIVE = `SELECT node FROM workflow_run
  WHERE instance_id = ?1 AND instance_id IS NOT NULL AND item = -1 AND status = 'leased'
  UNION SELECT parent_node FROM workflow_instance
  WHERE parent_id = ?1 AND ended_at IS NULL AND parent_node IS NOT NULL`

/** Backwards along the indexes of places: the last firing, its last item, and the statuses of its items. */
const lastRun = (column: string): string => `(SELECT ${column} FROM workflow_run
  WHERE instance_id = ?1 AND instance_id IS NOT NULL AND node = n.value AND item >= 0
  ORDER BY fire DESC, item DESC, role DESC LIMIT 1)`
const lastChild = (column: string): string => `(SELECT ${column} FROM workflow_instance
  WHERE parent_id = ?1 AND parent_node = n.value AND parent_item >= 0
  ORDER BY parent_node DESC, parent_item DESC, parent_fire DESC LIMIT 1)`
const last = (name: string): string =>
  `max(coalesce(${lastRun(name)}, -1), coalesce(${lastChild(`parent_${name}`)}, -1)) AS ${name}`
const LISTS = `WITH list AS MATERIALIZED (SELECT n.value AS node, ${last('fire')}, ${last('item')} FROM json_each(?2) n)
  SELECT l.node, l.fire, l.item, s.status, count(*) FROM list l CROSS JOIN workflow_run s ON s.rowid IN (
    SELECT rowid FROM workflow_run WHERE instance_id = ?1 AND instance_id IS NOT NULL AND node = l.node AND fire = l.fire
      AND item >= 0 AND role = 'work' LIMIT ?3)
  GROUP BY l.node, l.fire, l.item, s.status
  UNION ALL
  SELECT l.node, l.fire, l.item,
    CASE WHEN c.ended_at IS NULL THEN 'leased' WHEN c.state = 'completed' THEN 'succeeded' ELSE 'failed' END, count(*)
  FROM list l CROSS JOIN workflow_instance c ON c.rowid IN (
    SELECT rowid FROM workflow_instance WHERE parent_id = ?1 AND parent_node = l.node AND parent_item >= 0
      AND parent_fire = l.fire LIMIT ?3)
  GROUP BY 1, 2, 3, 4`
const HELD_ITEMS = `SELECT node, fire, count(*) FROM (
    SELECT instance_id, node, fire, item FROM workflow_run INDEXED BY idx_workflow_run_leased WHERE status = 'leased' LIMIT ?)
  WHERE instance_id = ? AND item >= 0 GROUP BY node, fire`
const HELD = `SELECT count(*) FROM (
  SELECT 1 FROM workflow_run INDEXED BY idx_workflow_run_leased WHERE status = 'leased' LIMIT ?)`

export function placesOn(connection: Connection): PlaceQueries {
  const list = <Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]): Promise<readonly Row[]> =>
    connection.readLong((on) =>
      on
        .statement(sql)
        .all(...values)
        .map(rowOf),
    )
  const runsOf = ({ instanceId, node, after, limit }: PlacePage<RunPlace>) => {
    const { node: key, fire, item, role } = after ?? FIRST_PLACE
    const own = node === null ? [] : [node]
    return {
      page: { where: runsWhere(node === null ? '' : 'AND node = ?'), order: RUN_ORDER, page: 'LIMIT ?' },
      values: [instanceId, ...own, key, fire, item, role, limit],
    }
  }
  return {
    runs: (asked) => {
      const { page, values } = runsOf(asked)
      return list<StepRun>(runOf, lean(`${page.where} ORDER BY ${page.order} ${page.page}`), ...values)
    },
    shownRuns: ({ maxBytes, ...asked }) => {
      const { page, values } = runsOf(asked)
      return list(runOf, shownRuns({ ...page, maxBytes }), ...values)
    },
    children: ({ instanceId, node, after, limit }) => {
      const { node: key, item, fire } = after ?? FIRST_PLACE
      const own = node === null ? [] : [node]
      const sql = children(node === null ? '' : 'AND parent_node = ?')
      return list(instanceOf, sql, instanceId, ...own, key, item, fire, limit)
    },
    detached: ({ instanceId, after, limit }) => list(instanceOf, DETACHED, instanceId, after ?? '', limit),
    gates: ({ instanceId, node, after, limit }) => {
      const { node: key, fire } = after ?? FIRST_PLACE
      const own = node === null ? [] : [node]
      return list(gateOf, gates(node === null ? '' : 'AND node = ?'), instanceId, ...own, key, fire, limit)
    },
    transitions: ({ runIds, most, from }) =>
      list(eventOf, from === 'first' ? FIRST_EVENTS : LAST_EVENTS, JSON.stringify(runIds), most),
    touched: ({ instanceId, afterSeq, limit }) =>
      list(
        ([seq, node]) => ({ seq: seq as number, node: node as string | null }),
        TOUCHED,
        instanceId,
        afterSeq,
        limit,
      ),
    active: ({ instanceId }) => list(([node]) => node as string, ACTIVE, instanceId),
    lists: async ({ instanceId, nodes, most }) =>
      grouped(await list((cells) => cells, LISTS, instanceId, JSON.stringify(nodes), most)),
    heldItems: ({ instanceId, most }) =>
      connection.readLong((on): HeldItems => {
        const rows = on.statement(HELD_ITEMS).all(most + 1, instanceId)
        const all = (on.statement(HELD).get(most + 1)?.[0] as number | undefined) ?? 0
        const counts = new Map(rows.map(([node, fire, count]) => [`${node}/${fire}`, count as number]))
        return { counts, complete: all <= most }
      }),
  }
}

/** One row per list and status; a list may have runs and children. */
function grouped(rows: readonly Cells[]): readonly ListRows[] {
  const found = new Map<string, ListRows & { readonly counts: Map<RunStatus, number> }>()
  for (const [node, fire, item, status, count] of rows) {
    const key = node as string
    const list = found.get(key) ?? { node: key, fire: fire as number, lastItem: item as number, counts: new Map() }
    list.counts.set(status as RunStatus, (list.counts.get(status as RunStatus) ?? 0) + (count as number))
    found.set(key, list)
  }
  return [...found.values()]
}
