/** Empties the database, for tests. */
import { ask } from './connection/ask.ts'
import { toStoreError } from './connection/failure.ts'
import { fly } from './connection/flight.ts'
import type { Lanes } from './connection/lanes.ts'
import { type Call, statement } from './connection/statement.ts'

/** Nets are identified by their content: a process that remembers having stored one stays correct. */
const KEPT = [
  'workflow_migration',
  'workflow_repeatable',
  'workflow_setting',
  'workflow_net',
  'workflow_key',
  'workflow_sign_in',
]

/** In the global lock order; partitions are truncated with their table. */
const TABLES = statement(
  `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = 'workflow' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
   ORDER BY array_position('{workflow_instance,workflow_run,workflow_limit,workflow_unique}'::text[], c.relname::text), c.relname`,
)
/** A run that has not ended cannot be deleted. */
const END_ALL: Call = {
  statement: statement(
    `UPDATE workflow.workflow_run SET status = 'cancelled', settled_at = now(), engine_turn = NOT engine_turn
     WHERE settled_at IS NULL`,
  ),
  values: [],
}
const BEGIN: Call = { statement: statement('BEGIN'), values: [] }
const COMMIT: Call = { statement: statement('COMMIT'), values: [] }
const ROLLBACK: Call = { statement: statement('ROLLBACK'), values: [] }

export async function reset(lanes: Lanes): Promise<void> {
  const tables = await ask(lanes, { statement: TABLES, row: (fields) => fields[0] as string })
  const calls = tables
    .filter((name) => !KEPT.includes(name))
    .map((name): Call => ({ statement: statement(`DELETE FROM workflow.${name}`), values: [] }))
  for (let tries = 1; ; tries++) {
    try {
      return await lanes.use(async (lane) => {
        try {
          await fly(lane.client, [BEGIN, END_ALL, ...calls, COMMIT])
        } catch (error) {
          if (!lane.lost) await fly(lane.client, [ROLLBACK]).catch(() => {})
          throw error
        }
      })
    } catch (error) {
      // Work that continues meanwhile may interfere.
      if (tries >= 5) throw toStoreError(error)
    }
  }
}
