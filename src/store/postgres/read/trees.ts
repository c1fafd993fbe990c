/** Whole trees of instances. No locks; one statement each. */

import type { RootQuery, RunBrief, Totals, TreeQueries, Window } from '../../../model/queries/trees.ts'
import type { InstanceRow, NetRow, SlotRow } from '../../../model/rows.ts'
import * as column from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { numberArray, textArray, uuidArray } from '../connection/batch.ts'
import type { Lanes, ReadLanes } from '../connection/lanes.ts'
import { settingsCall } from '../connection/settings.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { NETS, SLOTS, SLOTS_WITH } from '../load/plain.ts'

const BY_KEY = statement(
  `SELECT ${column.selectList(column.INSTANCE, 'i')} FROM workflow.workflow_instance i WHERE i.start_key = $1::text`,
)
const NAME_HOLDERS = statement('SELECT n.name, n.root_id FROM workflow.workflow_name n WHERE n.name = ANY ($1::text[])')

/**
 * Forces index probes, one per instance. With its own statistics, the planner reads whole tables once a few instances
 * have very many rows: after two groups of 100,000 jobs it read the table of runs once per nested workflow, 60 s
 * instead of 20 ms. Each LATERAL below also requests the order of the index that it should use.
 */
export const PROBES = settingsCall({
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}).statement

/** Detached children are independent: they have no place in the parent. */
const childrenOf = (parent: string, condition = ''): string =>
  `CROSS JOIN LATERAL (
     SELECT * FROM workflow.workflow_instance c
     WHERE c.parent_id = ${parent} AND c.parent_id IS NOT NULL AND c.parent_node IS NOT NULL ${condition}
     ORDER BY c.parent_node, c.parent_item, c.parent_fire OFFSET 0) c`

const BELOW = statement(
  `WITH RECURSIVE t AS (
     SELECT i.*, w.first, w.count, 0 AS level
     FROM unnest($1::uuid[], $2::int4[], $3::int4[]) w(instance_id, first, count)
     JOIN workflow.workflow_instance i ON i.id = w.instance_id
     UNION ALL
     SELECT c.*, 0, t.count, t.level + 1 FROM t ${childrenOf(
       't.id',
       'AND (c.parent_item < 0 OR (c.parent_item >= t.first AND c.parent_item < t.first + t.count))',
     )})
   SELECT ${column.selectList(column.INSTANCE, 't')} FROM t ORDER BY t.level, t.id LIMIT $4::int`,
)
const ANCESTORS = statement(
  `WITH RECURSIVE t AS (
     SELECT i.* FROM workflow.workflow_instance i WHERE i.id = ANY ($1::uuid[])
     UNION
     SELECT p.* FROM t JOIN workflow.workflow_instance p ON p.id = t.parent_id WHERE t.parent_node IS NOT NULL)
   SELECT ${column.selectList(column.INSTANCE, 't')} FROM t`,
)

/** Leaves: an instance's count for a nested one is subtracted, and the nested one's own count is added. */
const TOTALS = statement(
  `WITH RECURSIVE t AS (
     SELECT i.id AS top, i.id, i.succeeded, i.failed, i.reason, 0 AS nested_ok, 0 AS nested_bad
     FROM workflow.workflow_instance i WHERE i.id = ANY ($1::uuid[])
     UNION ALL
     SELECT t.top, c.id, c.succeeded, c.failed, c.reason,
            CASE WHEN c.state = 'completed' THEN 1 ELSE 0 END,
            CASE WHEN c.state = 'failed' OR (c.state = 'cancelled' AND t.reason IS DISTINCT FROM 'cancel') THEN 1 ELSE 0 END
     FROM t ${childrenOf('t.id', "AND c.parent_role = 'work'")})
   SELECT t.top, sum(t.succeeded - t.nested_ok), sum(t.failed - t.nested_bad) FROM t GROUP BY t.top`,
)

/** Searches below only while the instance itself has no recorded start. */
const HAS_BEGUN = `(i.started_at IS NOT NULL
  OR EXISTS (WITH RECURSIVE t AS (
       SELECT i.id UNION ALL SELECT c.id FROM t ${childrenOf('t.id')})
     SELECT FROM t WHERE EXISTS (SELECT FROM workflow.workflow_run r
       WHERE r.instance_id = t.id AND (r.status <> 'pending' OR r.run_at <= (SELECT workflow.clock())))))`
const BEGUN = statement(`SELECT i.id FROM workflow.workflow_instance i WHERE i.id = ANY ($1::uuid[]) AND ${HAS_BEGUN}`)

const BRIEF_COLUMNS = column.narrowed(column.RUN, [
  'id',
  'instanceId',
  'node',
  'fire',
  'item',
  'role',
  'type',
  'queue',
  'status',
  'attempt',
  'unknown',
  'deadLetter',
  'createdAt',
  'expiresAt',
  'leasedBy',
  'startedAt',
  'firstStartedAt',
  'finishedAt',
  'lastError',
  'error',
  'meta',
  'result',
])
/** Results are returned until their sum exceeds the budget. */
const BRIEF = BRIEF_COLUMNS.columns
  .map(({ name }) => (name === 'result' ? 'CASE WHEN b.size <= b.budget THEN b.result END' : `b.${name}`))
  .join(', ')
const OMITTED = 'b.result IS NOT NULL AND b.size > b.budget'
const BRIEFS = statement(
  `SELECT ${BRIEF}, ${OMITTED} FROM (
     SELECT r.*, $2::bigint AS budget, sum(octet_length(r.result::text)) OVER (ORDER BY r.id) AS size
     FROM workflow.workflow_run r WHERE r.id = ANY ($1::uuid[])) b`,
)
const placesOf = (condition: string) =>
  statement(
    `SELECT ${BRIEF}, ${OMITTED} FROM (
       SELECT r.*, $5::bigint AS budget,
              sum(octet_length(r.result::text)) OVER (ORDER BY r.instance_id, r.node, r.item, r.fire, r.id) AS size
       FROM unnest($1::uuid[], $2::int4[], $3::int4[]) w(instance_id, first, count) CROSS JOIN LATERAL (
         SELECT * FROM workflow.workflow_run r
         WHERE r.instance_id = w.instance_id AND r.role IN ('work', 'final')
           AND (r.item < 0 OR (r.item >= w.first AND r.item < w.first + w.count)) ${condition}
         ORDER BY r.node, r.fire, r.item, r.role OFFSET 0) r
       ORDER BY r.instance_id, r.node, r.item, r.fire, r.id LIMIT $4::int) b
     ORDER BY b.instance_id, b.node, b.item, b.fire, b.id`,
  )
const PLACES = placesOf('')
const FAILED_PLACES = placesOf("AND (r.status = 'failed' OR (r.status = 'cancelled' AND r.error IS NOT NULL))")

const netFrom = column.decoder(column.NET)
const slotFrom = column.decoder(column.SLOT)
const runFrom = column.decoder(BRIEF_COLUMNS)
const OMITTED_AT = BRIEF_COLUMNS.columns.length

function briefFrom(fields: Fields): RunBrief {
  return { ...runFrom(fields), omitted: fields[OMITTED_AT] === 't' }
}

function windowArrays(windows: readonly Window[]): string[] {
  const numbers = (of: (window: Window) => number): string => numberArray(windows.map(of))
  return [uuidArray(windows.map((w) => w.instanceId)), numbers((w) => w.from), numbers((w) => w.count)]
}

export class PostgresTrees implements TreeQueries {
  readonly #lanes: Lanes
  readonly #views: Lanes
  readonly #lists: Lanes

  constructor({ reads, views, lists }: ReadLanes) {
    this.#lanes = reads
    this.#views = views
    this.#lists = lists
  }

  instanceByKey(startKey: string): Promise<InstanceRow | null> {
    return askOne(this.#lanes, { statement: BY_KEY, values: [startKey], row: column.instanceFrom })
  }

  async nameHolders(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (names.length === 0) return new Map()
    const row = (fields: Fields): [string, string] => [fields[0] as string, fields[1] as string]
    return new Map(await ask(this.#lanes, { statement: NAME_HOLDERS, values: [textArray(names)], row }))
  }

  async nets(hashes: readonly string[]): Promise<readonly NetRow[]> {
    if (hashes.length === 0) return []
    return ask(this.#lanes, { statement: NETS, values: [textArray(hashes)], row: netFrom })
  }

  async below(params: Parameters<TreeQueries['below']>[0]): Promise<readonly InstanceRow[]> {
    if (params.windows.length === 0) return []
    const values = [...windowArrays(params.windows), String(params.limit)]
    return ask(this.#views, { statement: BELOW, settings: PROBES, values, row: column.instanceFrom })
  }

  async ancestors({ ids }: { readonly ids: readonly string[] }): Promise<readonly InstanceRow[]> {
    if (ids.length === 0) return []
    return ask(this.#lanes, {
      statement: ANCESTORS,
      settings: PROBES,
      values: [uuidArray(ids)],
      row: column.instanceFrom,
    })
  }

  async slotsOf(params: Parameters<TreeQueries['slotsOf']>[0]): Promise<readonly SlotRow[]> {
    const wanted = params.instanceIds.flatMap((id) => params.prefixes.map((prefix) => [id, prefix] as const))
    if (wanted.length === 0) return []
    const row = (fields: Fields): SlotRow => ({
      instanceId: wanted[Number(fields[0]) - 1]?.[0] as string,
      key: fields[1] as string,
      value: fields[2] as string,
    })
    const values = [uuidArray(wanted.map(([id]) => id)), textArray(wanted.map(([, prefix]) => prefix))]
    return ask(this.#views, { statement: SLOTS_WITH, settings: PROBES, values, row })
  }

  async slotsAt({ instanceIds, keys }: Parameters<TreeQueries['slotsAt']>[0]): Promise<readonly SlotRow[]> {
    if (instanceIds.length === 0 || keys.length === 0) return []
    const values = [
      uuidArray(instanceIds.flatMap((id) => keys.map(() => id))),
      textArray(instanceIds.flatMap(() => keys)),
    ]
    return ask(this.#views, { statement: SLOTS, settings: PROBES, values, row: slotFrom })
  }

  async briefs(params: Parameters<TreeQueries['briefs']>[0]): Promise<readonly RunBrief[]> {
    if (params.ids.length === 0) return []
    const values = [uuidArray(params.ids), String(params.maxBytes)]
    return ask(this.#views, { statement: BRIEFS, settings: PROBES, values, row: briefFrom })
  }

  async placesOf(params: Parameters<TreeQueries['placesOf']>[0]): Promise<readonly RunBrief[]> {
    if (params.windows.length === 0) return []
    const values = [...windowArrays(params.windows), String(params.limit), String(params.maxBytes)]
    return ask(this.#views, {
      statement: params.failedOnly ? FAILED_PLACES : PLACES,
      settings: PROBES,
      values,
      row: briefFrom,
    })
  }

  async totals({ ids }: { readonly ids: readonly string[] }): Promise<ReadonlyMap<string, Totals>> {
    if (ids.length === 0) return new Map()
    const row = (fields: Fields): [string, Totals] => [
      fields[0] as string,
      { succeeded: Number(fields[1]), failed: Number(fields[2]) },
    ]
    return new Map(await ask(this.#views, { statement: TOTALS, settings: PROBES, values: [uuidArray(ids)], row }))
  }

  async begun({ ids }: { readonly ids: readonly string[] }): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set()
    const row = (fields: Fields): string => fields[0] as string
    return new Set(await ask(this.#views, { statement: BEGUN, settings: PROBES, values: [uuidArray(ids)], row }))
  }

  roots(query: RootQuery): Promise<readonly InstanceRow[]> {
    const { from, values } = filtered(query, query.before)
    values.push(String(query.limit), String(query.offset))
    const text = `SELECT ${column.selectList(column.INSTANCE, 'i')} ${from}
      ORDER BY i.id DESC LIMIT $${values.length - 1}::int OFFSET $${values.length}::int`
    return ask(this.#lists, { statement: statement(text), settings: PROBES, values, row: column.instanceFrom })
  }

  async countRoots(query: Omit<RootQuery, 'limit' | 'offset' | 'before'>, most: number): Promise<number> {
    const { from, values } = filtered(query, null)
    values.push(String(most))
    const text = `SELECT count(*) FROM (SELECT ${from} LIMIT $${values.length}::int) counted`
    const [count] = await ask(this.#lists, {
      statement: statement(text),
      settings: PROBES,
      values,
      row: (fields) => Number(fields[0]),
    })
    return count ?? 0
  }
}

/** One statement per set of filters in use. */
function filtered(
  query: Omit<RootQuery, 'limit' | 'offset' | 'before'>,
  before: string | null,
): { readonly from: string; readonly values: string[] } {
  const values: string[] = []
  const value = (text: string): string => `$${values.push(text)}`
  const where = ['i.parent_id IS NULL', `i.dialect = ${value(query.dialect)}`]
  if (query.states !== null) where.push(`i.state = ANY (${value(textArray(query.states))}::text[])`)
  if (query.name !== null) where.push(`i.name = ${value(query.name)}`)
  if (query.tenant !== null) where.push(`i.tenant = ${value(query.tenant)}`)
  if (before !== null) where.push(`i.id < ${value(before)}::uuid`)
  if (query.kind !== null) {
    const kind = value(query.kind)
    where.push(`EXISTS (SELECT FROM workflow.workflow_net n WHERE n.hash = i.net_hash AND n.net ->> 'kind' = ${kind})`)
  }
  if (query.begun !== null) where.push(query.begun ? HAS_BEGUN : `NOT ${HAS_BEGUN}`)
  return { from: `FROM workflow.workflow_instance i WHERE ${where.join(' AND ')}`, values }
}
