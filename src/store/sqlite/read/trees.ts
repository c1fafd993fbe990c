/** Whole trees of instances, one statement each. Lists of ids are passed as one JSON array. */

import type { RootQuery, RunBrief, Totals, TreeQueries, Window } from '../../../model/queries/trees.ts'
import {
  INSTANCE,
  type InstanceRow,
  type NetRow,
  type RunRole,
  type RunStatus,
  type SlotRow,
} from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'
import { LAST } from '../load/slots.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import { NET_CELLS, netOf, slotOf } from '../row/narrow-rows.ts'
import { namesOf } from '../row/reader.ts'

const IDS = '(SELECT value FROM json_each(?1))'
const BY_KEY = `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE start_key IS NOT NULL AND start_key = ?`
const NAME_HOLDERS = `SELECT name, root_id FROM workflow_name WHERE name IN ${IDS}`
const NETS = `SELECT ${NET_CELLS} FROM workflow_net WHERE hash IN ${IDS}`

const COLUMNS = namesOf(INSTANCE)
const of = (alias: string): string => COLUMNS.map((name) => `${alias}.${name}`).join(', ')
/** Detached children are independent: they have no place in the parent. */
const BELOW = `WITH RECURSIVE t (${COLUMNS.join(', ')}, first_item, item_count, level) AS (
    SELECT ${of('i')}, w.value ->> 1, w.value ->> 2, 0
    FROM json_each(?1) w JOIN workflow_instance i ON i.id = w.value ->> 0
    UNION ALL
    SELECT ${of('c')}, 0, t.item_count, t.level + 1 FROM t JOIN workflow_instance c ON c.parent_id = t.id
    WHERE c.parent_node IS NOT NULL
      AND (c.parent_item < 0 OR (c.parent_item >= t.first_item AND c.parent_item < t.first_item + t.item_count)))
  SELECT ${INSTANCE_CELLS} FROM t ORDER BY level, id LIMIT ?2`
const ANCESTORS = `WITH RECURSIVE t (${COLUMNS.join(', ')}) AS (
    SELECT ${of('i')} FROM workflow_instance i WHERE i.id IN ${IDS}
    UNION
    SELECT ${of('p')} FROM t JOIN workflow_instance p ON p.id = t.parent_id WHERE t.parent_node IS NOT NULL)
  SELECT ${INSTANCE_CELLS} FROM t`

/** Leaves: an instance's count for a nested one is subtracted, and the nested one's own count is added. */
const TOTALS = `WITH RECURSIVE t (top, id, succeeded, failed, reason) AS (
    SELECT i.id, i.id, i.succeeded, i.failed, i.reason FROM workflow_instance i WHERE i.id IN ${IDS}
    UNION ALL
    SELECT t.top, c.id, c.succeeded - (c.state = 'completed'),
      c.failed - (c.state = 'failed' OR (c.state = 'cancelled' AND t.reason IS NOT 'cancel')), c.reason
    FROM t JOIN workflow_instance c ON c.parent_id = t.id
    WHERE c.parent_node IS NOT NULL AND c.parent_role = 'work')
  SELECT top, sum(succeeded), sum(failed) FROM t GROUP BY top`

/** Searches below only while the instance itself has no recorded start. `?` is the clock. */
const HAS_BEGUN = `(i.started_at IS NOT NULL OR EXISTS (
    WITH RECURSIVE t (id) AS (SELECT i.id UNION ALL
      SELECT c.id FROM t JOIN workflow_instance c ON c.parent_id = t.id WHERE c.parent_node IS NOT NULL)
    SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM workflow_run r
      WHERE r.instance_id = t.id AND (r.status <> 'pending' OR r.run_at <= ?))))`
const BEGUN = `SELECT i.id FROM workflow_instance i WHERE i.id IN (SELECT value FROM json_each(?)) AND ${HAS_BEGUN}`

const SLOTS = `SELECT s.instance_id, s.key, s.value FROM json_each(?1) w
  JOIN workflow_slot s ON s.instance_id = w.value AND s.key >= ?2 AND s.key < ?3 ORDER BY s.instance_id, s.key`

const SLOTS_AT = `SELECT s.instance_id, s.key, s.value FROM json_each(?1) w
  JOIN workflow_slot s ON s.instance_id = w.value AND s.key = ?2`

/** Results are returned until their sum exceeds the budget; the last cell marks those left out. */
const brief = (rows: string): string =>
  `SELECT id, instance_id, node, fire, item, role, type, queue, status, attempt, unknown_outcome, dead_letter,
     created_at, expires_at, leased_by, started_at, first_started_at, finished_at, last_error, error, meta,
     CASE WHEN size <= budget THEN result END, result IS NOT NULL AND size > budget FROM (${rows})`
const BRIEFS = brief(
  `SELECT r.*, ?2 AS budget, sum(length(CAST(r.result AS BLOB))) OVER (ORDER BY r.id) AS size
   FROM workflow_run r WHERE r.id IN ${IDS}`,
)
const ORDER = 'instance_id, node, item, fire, id'
const placesOf = (condition: string): string =>
  brief(
    `SELECT *, ?3 AS budget, sum(length(CAST(result AS BLOB))) OVER (ORDER BY ${ORDER}) AS size FROM (
       SELECT r.* FROM json_each(?1) w JOIN workflow_run r ON r.instance_id = w.value ->> 0
       WHERE (r.role = 'work' OR r.role = 'final') AND (r.item < 0
         OR (r.item >= (w.value ->> 1) AND r.item < (w.value ->> 1) + (w.value ->> 2))) ${condition}
       ORDER BY ${ORDER} LIMIT ?2)
     ORDER BY ${ORDER}`,
  )
const PLACES = placesOf('')
const FAILED_PLACES = placesOf("AND (r.status = 'failed' OR (r.status = 'cancelled' AND r.error IS NOT NULL))")

function briefOf(cells: Cells): RunBrief {
  return {
    id: cells[0] as string,
    instanceId: cells[1] as string | null,
    node: cells[2] as string | null,
    fire: cells[3] as number,
    item: cells[4] as number,
    role: cells[5] as RunRole,
    type: cells[6] as string,
    queue: cells[7] as string,
    status: cells[8] as RunStatus,
    attempt: cells[9] as number,
    unknown: cells[10] === 1,
    deadLetter: cells[11] === 1,
    createdAt: cells[12] as number,
    expiresAt: cells[13] as number | null,
    leasedBy: cells[14] as string | null,
    startedAt: cells[15] as number | null,
    firstStartedAt: cells[16] as number | null,
    finishedAt: cells[17] as number | null,
    lastError: cells[18] as string | null,
    error: cells[19] as string | null,
    meta: cells[20] as string | null,
    result: cells[21] as string | null,
    omitted: cells[22] === 1,
  }
}

function windowList(windows: readonly Window[]): string {
  return JSON.stringify(windows.map((w) => [w.instanceId, w.from, w.count]))
}

export class SqliteTrees implements TreeQueries {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  #rows<Row>(rowOf: (cells: Cells) => Row, sql: string, ...values: Value[]): Promise<Row[]> {
    return this.#connection.read(() =>
      this.#connection
        .statement(sql)
        .all(...values)
        .map(rowOf),
    )
  }

  async instanceByKey(startKey: string): Promise<InstanceRow | null> {
    return (await this.#rows(instanceOf, BY_KEY, startKey))[0] ?? null
  }

  async nameHolders(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const row = ([name, rootId]: Cells): [string, string] => [name as string, rootId as string]
    return new Map(await this.#rows(row, NAME_HOLDERS, JSON.stringify(names)))
  }

  nets(hashes: readonly string[]): Promise<readonly NetRow[]> {
    return this.#rows(netOf, NETS, JSON.stringify(hashes))
  }

  below(params: Parameters<TreeQueries['below']>[0]): Promise<readonly InstanceRow[]> {
    return this.#rows(instanceOf, BELOW, windowList(params.windows), params.limit)
  }

  ancestors({ ids }: { readonly ids: readonly string[] }): Promise<readonly InstanceRow[]> {
    return this.#rows(instanceOf, ANCESTORS, JSON.stringify(ids))
  }

  async slotsOf(params: Parameters<TreeQueries['slotsOf']>[0]): Promise<readonly SlotRow[]> {
    const ids = JSON.stringify(params.instanceIds)
    return this.#connection.read(() =>
      params.prefixes.flatMap((prefix) =>
        this.#connection
          .statement(SLOTS)
          .all(ids, prefix, prefix + LAST)
          .map(slotOf),
      ),
    )
  }

  async slotsAt({ instanceIds, keys }: Parameters<TreeQueries['slotsAt']>[0]): Promise<readonly SlotRow[]> {
    const ids = JSON.stringify(instanceIds)
    return this.#connection.read(() =>
      keys.flatMap((key) => this.#connection.statement(SLOTS_AT).all(ids, key).map(slotOf)),
    )
  }

  briefs(params: Parameters<TreeQueries['briefs']>[0]): Promise<readonly RunBrief[]> {
    return this.#rows(briefOf, BRIEFS, JSON.stringify(params.ids), params.maxBytes)
  }

  placesOf(params: Parameters<TreeQueries['placesOf']>[0]): Promise<readonly RunBrief[]> {
    const windows = windowList(params.windows)
    return this.#rows(briefOf, params.failedOnly ? FAILED_PLACES : PLACES, windows, params.limit, params.maxBytes)
  }

  async totals({ ids }: { readonly ids: readonly string[] }): Promise<ReadonlyMap<string, Totals>> {
    const row = ([id, succeeded, failed]: Cells): [string, Totals] => [
      id as string,
      { succeeded: succeeded as number, failed: failed as number },
    ]
    return new Map(await this.#rows(row, TOTALS, JSON.stringify(ids)))
  }

  begun({ ids }: { readonly ids: readonly string[] }): Promise<ReadonlySet<string>> {
    return this.#connection.read(() => {
      const found = this.#connection.statement(BEGUN).all(JSON.stringify(ids), readClock(this.#connection))
      return new Set(found.map(([id]) => id as string))
    })
  }

  roots(query: RootQuery): Promise<readonly InstanceRow[]> {
    return this.#connection.readLong((on) => {
      const { from, values } = filtered(query, query.before, readClock(on))
      const sql = `SELECT ${INSTANCE_CELLS} ${from} ORDER BY i.id DESC LIMIT ? OFFSET ?`
      return on
        .statement(sql)
        .all(...values, query.limit, query.offset)
        .map(instanceOf)
    })
  }

  countRoots(query: Omit<RootQuery, 'limit' | 'offset' | 'before'>, most: number): Promise<number> {
    return this.#connection.readLong((on) => {
      const { from, values } = filtered(query, null, readClock(on))
      const cells = on.statement(`SELECT count(*) FROM (SELECT 1 ${from} LIMIT ?)`).get(...values, most)
      return cells?.[0] as number
    })
  }
}

function filtered(
  query: Omit<RootQuery, 'limit' | 'offset' | 'before'>,
  before: string | null,
  now: number,
): { readonly from: string; readonly values: Value[] } {
  const values: Value[] = []
  const where = ['i.parent_id IS NULL']
  const add = (condition: string, value: Value): void => {
    where.push(condition)
    values.push(value)
  }
  add('i.dialect = ?', query.dialect)
  if (query.states !== null) add('i.state IN (SELECT value FROM json_each(?))', JSON.stringify(query.states))
  if (query.name !== null) add('i.name = ?', query.name)
  if (query.tenant !== null) add('i.tenant = ?', query.tenant)
  if (before !== null) add('i.id < ?', before)
  if (query.kind !== null) {
    add("EXISTS (SELECT 1 FROM workflow_net n WHERE n.hash = i.net_hash AND n.net ->> '$.kind' = ?)", query.kind)
  }
  if (query.begun !== null) add(query.begun ? HAS_BEGUN : `NOT ${HAS_BEGUN}`, now)
  return { from: `FROM workflow_instance i WHERE ${where.join(' AND ')}`, values }
}
