/**
 * The first due runs of a queue, in the order in which claims take them. Like a claim, it jumps in the claim index from
 * one type and priority to the next; runs beyond the bound, or due later, are not read.
 */
import { ask } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { STEPWISE } from '../connection/settings.ts'
import { statement } from '../connection/statement.ts'
import { ALONG, WAITING } from '../load/claimable.ts'

/** The types that wait in a queue ($1), and the priorities of each: a jump along the index of claims for each of them. */
export const LINES = `kind(type) AS (
     (SELECT r.type ${WAITING} AND r.queue = $1::text ORDER BY r.type USING ~<~ LIMIT 1)
     UNION ALL
     SELECT n.type FROM kind k CROSS JOIN LATERAL
       (SELECT r.type ${WAITING} AND r.queue = $1::text AND r.type ~>~ k.type ORDER BY r.type USING ~<~ LIMIT 1) n
   ),
   line(type, priority) AS (
     SELECT k.type, n.priority FROM kind k CROSS JOIN LATERAL
       (SELECT r.priority ${WAITING} AND r.queue = $1::text AND r.type = k.type ORDER BY ${ALONG} LIMIT 1) n
     UNION ALL
     SELECT l.type, n.priority FROM line l CROSS JOIN LATERAL
       (SELECT r.priority ${WAITING} AND r.queue = $1::text AND r.type = l.type AND r.priority > l.priority
        ORDER BY ${ALONG} LIMIT 1) n
   )`

export const FRONT = statement(
  `WITH RECURSIVE ${LINES}
   SELECT c.id FROM line l CROSS JOIN LATERAL (
     SELECT r.id, r.run_at ${WAITING} AND r.queue = $1::text AND r.type = l.type AND r.priority = l.priority
       AND r.run_at <= (SELECT workflow.clock())
       AND (r.expires_at IS NULL OR r.expires_at > (SELECT workflow.clock()))
     ORDER BY r.run_at, r.id LIMIT $2::int) c
   ORDER BY l.priority, c.run_at, c.id LIMIT $2::int`,
)

export function frontOf(
  lanes: Lanes,
  { queue, most }: { readonly queue: string; readonly most: number },
): Promise<readonly string[]> {
  const values = [queue, String(most)]
  return ask(lanes, { statement: FRONT, settings: STEPWISE, values, row: ([id]) => id as string })
}
