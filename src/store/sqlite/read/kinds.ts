/** Kinds of pending runs. Jumps along the claim index from one queue and type to the next. */
import { type Kind, type KindQueries, MAX_OF_KIND } from '../../../model/queries/kinds.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import { WAITING } from '../load/claimable.ts'

/** A queue ends with a row without a type: with as many queues as types, twice the limit suffices. */
const KINDS = `WITH RECURSIVE
  line(name) AS (
    SELECT (SELECT queue ${WAITING} ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT queue ${WAITING} AND queue > l.name ORDER BY queue LIMIT 1) FROM line l WHERE l.name IS NOT NULL
    LIMIT ?1 + 1),
  kind(queue, type) AS (
    SELECT l.name, (SELECT type ${WAITING} AND queue = l.name ORDER BY type LIMIT 1) FROM line l WHERE l.name IS NOT NULL
    UNION ALL
    SELECT k.queue, (SELECT type ${WAITING} AND queue = k.queue AND type > k.type ORDER BY type LIMIT 1)
    FROM kind k WHERE k.type IS NOT NULL
    LIMIT 2 * ?1)
  SELECT k.queue, k.type, g.runtime, g.is_enabled FROM kind k
  LEFT JOIN workflow_registry g ON g.workflow_name = k.type AND g.deleted_at IS NULL
  WHERE k.type IS NOT NULL LIMIT ?1 + 0`
const OF_KIND = `${WAITING} AND queue = ?1 AND type = ?2`
const DUE = `WITH RECURSIVE line(priority) AS (
    SELECT (SELECT priority ${OF_KIND} ORDER BY priority LIMIT 1)
    UNION ALL
    SELECT (SELECT priority ${OF_KIND} AND priority > l.priority ORDER BY priority LIMIT 1) FROM line l
    WHERE l.priority IS NOT NULL LIMIT ${MAX_OF_KIND})
  SELECT
    (SELECT min((SELECT run_at ${OF_KIND} AND priority = l.priority ORDER BY run_at LIMIT 1)) FROM line l WHERE l.priority IS NOT NULL),
    (SELECT count(*) FROM (SELECT 1 ${OF_KIND} LIMIT ${MAX_OF_KIND})),
    (SELECT total(run_at <= ?3) FROM (SELECT run_at ${OF_KIND} ORDER BY priority, run_at LIMIT ${MAX_OF_KIND}))`

export function kindsOn(connection: Connection): KindQueries {
  return {
    waiting: ({ limit }) =>
      connection.readLong((on) =>
        on
          .statement(KINDS)
          .all(limit)
          .map(([queue, type, runtime, enabled]) => ({
            queue: queue as string,
            type: type as string,
            registered: runtime == null ? null : { runtime: runtime as string, enabled: enabled === 1 },
          })),
      ),
    due: ({ queue, type }: Kind) =>
      connection.readLong((on) => {
        const now = readClock(on)
        const cells = on.statement(DUE).get(queue, type, now) as readonly (number | null)[]
        const [oldest = null, pending, due] = cells
        return {
          due: due as number,
          more: (pending as number) >= MAX_OF_KIND,
          oldestAt: oldest !== null && oldest <= now ? oldest : null,
        }
      }),
  }
}
