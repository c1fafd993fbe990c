/**
 * Loads without a lock of their own: the rows belong to a locked root, never change, or are only advice.
 * LIMIT and OFFSET 0 keep each LATERAL a probe per wanted row: plans are made once, maybe on empty tables.
 */

import { SLOT } from '../../../net/slots.ts'
import { GATE, INSTANCE, NET, QUEUE, RUN, selectList, WORKER } from '../columns.ts'
import { statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'

/** The transaction's clock: now() in microseconds, and the offset; also the version of the registry. */
export const CLOCK = statement(
  `SELECT (extract(epoch FROM now()) * 1000)::float8,
          (SELECT s.value FROM workflow.workflow_setting s WHERE s.key = 'clock_offset_ms'),
          (SELECT s.value FROM workflow.workflow_setting s WHERE s.key = 'registry_version')`,
)

export const INSTANCES = statement(
  `SELECT ${selectList(INSTANCE, 'i')} FROM workflow.workflow_instance i WHERE i.id = ANY ($1::uuid[])`,
)

export const SLOTS = statement(
  `SELECT s.instance_id, s.key, s.value FROM unnest($1::uuid[], $2::text[]) n(instance_id, key)
   CROSS JOIN LATERAL (SELECT * FROM workflow.workflow_slot s WHERE s.instance_id = n.instance_id AND s.key = n.key LIMIT 1) s`,
)

/** chr(1114111) sorts after any key with the prefix. */
const UNDER_PREFIX = 's.instance_id = n.instance_id AND s.key >= n.prefix AND s.key < n.prefix || chr(1114111)'

export const SLOTS_WITH = statement(
  `SELECT n.at, s.key, s.value FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY n(instance_id, prefix, at)
   CROSS JOIN LATERAL (SELECT * FROM workflow.workflow_slot s WHERE ${UNDER_PREFIX} ORDER BY s.key OFFSET 0) s`,
)

export const TOP_SLOT = statement(
  `SELECT n.at, t.key, t.value FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY n(instance_id, prefix, at) CROSS JOIN LATERAL
     (SELECT s.key, s.value FROM workflow.workflow_slot s WHERE ${UNDER_PREFIX} ORDER BY s.key DESC LIMIT 1) t`,
)

export const OPEN_CHILDREN = statement(
  `SELECT ${selectList(INSTANCE, 'c')} FROM unnest($1::uuid[], $2::int4[]) n(instance_id, count) CROSS JOIN LATERAL
     (SELECT * FROM workflow.workflow_instance c
      WHERE c.parent_id = n.instance_id AND c.ended_at IS NULL AND c.parent_node IS NOT NULL
        AND c.phase IN ('forward', 'final') ORDER BY c.id LIMIT n.count) c`,
)

export const GATES = statement(
  `SELECT ${selectList(GATE, 'g')} FROM workflow.workflow_gate g WHERE g.id = ANY ($1::uuid[])`,
)

export const OPEN_GATES = statement(
  `SELECT ${selectList(GATE, 'g')} FROM unnest($1::uuid[], $2::int4[]) n(instance_id, count) CROSS JOIN LATERAL
     (SELECT * FROM workflow.workflow_gate g WHERE g.instance_id = n.instance_id AND g.state = 'open' ORDER BY g.id LIMIT n.count) g`,
)

/** The chunk that holds the first wanted item, and those that begin after it. Elements keep their text. */
export const ITEMS = statement(
  `SELECT n.at, c.first + e.ord - 1, e.value
   FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::int4[], $5::int4[]) WITH ORDINALITY n(instance_id, node, fire, first, count, at)
   CROSS JOIN LATERAL (
     SELECT i.first, i."values" FROM workflow.workflow_item i
     WHERE i.instance_id = n.instance_id AND i.node = n.node AND i.fire = n.fire AND i.first < n.first + n.count
       AND i.first >= coalesce((SELECT max(b.first) FROM workflow.workflow_item b
         WHERE b.instance_id = n.instance_id AND b.node = n.node AND b.fire = n.fire AND b.first <= n.first), 0)
   ) c
   CROSS JOIN LATERAL json_array_elements(c."values") WITH ORDINALITY e(value, ord)
   WHERE c.first + e.ord - 1 >= n.first AND c.first + e.ord - 1 < n.first + n.count`,
)

/**
 * The newest fire with ended work decides. Items of an `each` become an object, failed ones and those an operator
 * cancelled (which have an error; those a drain cancelled have none) with their errors; where no run has a result, a
 * slot may (children's results).
 */
export const RESULTS = statement(
  `SELECT n.at, coalesce(
     CASE WHEN f.item >= 0 THEN (
       SELECT jsonb_object_agg(r.item, CASE WHEN r.status = 'succeeded' THEN coalesce(r.result, 'null'::jsonb)
         ELSE jsonb_build_object('error', coalesce(r.error::jsonb, jsonb_build_object('message', r.last_error)), 'state', 'failed') END)
       FROM workflow.workflow_run r
       WHERE r.instance_id = n.instance_id AND r.node = n.node AND r.fire = f.fire AND r.item >= 0 AND r.role = 'work'
         AND (r.status IN ('succeeded', 'failed') OR (r.status = 'cancelled' AND r.error IS NOT NULL)))
     ELSE f.result END::text,
     (SELECT s.value::text FROM workflow.workflow_slot s WHERE s.instance_id = n.instance_id AND s.key = '${SLOT.result.prefix}' || n.node)),
     CASE WHEN f.item >= 0 OR f.result IS NOT NULL THEN f.fire END
   FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY n(instance_id, node, at)
   LEFT JOIN LATERAL (
     SELECT r.fire, r.item, r.result FROM workflow.workflow_run r
     WHERE r.instance_id = n.instance_id AND r.node = n.node AND r.role <> 'undo'
       AND (r.status = 'succeeded'
         OR (r.item >= 0 AND (r.status = 'failed' OR (r.status = 'cancelled' AND r.error IS NOT NULL))))
     ORDER BY r.fire DESC LIMIT 1
   ) f ON true`,
)

/** Results of one firing, without items that did not succeed. As text: all items of a long list may exceed a jsonb. */
export const RESULTS_AT = statement(
  `SELECT n.at, f.result, f.too_long
   FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::int8[]) WITH ORDINALITY n(instance_id, node, fire, max_bytes, at)
   CROSS JOIN LATERAL (
     SELECT coalesce((array_agg(t.text) FILTER (WHERE t.item < 0))[1], '{' ||
         string_agg('"' || t.item || '":' || t.text, ',') FILTER (WHERE t.item >= 0 AND t.upto <= n.max_bytes) || '}') AS result,
       bool_or(t.item >= 0 AND t.upto > n.max_bytes) AS too_long
     FROM (
       SELECT r.item, r.text, sum(octet_length(r.text)) OVER (ORDER BY r.item ROWS UNBOUNDED PRECEDING) AS upto
       FROM (
         SELECT w.item, coalesce(w.result::text, 'null') AS text FROM workflow.workflow_run w
         WHERE w.instance_id = n.instance_id AND w.node = n.node AND w.fire = n.fire AND w.role = 'work' AND w.status = 'succeeded'
         OFFSET 0
       ) r
     ) t
   ) f`,
)

/** Along the place index; read once in the life of an instance, before its finals. */
export const RAN = statement(
  `SELECT r.instance_id, r.node, count(DISTINCT r.fire), count(*), bool_or(r.status = 'succeeded')
   FROM workflow.workflow_run r WHERE r.instance_id = ANY ($1::uuid[]) AND r.role = 'work' GROUP BY r.instance_id, r.node
   UNION ALL
   SELECT c.parent_id, c.parent_node, count(DISTINCT c.parent_fire), 0, bool_or(c.state = 'completed')
   FROM workflow.workflow_instance c
   WHERE c.parent_id = ANY ($1::uuid[]) AND c.parent_node IS NOT NULL AND c.parent_role = 'work'
   GROUP BY c.parent_id, c.parent_node`,
)

export const NEXT_FIRES = statement(
  `SELECT n.at, least(
     (SELECT min(r.fire) FROM workflow.workflow_run r
      WHERE r.instance_id = n.instance_id AND r.node = n.node AND r.fire > n.after),
     (SELECT min(c.parent_fire) FROM workflow.workflow_instance c
      WHERE c.parent_id = n.instance_id AND c.parent_node = n.node AND c.parent_fire > n.after))
   FROM unnest($1::uuid[], $2::text[], $3::int4[]) WITH ORDINALITY n(instance_id, node, after, at)`,
)

export const PLACES_AT = statement(
  `SELECT n.at, ${selectList(RUN, 'r')}
   FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::int4[]) WITH ORDINALITY n(instance_id, node, fire, item, at)
   JOIN workflow.workflow_run r
     ON r.instance_id = n.instance_id AND r.node = n.node AND r.fire = n.fire AND r.item = n.item AND r.role = 'work'`,
)

export const CHILD_PLACES_AT = statement(
  `SELECT n.at, ${selectList(INSTANCE, 'c')}
   FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::int4[]) WITH ORDINALITY n(instance_id, node, fire, item, at)
   CROSS JOIN LATERAL (SELECT * FROM workflow.workflow_instance c
     WHERE c.parent_id = n.instance_id AND c.parent_node = n.node AND c.parent_item = n.item AND c.parent_fire = n.fire
     ORDER BY c.id DESC LIMIT 1) c`,
)

/** Runs in any state; fires are few, items may be many. */
export const PLACES = statement(
  `SELECT n.at, ${selectList(RUN, 'r')}
   FROM unnest($1::uuid[], $2::text[], $3::int4[]) WITH ORDINALITY n(instance_id, node, item, at) CROSS JOIN LATERAL
     (SELECT * FROM workflow.workflow_run r
      WHERE r.instance_id = n.instance_id AND r.node = n.node AND r.item = n.item AND r.role = 'work' ORDER BY r.fire DESC LIMIT 1) r`,
)

export const CHILD_PLACES = statement(
  `SELECT n.at, ${selectList(INSTANCE, 'c')}
   FROM unnest($1::uuid[], $2::text[], $3::int4[]) WITH ORDINALITY n(instance_id, node, item, at) CROSS JOIN LATERAL
     (SELECT * FROM workflow.workflow_instance c
      WHERE c.parent_id = n.instance_id AND c.parent_node = n.node AND c.parent_item = n.item
      ORDER BY c.parent_fire DESC, c.id DESC LIMIT 1) c`,
)

export const NETS = statement(
  `SELECT ${selectList(NET, 'n')} FROM workflow.workflow_net n WHERE n.hash = ANY ($1::text[])`,
)

/** Keys under which an instance is queued. Read after the limits were locked: joining a queue requires that lock. */
export const QUEUED_UNDER = statement(
  `SELECT k.key FROM unnest($1::text[]) k(key) WHERE EXISTS (
     SELECT FROM workflow.workflow_instance i WHERE i.slot_key = k.key AND i.ended_at IS NULL AND i.state = 'queued'
       AND i.queued_at < '9999-01-01 00:00:00+00')`,
)

export const QUEUES = statement(
  `SELECT ${selectList(QUEUE, 'q')} FROM workflow.workflow_queue q WHERE q.name = ANY ($1::text[])`,
)

/** Not locked: a worker's beat must not wait for work. */
export const SESSIONS = statement(
  `SELECT ${selectList(WORKER, 'w')} FROM workflow.workflow_worker w WHERE w.id = ANY ($1::text[])`,
)

export const BY_IDEMPOTENCY_KEY = statement(
  `SELECT ${selectList(RUN, 'r')} FROM workflow.workflow_run r WHERE r.idempotency_key = ANY ($1::text[])`,
)

export const KEPT_KEYS = statement(
  'SELECT k.idempotency_key, k.run_id FROM workflow.workflow_kept_key k WHERE k.idempotency_key = ANY ($1::text[])',
)

export const BY_START_KEY = statement(
  `SELECT ${selectList(INSTANCE, 'i')} FROM workflow.workflow_instance i WHERE i.start_key = ANY ($1::text[])`,
)

export const HANDED_BY = statement(
  `SELECT n.at, ${selectList(RUN, 'r')} FROM unnest($1::text[], $2::text[]) WITH ORDINALITY n(session_id, report_id, at)
   CROSS JOIN LATERAL (SELECT * FROM workflow.workflow_run r WHERE r.session_id = n.session_id AND r.report_id = n.report_id
     AND ${LEASED} ORDER BY r.id OFFSET 0) r`,
)
