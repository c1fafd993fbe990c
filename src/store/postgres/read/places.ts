/** Rows of an instance along the indexes of their places, for pictures. No locks; one statement each. */
import {
  type ChildPlace,
  FIRST_PLACE,
  type GatePlace,
  type HeldItems,
  type ListRows,
  type PlacePage,
  type PlaceQueries,
  type RunPlace,
} from '../../../model/queries/places.ts'
import type { StepRun } from '../../../model/queries/steps.ts'
import type { GateRow, InstanceRow, RunRow, RunStatus, StoredEvent } from '../../../model/rows.ts'
import { LEAN_DATA_BYTES, LEAN_GATE_BYTES } from '../../../model/shown.ts'
import * as column from '../columns.ts'
import { ask } from '../connection/ask.ts'
import { textArray, uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { STEPWISE } from '../connection/settings.ts'
import { type Fields, type Statement, statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'
import { shownRuns } from '../shown.ts'
import { eventFrom } from './event.ts'
import { STEP, stepFrom } from './steps.ts'
import { PROBES } from './trees.ts'

/** Two statements: with a node the index is entered at that node. */
interface Both {
  readonly all: Statement
  readonly one: Statement
}

function both(text: (node: string) => string, node: string): Both {
  return { all: statement(text('')), one: statement(text(node)) }
}

const RUN_ORDER = 'r.node, r.fire, r.item, r.role'
const runsPage = (select: string, node: string, limit: string): string =>
  `SELECT ${select} FROM workflow.workflow_run r
   WHERE r.instance_id = $1::uuid AND r.instance_id IS NOT NULL ${node}
     AND (${RUN_ORDER}) > ($2::text, $3::int, $4::int, $5::text)
   ORDER BY ${RUN_ORDER} LIMIT ${limit}`
const RUNS = both((node) => runsPage(STEP, node, '$6::int'), 'AND r.node = $7::text')
const SHOWN_RUNS = both((node) => shownRuns(runsPage('*', node, '$6::int'), RUN_ORDER, '$7'), 'AND r.node = $8::text')

const CHILD_ORDER = 'c.parent_node, c.parent_item, c.parent_fire'
const CHILDREN = both(
  (node) => `SELECT ${column.selectList(column.INSTANCE, 'c')} FROM workflow.workflow_instance c
   WHERE c.parent_id = $1::uuid AND c.parent_id IS NOT NULL AND c.parent_node IS NOT NULL ${node}
     AND (${CHILD_ORDER}) > ($2::text, $3::int, $4::int) ORDER BY ${CHILD_ORDER} LIMIT $5::int`,
  'AND c.parent_node = $6::text',
)
const DETACHED = statement(
  `SELECT ${column.selectList(column.INSTANCE, 'c')} FROM workflow.workflow_instance c
   WHERE c.parent_id = $1::uuid AND c.parent_id IS NOT NULL AND c.parent_node IS NULL
     AND ($2::uuid IS NULL OR c.id > $2::uuid) ORDER BY c.id LIMIT $3::int`,
)

const short = (name: string): string =>
  `CASE WHEN octet_length(g.${name}::text) <= ${LEAN_GATE_BYTES} THEN g.${name}::text ELSE '{}' END`
const GATE = column.GATE.columns
  .map(({ name }) => {
    if (name === 'args' || name === 'answer') return `NULL AS ${name}`
    if (name === 'votes') return short('votes').replace("'{}'", "'[]'")
    return name === 'options' ? short('options') : `g.${name}`
  })
  .join(', ')
const GATES = both(
  (node) => `SELECT ${GATE} FROM workflow.workflow_gate g
   WHERE g.instance_id = $1::uuid ${node} AND (g.node, g.fire) > ($2::text, $3::int)
   ORDER BY g.node, g.fire LIMIT $4::int`,
  'AND g.node = $5::text',
)

const LEAN_DATA = `CASE WHEN NOT e.engine THEN NULL WHEN pg_column_size(e.data) <= ${LEAN_DATA_BYTES} THEN e.data ELSE jsonb_strip_nulls(jsonb_build_object(
  'run_at', e.data -> 'run_at', 'leased_at', e.data -> 'leased_at', 'leased_by', e.data -> 'leased_by',
  'started_at', e.data -> 'started_at', 'attempt', e.data -> 'attempt', 'because', e.data -> 'because',
  'error', jsonb_build_object('code', e.data #> '{error,code}'))) END`
/** What a client has written is its own affair, and has no type here. */
const LEAN: Readonly<Record<string, string>> = {
  data: LEAN_DATA,
  event_type: "CASE WHEN e.engine THEN e.event_type ELSE '' END",
}
const EVENT = `e.id, ${column.EVENT.columns.map(({ name }) => LEAN[name] ?? `e.${name}`).join(', ')}`
/** The time bounds the partitions that are read. */
const transitions = (order: string): Statement =>
  statement(
    `SELECT ${EVENT} FROM unnest($1::uuid[]) WITH ORDINALITY n(run, place) CROSS JOIN LATERAL (
       SELECT * FROM workflow.workflow_event e
       WHERE e.workflow_id = n.run AND e.workflow_id IS NOT NULL AND e.created_at >= to_timestamp($2::float8 / 1000)
       ORDER BY e.workflow_id ${order}, e.id ${order} LIMIT $3::int) e
     ORDER BY n.place, e.id`,
  )
const FIRST_EVENTS = transitions('')
const LAST_EVENTS = transitions('DESC')
const TOUCHED = statement(
  `SELECT e.seq, e.node FROM workflow.workflow_event e
   WHERE e.instance_id = $1::uuid AND e.seq > $2::int AND e.created_at >= to_timestamp($3::float8 / 1000)
   ORDER BY e.seq LIMIT $4::int`,
)
const ACTIVE = statement(
  `SELECT DISTINCT r.node FROM workflow.workflow_run r
   WHERE r.instance_id = $1::uuid AND r.instance_id IS NOT NULL AND r.item = -1 AND r.status = 'leased'
   UNION SELECT c.parent_node FROM workflow.workflow_instance c
   WHERE c.parent_id = $1::uuid AND c.ended_at IS NULL AND c.parent_node IS NOT NULL`,
)
/** Backwards along the indexes of places: the last firing, its last item, and the statuses of its items. */
const LISTS = statement(
  `SELECT n.node, f.fire, f.item, s.status, count(*)
   FROM unnest($2::text[]) n(node)
   CROSS JOIN LATERAL (
     SELECT max(l.fire) AS fire, max(l.item) AS item FROM (
       (SELECT r.fire, r.item FROM workflow.workflow_run r
        WHERE r.instance_id = $1::uuid AND r.instance_id IS NOT NULL AND r.node = n.node AND r.item >= 0
        ORDER BY r.fire DESC, r.item DESC, r.role DESC LIMIT 1)
       UNION ALL
       (SELECT c.parent_fire, c.parent_item FROM workflow.workflow_instance c
        WHERE c.parent_id = $1::uuid AND c.parent_id IS NOT NULL AND c.parent_node = n.node AND c.parent_item >= 0
        ORDER BY c.parent_node DESC, c.parent_item DESC, c.parent_fire DESC LIMIT 1)) l) f
   CROSS JOIN LATERAL (
     (SELECT r.status FROM workflow.workflow_run r
      WHERE r.instance_id = $1::uuid AND r.instance_id IS NOT NULL AND r.node = n.node AND r.fire = f.fire
        AND r.item >= 0 AND r.role = 'work' LIMIT $3::int)
     UNION ALL
     (SELECT CASE WHEN c.ended_at IS NULL THEN 'leased' WHEN c.state = 'completed' THEN 'succeeded' ELSE 'failed' END
      FROM workflow.workflow_instance c
      WHERE c.parent_id = $1::uuid AND c.parent_id IS NOT NULL AND c.parent_node = n.node AND c.parent_item >= 0
        AND c.parent_fire = f.fire LIMIT $3::int)) s
   WHERE f.fire IS NOT NULL GROUP BY n.node, f.fire, f.item, s.status`,
)
const HELD_ITEMS = statement(
  `SELECT h.node, h.fire, count(*) FILTER (WHERE h.own), sum(count(*)) OVER () FROM (
     SELECT CASE WHEN r.instance_id = $1::uuid AND r.item >= 0 THEN r.node END AS node,
       CASE WHEN r.instance_id = $1::uuid AND r.item >= 0 THEN r.fire END AS fire,
       r.instance_id = $1::uuid AND r.item >= 0 AS own
     FROM workflow.workflow_run r WHERE ${LEASED} LIMIT $2::int) h
   GROUP BY h.node, h.fire`,
)

export class PostgresPlaces implements PlaceQueries {
  readonly #lanes: Lanes

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  runs(page: PlacePage<RunPlace>): Promise<readonly StepRun[]> {
    return this.#page(RUNS, page, [...runPlace(page.after), String(page.limit)], stepFrom)
  }

  shownRuns(page: PlacePage<RunPlace> & { readonly maxBytes: number }): Promise<readonly RunRow[]> {
    const values = [...runPlace(page.after), String(page.limit), String(page.maxBytes)]
    return this.#page(SHOWN_RUNS, page, values, column.runFrom)
  }

  children(page: PlacePage<ChildPlace>): Promise<readonly InstanceRow[]> {
    const { node, item, fire } = page.after ?? FIRST_PLACE
    const values = [node, String(item), String(fire), String(page.limit)]
    return this.#page(CHILDREN, page, values, column.instanceFrom)
  }

  detached({ instanceId, after, limit }: Parameters<PlaceQueries['detached']>[0]): Promise<readonly InstanceRow[]> {
    const values = [instanceId, after, String(limit)]
    return ask(this.#lanes, { statement: DETACHED, values, row: column.instanceFrom })
  }

  gates(page: PlacePage<GatePlace>): Promise<readonly GateRow[]> {
    const { node, fire } = page.after ?? FIRST_PLACE
    return this.#page(GATES, page, [node, String(fire), String(page.limit)], column.gateFrom)
  }

  async transitions(params: Parameters<PlaceQueries['transitions']>[0]): Promise<readonly StoredEvent[]> {
    const { runIds, since, most, from } = params
    if (runIds.length === 0) return []
    const values = [uuidArray(runIds), String(since), String(most)]
    const text = from === 'first' ? FIRST_EVENTS : LAST_EVENTS
    return ask(this.#lanes, { statement: text, settings: PROBES, values, row: eventFrom })
  }

  touched(
    params: Parameters<PlaceQueries['touched']>[0],
  ): Promise<readonly { readonly seq: number; readonly node: string | null }[]> {
    const values = [params.instanceId, String(params.afterSeq), String(params.since), String(params.limit)]
    const row = ([seq, node]: Fields) => ({ seq: Number(seq), node: node as string | null })
    return ask(this.#lanes, { statement: TOUCHED, values, row })
  }

  active({ instanceId }: { readonly instanceId: string }): Promise<readonly string[]> {
    return ask(this.#lanes, { statement: ACTIVE, values: [instanceId], row: ([node]) => node as string })
  }

  async lists(params: Parameters<PlaceQueries['lists']>[0]): Promise<readonly ListRows[]> {
    if (params.nodes.length === 0) return []
    const found = new Map<string, ListRows & { readonly counts: Map<RunStatus, number> }>()
    const row = ([node, fire, item, status, count]: Fields): void => {
      const list = found.get(node as string) ?? {
        node: node as string,
        fire: Number(fire),
        lastItem: Number(item),
        counts: new Map<RunStatus, number>(),
      }
      list.counts.set(status as RunStatus, Number(count))
      found.set(list.node, list)
    }
    const values = [params.instanceId, textArray(params.nodes), String(params.most)]
    await ask(this.#lanes, { statement: LISTS, settings: PROBES, values, row })
    return [...found.values()]
  }

  async heldItems({ instanceId, most }: Parameters<PlaceQueries['heldItems']>[0]): Promise<HeldItems> {
    const counts = new Map<string, number>()
    let all = 0
    const row = ([node, fire, count, sum]: Fields): void => {
      if (node !== null) counts.set(`${node}/${fire}`, Number(count))
      all = Number(sum)
    }
    await ask(this.#lanes, { statement: HELD_ITEMS, values: [instanceId, String(most + 1)], row })
    return { counts, complete: all <= most }
  }

  #page<R>(
    { all, one }: Both,
    { instanceId, node }: { readonly instanceId: string; readonly node: string | null },
    values: readonly string[],
    row: (fields: Fields) => R,
  ): Promise<R[]> {
    const given = [instanceId, ...values]
    return node === null
      ? ask(this.#lanes, { statement: all, settings: STEPWISE, values: given, row })
      : ask(this.#lanes, { statement: one, settings: STEPWISE, values: [...given, node], row })
  }
}

function runPlace(after: RunPlace | null): string[] {
  const { node, fire, item, role } = after ?? FIRST_PLACE
  return [node, String(fire), String(item), role]
}
