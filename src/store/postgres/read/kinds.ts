/** Kinds of pending runs. Jumps along the claim index from one queue and type to the next. */
import { type DueOfKind, type KindQueries, MAX_OF_KIND } from '../../../model/queries/kinds.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { STEPWISE } from '../connection/settings.ts'
import { statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { ALONG, QUEUE_SCAN, WAITING } from '../load/claimable.ts'

const CLOCK = '(SELECT workflow.clock())'
/** The jumps end as soon as there are enough: nothing sorts or counts what they find. */
const KINDS = statement(
  `WITH RECURSIVE ${QUEUE_SCAN},
   kind(queue, type) AS (
     SELECT q.queue, n.type FROM (SELECT s.queue FROM queue_scan s LIMIT $1::int) q CROSS JOIN LATERAL
       (SELECT r.type ${WAITING} AND r.queue = q.queue ORDER BY r.type USING ~<~ LIMIT 1) n
     UNION ALL
     SELECT k.queue, n.type FROM kind k CROSS JOIN LATERAL
       (SELECT r.type ${WAITING} AND r.queue = k.queue AND r.type ~>~ k.type ORDER BY r.type USING ~<~ LIMIT 1) n
   )
   SELECT k.queue, k.type, g.runtime, g.is_enabled FROM (SELECT * FROM kind LIMIT $1::int) k
   LEFT JOIN workflow.workflow_registry g ON g.workflow_name = k.type AND g.deleted_at IS NULL`,
)
const OF_KIND = `${WAITING} AND r.queue = $1::text AND r.type = $2::text`
const DUE = statement(
  `WITH RECURSIVE line(priority) AS (
     (SELECT r.priority ${OF_KIND} ORDER BY ${ALONG} LIMIT 1)
     UNION ALL
     SELECT n.priority FROM line l CROSS JOIN LATERAL
       (SELECT r.priority ${OF_KIND} AND r.priority > l.priority ORDER BY ${ALONG} LIMIT 1) n
   )
   SELECT
     (SELECT min(f.run_at) FROM (SELECT * FROM line LIMIT ${MAX_OF_KIND}) l CROSS JOIN LATERAL
       (SELECT r.run_at ${OF_KIND} AND r.priority = l.priority ORDER BY r.run_at, r.id LIMIT 1) f WHERE f.run_at <= ${CLOCK}),
     n.pending, n.due
   FROM (SELECT count(*) AS pending, count(*) FILTER (WHERE c.run_at <= ${CLOCK}) AS due
     FROM (SELECT r.run_at ${OF_KIND} ORDER BY ${ALONG} LIMIT ${MAX_OF_KIND}) c) n`,
)

export function kindsOn(lanes: Lanes): KindQueries {
  return {
    waiting: ({ limit }) =>
      ask(lanes, {
        statement: KINDS,
        settings: STEPWISE,
        values: [String(limit)],
        row: ([queue, type, runtime, enabled]) => ({
          queue: queue as string,
          type: type as string,
          registered: runtime == null ? null : { runtime, enabled: enabled === 't' },
        }),
      }),
    due: async ({ queue, type }) =>
      (await askOne(lanes, {
        statement: DUE,
        settings: STEPWISE,
        values: [queue, type],
        row: ([oldest, pending, due]) => ({
          due: Number(due),
          more: Number(pending) >= MAX_OF_KIND,
          oldestAt: oldest == null ? null : parseTime(oldest),
        }),
      })) as DueOfKind,
  }
}
