/** Sets in_use of limits to the number of runs or instances that hold room under them. */
import { textArray } from '../connection/batch.ts'
import { toStoreError } from '../connection/failure.ts'
import { fly } from '../connection/flight.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Call, statement } from '../connection/statement.ts'
import { LEASED } from '../leased.ts'
import { LIMITS } from '../load/locked.ts'

const RUN = 'SELECT r.queue, r.limit_key FROM workflow.workflow_run r'

/**
 * Queue and limit key of every run that holds room: leased by a worker of ours, or deferred by one. A run that a
 * foreign client has ended returns its room only when it is settled; one that a foreign client leased never took any.
 * Each part reads along an index that holds little else.
 */
export const ROOM_HELD = `(
  ${RUN} WHERE ${LEASED} AND r.session_id IS NOT NULL
  UNION ALL
  ${RUN} WHERE ${LEASED} AND r.session_id IS NULL AND (r.lease_ms IS NOT NULL OR r.deferred)
  UNION ALL
  ${RUN} WHERE r.settled_at IS NULL AND r.status IN ('succeeded', 'failed', 'cancelled')
    AND (r.session_id IS NOT NULL OR r.lease_ms IS NOT NULL OR r.deferred))`

/** A limit of instances is held by those that execute under it. */
export const EXECUTING = `i.ended_at IS NULL AND i.state IN ('running', 'waiting', 'cancelling', 'compensating')`

/** Counted in a later statement than the lock: the previous holder of the lock has committed its leases and returns. */
const RECOUNT = statement(
  `UPDATE workflow.workflow_limit l SET in_use = CASE WHEN l.key LIKE 'workflow:%'
     THEN (SELECT count(*) FROM workflow.workflow_instance i WHERE i.slot_key = l.key AND ${EXECUTING})
     ELSE (SELECT count(*) FROM ${ROOM_HELD} r WHERE 'queue:' || r.queue = l.key OR 'key:' || r.limit_key = l.key) END
   WHERE l.key = ANY ($1::text[])`,
)
const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const COMMIT: Call = { statement: statement('COMMIT'), values: [] }
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }

export async function recountLimits(lanes: Lanes, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  const values = [textArray(keys)]
  try {
    await lanes.use(async (lane) => {
      try {
        await fly(lane.client, [BEGIN, { statement: LIMITS, values }, { statement: RECOUNT, values }, COMMIT])
      } catch (error) {
        if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => {})
        throw error
      }
    })
  } catch (error) {
    throw toStoreError(error)
  }
}
