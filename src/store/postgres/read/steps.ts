/** Instances node by node. No locks; one statement each. */

import type { NodeOf, StepQueries, StepRun } from '../../../model/queries/steps.ts'
import type { GateRow, InstanceRow, LimitRow, RunStatus, StoredEvent } from '../../../model/rows.ts'
import * as column from '../columns.ts'
import { ask } from '../connection/ask.ts'
import { textArray, uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { SHOWN_LAST_ERROR, shownError } from '../shown.ts'
import { EVENT_COLUMNS, eventFrom } from './event.ts'
import { frontOf } from './front.ts'
import { PROBES } from './trees.ts'

const HEAVY: ReadonlySet<string> = new Set(['payload', 'result', 'meta'])
const LEAN = column.narrowed(
  column.RUN,
  column.RUN.columns.map(({ key }) => key).filter((key) => !HEAVY.has(key)) as Exclude<keyof StepRun, 'plannedAt'>[],
)
export const stepFrom = column.decoder(LEAN)
/** Columns of LEAN; for long failures the code and the beginning of the message. */
export const STEP = LEAN.columns
  .map(({ name }) =>
    name === 'error' ? shownError('r.error') : name === 'last_error' ? SHOWN_LAST_ERROR : `r.${name}`,
  )
  .join(', ')
/** Without the gate's input and answer. */
const GATE = column.GATE.columns
  .map(({ name }) => (name === 'args' || name === 'answer' ? `NULL AS ${name}` : `g.${name}`))
  .join(', ')

const NODES = 'unnest($1::uuid[], $2::text[]) n(instance_id, node)'

/** Backwards along the place index: the last firing, with its undo. */
const RUNS_AT = statement(
  `SELECT ${STEP} FROM ${NODES} CROSS JOIN LATERAL (
     SELECT * FROM workflow.workflow_run r
     WHERE r.instance_id = n.instance_id AND r.instance_id IS NOT NULL AND r.node = n.node AND r.item = -1
     ORDER BY r.fire DESC, r.item DESC, r.role DESC LIMIT 2) r`,
)
const GATES_AT = statement(
  `SELECT ${GATE} FROM ${NODES} CROSS JOIN LATERAL (
     SELECT * FROM workflow.workflow_gate g WHERE g.instance_id = n.instance_id AND g.node = n.node
     ORDER BY g.fire DESC LIMIT 1) g`,
)
const CHILDREN_AT = statement(
  `SELECT ${column.selectList(column.INSTANCE, 'c')} FROM ${NODES} CROSS JOIN LATERAL (
     SELECT * FROM workflow.workflow_instance c
     WHERE c.parent_id = n.instance_id AND c.parent_id IS NOT NULL AND c.parent_node = n.node AND c.parent_item = -1
     ORDER BY c.parent_node DESC, c.parent_item DESC, c.parent_fire DESC LIMIT 1) c`,
)
const ITEM_COUNTS = statement(
  `SELECT x.status, count(*) FROM (
     (SELECT r.status FROM workflow.workflow_run r
      WHERE r.instance_id = $1::uuid AND r.node = $2::text AND r.item >= 0 AND r.role = 'work' LIMIT $3::int)
     UNION ALL
     (SELECT CASE WHEN c.ended_at IS NULL THEN 'leased' WHEN c.state = 'completed' THEN 'succeeded' ELSE 'failed' END
      FROM workflow.workflow_instance c
      WHERE c.parent_id = $1::uuid AND c.parent_node = $2::text AND c.parent_item >= 0 LIMIT $3::int)) x
   GROUP BY x.status`,
)
const OPEN_ITEMS = statement(
  `SELECT ${STEP} FROM workflow.workflow_run r
   WHERE r.instance_id = $1::uuid AND r.item >= 0 AND r.status IN ('pending', 'leased') ORDER BY r.id LIMIT $2::int`,
)
const OPEN_CHILDREN = statement(
  `SELECT ${column.selectList(column.INSTANCE, 'c')} FROM workflow.workflow_instance c
   WHERE c.parent_id = $1::uuid AND c.ended_at IS NULL AND c.parent_node IS NOT NULL ORDER BY c.id LIMIT $2::int`,
)
const USAGES = statement(
  `SELECT r.result -> 'usage' FROM workflow.workflow_run r
   WHERE r.instance_id = ANY ($1::uuid[]) AND jsonb_typeof(r.result -> 'usage') = 'object'`,
)
const STATE_EVENTS = statement(
  `SELECT ${EVENT_COLUMNS} FROM workflow.workflow_event e
   WHERE e.instance_id = $1::uuid AND e.workflow_id IS NULL
     AND (starts_with(e.event_type, 'instance.') OR e.event_type = 'gate.rejected')
   ORDER BY e.seq LIMIT $2::int`,
)
const LIMITS_OF = statement(
  `SELECT ${column.selectList(column.LIMIT, 'l')} FROM workflow.workflow_limit l WHERE l.key = ANY ($1::text[])`,
)

export class PostgresSteps implements StepQueries {
  readonly #lanes: Lanes

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  async runsAt(nodes: readonly NodeOf[]): Promise<readonly StepRun[]> {
    if (nodes.length === 0) return []
    return ask(this.#lanes, { statement: RUNS_AT, settings: PROBES, values: arraysOf(nodes), row: stepFrom })
  }

  async gatesAt(nodes: readonly NodeOf[]): Promise<readonly GateRow[]> {
    if (nodes.length === 0) return []
    return ask(this.#lanes, { statement: GATES_AT, settings: PROBES, values: arraysOf(nodes), row: column.gateFrom })
  }

  async childrenAt(nodes: readonly NodeOf[]): Promise<readonly InstanceRow[]> {
    if (nodes.length === 0) return []
    const row = column.instanceFrom
    return ask(this.#lanes, { statement: CHILDREN_AT, settings: PROBES, values: arraysOf(nodes), row })
  }

  async itemCounts(params: NodeOf & { readonly most: number }): Promise<ReadonlyMap<RunStatus, number>> {
    const values = [params.instanceId, params.node, String(params.most)]
    const row = ([status, count]: Fields): [RunStatus, number] => [status as RunStatus, Number(count)]
    return new Map(await ask(this.#lanes, { statement: ITEM_COUNTS, values, row }))
  }

  async openItems(params: { readonly instanceId: string; readonly limit: number }): Promise<readonly StepRun[]> {
    const values = [params.instanceId, String(params.limit)]
    return ask(this.#lanes, { statement: OPEN_ITEMS, values, row: stepFrom })
  }

  async openChildren(params: { readonly instanceId: string; readonly limit: number }): Promise<readonly InstanceRow[]> {
    const values = [params.instanceId, String(params.limit)]
    return ask(this.#lanes, { statement: OPEN_CHILDREN, values, row: column.instanceFrom })
  }

  async usages(params: { readonly instanceIds: readonly string[] }): Promise<readonly string[]> {
    const values = [uuidArray(params.instanceIds)]
    return ask(this.#lanes, { statement: USAGES, settings: PROBES, values, row: ([usage]) => usage as string })
  }

  async stateEvents(params: { readonly instanceId: string; readonly limit: number }): Promise<readonly StoredEvent[]> {
    const values = [params.instanceId, String(params.limit)]
    return ask(this.#lanes, { statement: STATE_EVENTS, values, row: eventFrom })
  }

  front(params: { readonly queue: string; readonly most: number }): Promise<readonly string[]> {
    return frontOf(this.#lanes, params)
  }

  async limitsOf(keys: readonly string[]): Promise<readonly LimitRow[]> {
    if (keys.length === 0) return []
    return ask(this.#lanes, { statement: LIMITS_OF, values: [textArray(keys)], row: column.limitFrom })
  }
}

function arraysOf(nodes: readonly NodeOf[]): string[] {
  return [uuidArray(nodes.map(({ instanceId }) => instanceId)), textArray(nodes.map(({ node }) => node))]
}
