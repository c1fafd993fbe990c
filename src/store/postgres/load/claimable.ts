/**
 * Claimable runs. The index (queue, type, priority, run_at, id) over pending runs is walked loosely: recursive terms
 * jump from one queue to the next, one type to the next, one priority to the next, each jump one index probe; then the
 * first due rows of each (queue, type, priority) are taken. The cost is the number of distinct keys of pending runs,
 * never the number of rows: a million runs of other types or of tomorrow cost nothing. Prefixes need no LIKE, hence no
 * escaping: a prefix is a range of types in byte order. Types that are paused, or that the registry closes to this
 * runtime, are skipped here, before anything is locked or counted: however many are pending, they displace no other run.
 */

import { splitTypeFilters } from '../../../kernel/type-filters.ts'
import { type FairPlace, fairScope } from '../../../model/queues/fair.ts'
import type { Candidates, ClaimFilter } from '../../../model/transaction.ts'
import { RUN, selectList } from '../columns.ts'
import { textArray } from '../connection/batch.ts'
import { type Call, type Fields, type Statement, statement } from '../connection/statement.ts'

export const WAITING = `FROM workflow.workflow_run r WHERE r.status = 'pending' AND r.deleted_at IS NULL`

/** Queues with pending runs. */
export const QUEUE_SCAN = `queue_scan(queue) AS (
         (SELECT r.queue ${WAITING} ORDER BY r.queue LIMIT 1)
         UNION ALL
         SELECT n.queue FROM queue_scan s CROSS JOIN LATERAL
           (SELECT r.queue ${WAITING} AND r.queue > s.queue ORDER BY r.queue LIMIT 1) n
       )`

/**
 * The order needs more than the priority: (priority, created_at) also begins with it, and a plan made with the
 * statistics of a small table took that index and read every row of other types (400,000 for one claim).
 */
export const ALONG = 'r.priority, r.run_at, r.id'

/**
 * $1 queues, $2 exact types, $3 prefixes, $4 tenant, $5 runtime, $6 queues and $7 limit keys to skip, $8 for each
 * prefix the tools that types with it may name (empty: any rest).
 */
function lines(anyQueue: boolean): string {
  const queues = anyQueue
    ? `${QUEUE_SCAN}, named_queue(queue) AS (SELECT queue FROM queue_scan WHERE $1::text[] IS NULL)`
    : 'named_queue(queue) AS (SELECT unnest($1::text[]))'
  return `WITH RECURSIVE ${queues},
    open_queue(queue) AS MATERIALIZED (
      SELECT q.queue FROM named_queue q
      WHERE q.queue <> ALL ($6::text[])
        AND NOT EXISTS (SELECT FROM workflow.workflow_queue w WHERE w.name = q.queue AND w.paused)
    ),
    type_scan(queue, prefix, tools, type) AS (
      SELECT q.queue, p.prefix, p.tools, n.type
      FROM open_queue q CROSS JOIN unnest($3::text[], $8::text[]) p(prefix, tools) CROSS JOIN LATERAL
        (SELECT r.type ${WAITING} AND r.queue = q.queue AND r.type ~>=~ p.prefix ORDER BY r.type USING ~<~ LIMIT 1) n
      WHERE starts_with(n.type, p.prefix)
      UNION ALL
      SELECT s.queue, s.prefix, s.tools, n.type FROM type_scan s CROSS JOIN LATERAL
        (SELECT r.type ${WAITING} AND r.queue = s.queue AND r.type ~>~ s.type ORDER BY r.type USING ~<~ LIMIT 1) n
      WHERE starts_with(n.type, s.prefix)
    ),
    kind(queue, type) AS MATERIALIZED (
      SELECT k.queue, k.type FROM (
        SELECT s.queue, s.type FROM type_scan s
        WHERE s.tools = '' OR string_to_array(substr(s.type, length(s.prefix) + 1), '+') <@ string_to_array(s.tools, ',')
        UNION
        SELECT q.queue, t.type FROM open_queue q CROSS JOIN unnest($2::text[]) t(type)
      ) k
      WHERE NOT EXISTS (
        SELECT FROM workflow.workflow_registry g WHERE g.workflow_name = k.type AND g.deleted_at IS NULL
          AND (NOT g.is_enabled OR g.runtime IS DISTINCT FROM $5::text))
        AND NOT EXISTS (SELECT FROM workflow.workflow_pause w WHERE w.kind = 'type' AND w.key = k.type)
    ),
    line(queue, type, priority) AS (
      SELECT k.queue, k.type, n.priority FROM kind k CROSS JOIN LATERAL
        (SELECT r.priority ${WAITING} AND r.queue = k.queue AND r.type = k.type ORDER BY ${ALONG} LIMIT 1) n
      UNION ALL
      SELECT l.queue, l.type, n.priority FROM line l CROSS JOIN LATERAL
        (SELECT r.priority ${WAITING} AND r.queue = l.queue AND r.type = l.type AND r.priority > l.priority
         ORDER BY ${ALONG} LIMIT 1) n
    )`
}

const DUE = `r.run_at <= (SELECT workflow.clock()) AND (r.expires_at IS NULL OR r.expires_at > (SELECT workflow.clock()))
  AND ($4::text IS NULL OR r.tenant = $4::text) AND (r.limit_key IS NULL OR r.limit_key <> ALL ($7::text[]))`

const DUE_OF_LINE = `${WAITING} AND r.queue = l.queue AND r.type = l.type AND r.priority = l.priority AND ${DUE}`

/**
 * Among the best runs, those with a fair key only hold places: which runs of their queue and priority take these places is
 * decided by the turns of the keys (repeatable/48_fair.sql). Where no run has a key, nothing is looked up. $11: the scope of
 * the turns. If the walk was cut short, the longest due take the places that are left.
 */
const BY_TURNS = `top(id, queue, priority, fair_key) AS MATERIALIZED (SELECT b.* FROM best b LIMIT $10::int),
  fair(run, used, place) AS MATERIALIZED (
    SELECT f.run, f.used, f.place FROM (
      SELECT t.queue, t.priority, count(*)::int AS places FROM top t WHERE t.fair_key IS NOT NULL
      GROUP BY t.queue, t.priority ORDER BY t.queue, t.priority) g
    CROSS JOIN LATERAL workflow.fair_runs(g.queue, g.priority,
      ARRAY (SELECT l.type FROM line l WHERE l.queue = g.queue AND l.priority = g.priority), g.places, $11::text, $4::text, $7::text[]) f
  ),
  chosen(id) AS MATERIALIZED (
    SELECT b.id FROM best b WHERE b.fair_key IS NULL AND NOT EXISTS (SELECT FROM fair)
    UNION ALL SELECT t.id FROM top t WHERE t.fair_key IS NULL AND EXISTS (SELECT FROM fair)
    UNION ALL SELECT f.run FROM fair f
    UNION ALL SELECT s.id FROM (
      SELECT t.id FROM top t WHERE t.fair_key IS NOT NULL AND t.id NOT IN (SELECT f.run FROM fair f)
      LIMIT greatest(0, (SELECT count(*) FROM top t WHERE t.fair_key IS NOT NULL) - (SELECT count(*) FROM fair))) s
  )`

/**
 * A few more are read ($9) than are taken ($10), since other claimers may hold the best; LockRows runs below the last
 * LIMIT and stops at $10. The outer conditions look superfluous but are what PostgreSQL checks again on a row that
 * changed between the snapshot and the lock. They are written so that no index but the primary key fits them, and the
 * ids come as an array, not a join: planned on an empty table, a join began with all due runs (3.7 s).
 */
const candidatesSql = (anyQueue: boolean, inOrder = false): string => `${lines(anyQueue)},
  best(id, queue, priority, fair_key) AS MATERIALIZED (
    SELECT c.id, l.queue, l.priority, c.fair_key FROM line l CROSS JOIN LATERAL
      (SELECT r.id, r.run_at, r.fair_key ${DUE_OF_LINE} ORDER BY r.run_at, r.id LIMIT $9::int) c
    ORDER BY ${inOrder ? 'array_position($1::text[], l.queue), ' : ''}l.priority, c.run_at, c.id LIMIT $9::int
  ),
  ${BY_TURNS}
  SELECT ${selectList(RUN, 'r')}, (SELECT f.used FROM fair f WHERE f.run = r.id) FROM workflow.workflow_run r
  WHERE r.id = ANY (ARRAY (SELECT c.id FROM chosen c)) AND r.status || '' = 'pending' AND r.deleted_at IS NULL
    AND r.run_at + interval '0' <= (SELECT workflow.clock())
  ORDER BY ${inOrder ? 'array_position($1::text[], r.queue), ' : ''}r.priority,
    coalesce((SELECT f.place FROM fair f WHERE f.run = r.id), 0), r.run_at, r.id LIMIT $10::int
  FOR UPDATE OF r SKIP LOCKED`

/** The LIMIT keeps this a probe per line: an EXISTS became a join that read all due runs. */
const urgencySql = (anyQueue: boolean): string => `${lines(anyQueue)}
  SELECT min(l.priority) FROM line l CROSS JOIN LATERAL (SELECT ${DUE_OF_LINE} ORDER BY r.run_at, r.id LIMIT 1) due`

export const CANDIDATES: readonly [Statement, Statement] = [
  statement(candidatesSql(false)),
  statement(candidatesSql(true)),
]
const IN_ORDER = statement(candidatesSql(false, true))
const URGENCY: readonly [Statement, Statement] = [statement(urgencySql(false)), statement(urgencySql(true))]

function filterValues(filter: ClaimFilter, full: Pick<Candidates, 'skipQueues' | 'skipLimitKeys'>): (string | null)[] {
  const { exact, prefixes, withTools } = splitTypeFilters(filter.types)
  return [
    filter.queues === null ? null : textArray([...new Set(filter.queues)]),
    textArray([...exact]),
    textArray([...prefixes, ...withTools.map(({ before }) => before)]),
    filter.tenant,
    filter.runtime,
    textArray(full.skipQueues),
    textArray(full.skipLimitKeys),
    textArray([...Array.from(prefixes, () => ''), ...withTools.map(({ tools }) => [...tools].join(','))]),
  ]
}

const NOTHING_FULL = { skipQueues: [], skipLimitKeys: [] }

/** The fields of a run are followed by how many runs of its turn its key has given; null: it was not chosen by turns. */
const RUN_FIELDS = RUN.columns.length
const [ID, QUEUE, PRIORITY, FAIR_KEY] = (['id', 'queue', 'priority', 'fairKey'] as const).map((key) =>
  RUN.columns.findIndex((column) => column.key === key),
) as [number, number, number, number]

export function candidatesCall(
  filter: Candidates,
  found: (fields: Fields) => void,
  fairPlaces: FairPlace[] = [],
): Call {
  const looked = String(filter.limit * 2 + 32)
  const scope = fairScope(filter)
  const row = (fields: Fields): void => {
    found(fields)
    const used = fields[RUN_FIELDS]
    if (used == null) return
    const of = { queue: fields[QUEUE] as string, priority: Number(fields[PRIORITY]), key: fields[FAIR_KEY] as string }
    fairPlaces.push({ runId: fields[ID] as string, turn: { ...of, scope, used: Number(used) } })
  }
  return {
    statement: filter.queues === null ? CANDIDATES[1] : filter.inOrder === true ? IN_ORDER : CANDIDATES[0],
    values: [...filterValues(filter, filter), looked, String(filter.limit), scope],
    row,
  }
}

/** One call per filter; the answers go into `into`, in their order. */
export function urgencyCalls(filters: readonly ClaimFilter[], into: (number | null)[]): Call[] {
  return filters.map((filter, at) => {
    into[at] = null
    return urgencyCall(filter, ([priority]) => {
      into[at] = priority === null || priority === undefined ? null : Number(priority)
    })
  })
}

export function urgencyCall(filter: ClaimFilter, row: (fields: Fields) => void): Call {
  return { statement: URGENCY[filter.queues === null ? 1 : 0], values: filterValues(filter, NOTHING_FULL), row }
}
