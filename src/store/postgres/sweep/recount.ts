/** Sets in_use of limits to what is leased. */
import { textArray } from '../batch.ts'
import { toStoreError } from '../failure.ts'
import { fly } from '../flight.ts'
import type { Lanes } from '../lanes.ts'
import { LIMITS } from '../load/locked.ts'
import { type Call, statement } from '../statement.ts'

/** Counted in a later statement than the lock: whoever held it before has committed what he leased or gave back. */
const RECOUNT = statement(
  `UPDATE workflow.workflow_limit l SET in_use = (
     SELECT count(*) FROM workflow.workflow_run r
     WHERE r.status = 'leased' AND ('queue:' || r.queue = l.key OR 'key:' || r.limit_key = l.key))
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
