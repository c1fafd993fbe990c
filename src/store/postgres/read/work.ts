/** The work of an instance at its places. No locks; one statement each. */

import type { PlaceAt } from '../../../model/queries/firings.ts'
import type { FiringsOf, WorkAt, WorkCount, WorkQueries } from '../../../model/queries/work.ts'
import { ask, askOne } from '../connection/ask.ts'
import { textArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { PROBES } from './trees.ts'

/** A list that fired has an item 0, and its index begins with the item: all others need not be read. */
const CHILD = 'c.parent_id = $1::uuid AND c.parent_id IS NOT NULL AND c.parent_node = $2::text'
const RUN = 'r.instance_id = $1::uuid AND r.instance_id IS NOT NULL AND r.node = $2::text'
const GATE = '$3::bool AND g.instance_id = $1::uuid AND g.node = $2::text'

const next = (after: string): string => `least(
  (SELECT r.fire FROM workflow.workflow_run r WHERE ${RUN} AND r.fire > ${after}
   ORDER BY r.instance_id, r.node, r.fire LIMIT 1),
  (SELECT min(c.parent_fire) FROM workflow.workflow_instance c WHERE ${CHILD} AND c.parent_item = -1 AND c.parent_fire > ${after}),
  (SELECT min(c.parent_fire) FROM workflow.workflow_instance c WHERE ${CHILD} AND c.parent_item = 0 AND c.parent_fire > ${after}),
  (SELECT min(g.fire) FROM workflow.workflow_gate g WHERE ${GATE} AND g.fire > ${after}))`

/**
 * From one firing to the next, however many items each has. As in trees.ts, each part requests the order of its index.
 */
const FIRINGS = statement(
  `WITH RECURSIVE f(fire) AS (SELECT ${next('0')} UNION ALL SELECT ${next('f.fire')} FROM f WHERE f.fire IS NOT NULL)
   SELECT f.fire FROM f WHERE f.fire IS NOT NULL LIMIT $4::int`,
)

const LAST_FIRING = statement(
  `SELECT greatest(
     (SELECT r.fire FROM workflow.workflow_run r WHERE ${RUN}
      ORDER BY r.instance_id DESC, r.node DESC, r.fire DESC LIMIT 1),
     (SELECT max(c.parent_fire) FROM workflow.workflow_instance c WHERE ${CHILD} AND c.parent_item = -1),
     (SELECT max(c.parent_fire) FROM workflow.workflow_instance c WHERE ${CHILD} AND c.parent_item = 0),
     (SELECT max(g.fire) FROM workflow.workflow_gate g WHERE ${GATE}))`,
)

const AT = statement(
  `(SELECT 'run', r.id, r.status, r.unknown_outcome FROM workflow.workflow_run r
    WHERE ${RUN} AND r.fire = $3::int AND r.item = $4::int AND r.role = 'work')
   UNION ALL
   (SELECT 'child', c.id, c.state, false FROM workflow.workflow_instance c
    WHERE ${CHILD} AND c.parent_item = $4::int AND c.parent_fire = $3::int ORDER BY c.id DESC LIMIT 1)
   UNION ALL
   (SELECT 'gate', g.id, g.state, false FROM workflow.workflow_gate g
    WHERE g.instance_id = $1::uuid AND g.node = $2::text AND g.fire = $3::int AND $4::int = -1)
   LIMIT 1`,
)

const SIDES = [
  ['<', -1],
  ['=', 0],
  ['>', 1],
] as const
const runs = ([than, side]: (typeof SIDES)[number]): string =>
  `(SELECT 'run' AS kind, ${side} AS side, r.status, r.unknown_outcome AS unknown FROM workflow.workflow_run r
    WHERE r.instance_id = $1::uuid AND r.instance_id IS NOT NULL AND r.node = n.node AND r.fire ${than} $3::int
      AND r.role = 'work' ORDER BY r.node, r.fire LIMIT $4::int)`
const children = ([than, side]: (typeof SIDES)[number]): string =>
  `(SELECT 'child', ${side}, c.state, false FROM workflow.workflow_instance c
    WHERE c.parent_id = $1::uuid AND c.parent_id IS NOT NULL AND c.parent_node = n.node
      AND c.parent_fire ${than} $3::int LIMIT $4::int)`

const COUNTS = statement(
  `SELECT n.node, x.kind, x.side, x.status, x.unknown, count(*) FROM unnest($2::text[]) n(node)
   CROSS JOIN LATERAL (${[...SIDES.map(runs), ...SIDES.map(children)].join(' UNION ALL ')}) x
   GROUP BY 1, 2, 3, 4, 5`,
)

/** Detached children are independent. */
const WAITING = statement(
  `WITH RECURSIVE t(id) AS (
     SELECT $1::uuid
     UNION ALL
     SELECT c.id FROM t JOIN workflow.workflow_instance c ON c.parent_id = t.id
     WHERE c.parent_id IS NOT NULL AND c.ended_at IS NULL AND c.parent_node IS NOT NULL)
   SELECT r.id FROM t CROSS JOIN LATERAL (
     SELECT r.id FROM workflow.workflow_run r
     WHERE r.status = 'pending' AND r.instance_id = t.id AND r.instance_id IS NOT NULL AND r.deleted_at IS NULL
       AND r.run_at > to_timestamp($2::float8 / 1000) AND r.run_at < timestamptz '9999-01-01 00:00:00+00'
       AND r.id > $3::uuid ORDER BY r.id LIMIT $4::int) r
   ORDER BY r.id LIMIT $4::int`,
)

const NO_ID = '00000000-0000-0000-0000-000000000000'

export class PostgresWork implements WorkQueries {
  readonly #lanes: Lanes

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  async firings({ limit, ...of }: FiringsOf & { readonly limit: number }): Promise<readonly number[]> {
    const values = [...firingValues(of), String(limit)]
    return ask(this.#lanes, { statement: FIRINGS, settings: PROBES, values, row: ([fire]) => Number(fire) })
  }

  async lastFiring(of: FiringsOf): Promise<number | null> {
    const row = ([fire]: Fields): number | null => (fire === null ? null : Number(fire))
    return askOne(this.#lanes, { statement: LAST_FIRING, settings: PROBES, values: firingValues(of), row })
  }

  async at({ instanceId, node, fire, item }: PlaceAt): Promise<WorkAt | null> {
    const values = [instanceId, node, String(fire), String(item)]
    const row = ([kind, id, status, unknown]: Fields): WorkAt =>
      ({ kind, id, status, unknown: unknown === 't' }) as WorkAt
    return askOne(this.#lanes, { statement: AT, settings: PROBES, values, row })
  }

  async counts({ instanceId, nodes, fire, most }: Parameters<WorkQueries['counts']>[0]): Promise<readonly WorkCount[]> {
    if (nodes.length === 0) return []
    const values = [instanceId, textArray(nodes), String(fire), String(most)]
    const row = ([node, kind, side, status, unknown, count]: Fields): WorkCount =>
      ({ node, kind, side: Number(side), status, unknown: unknown === 't', count: Number(count) }) as WorkCount
    return ask(this.#lanes, { statement: COUNTS, settings: PROBES, values, row })
  }

  async waiting({ instanceId, now, after, limit }: Parameters<WorkQueries['waiting']>[0]): Promise<readonly string[]> {
    const values = [instanceId, String(now), after ?? NO_ID, String(limit)]
    return ask(this.#lanes, { statement: WAITING, settings: PROBES, values, row: ([id]) => id as string })
  }
}

function firingValues({ instanceId, node, gates }: FiringsOf): string[] {
  return [instanceId, node, gates ? 't' : 'f']
}
