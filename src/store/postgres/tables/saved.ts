/** Progress and checkpoints of runs. */
import type { RunStatus } from '../../../model/rows.ts'
import type { NotSaved, Saved, SavedRow } from '../../../model/saved.ts'
import { ask, askOne } from '../connection/ask.ts'
import { uuidArray } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { isUuid } from '../connection/uuid.ts'

const COLUMNS = 'c.run_id, c.state, c.sequence, c.progress, c.updated_at, c.progress_epoch'
const OF = statement(`SELECT ${COLUMNS} FROM workflow.workflow_checkpoint c WHERE c.run_id = ANY ($1::uuid[])`)
/** FOR KEY SHARE would not wait for a settle that is about to end the run; FOR SHARE does. */
const PUT = statement(
  `WITH run AS MATERIALIZED (
     SELECT r.id, r.status, r.leased_by FROM workflow.workflow_run r
     WHERE r.id = $1::uuid AND r.deleted_at IS NULL FOR SHARE
   ), put AS (
     INSERT INTO workflow.workflow_checkpoint AS c (run_id, state, sequence, updated_at)
     SELECT run.id, $2::json, 1, workflow.clock() FROM run
     WHERE CASE WHEN $3::text IS NULL THEN run.status IN ('pending', 'leased')
                ELSE run.status = 'leased' AND run.leased_by = $3::text END
     ON CONFLICT (run_id) DO UPDATE SET state = excluded.state, sequence = c.sequence + 1, updated_at = excluded.updated_at
     RETURNING ${COLUMNS}
   )
   SELECT put.*, run.status FROM run LEFT JOIN put ON true`,
)
const REMOVE = statement(
  `UPDATE workflow.workflow_checkpoint c SET state = NULL, sequence = 0, updated_at = workflow.clock()
   WHERE c.run_id = $1::uuid`,
)
const PROGRESS = statement(
  `WITH run AS MATERIALIZED (
     SELECT r.id, r.leased_by, r.instance_id, r.node, r.tenant, r.epoch FROM workflow.workflow_run r
     WHERE r.id = $1::uuid AND r.deleted_at IS NULL AND r.status = 'leased' AND ($3::text IS NULL OR r.leased_by = $3::text)
     FOR SHARE
   ), clock AS (SELECT workflow.clock() AS at),
   put AS (
     INSERT INTO workflow.workflow_checkpoint AS c (run_id, progress, progress_epoch, updated_at)
     SELECT run.id, $2::json, run.epoch, (SELECT at FROM clock) FROM run
     ON CONFLICT (run_id) DO UPDATE SET
       progress = excluded.progress, progress_epoch = excluded.progress_epoch, updated_at = excluded.updated_at
     WHERE c.progress_epoch IS DISTINCT FROM excluded.progress_epoch
       OR CASE json_typeof(c.progress -> 'progress') WHEN 'number' THEN (c.progress ->> 'progress')::float8 ELSE 0 END
          <= coalesce($4::float8, 0)
     RETURNING ${COLUMNS}
   ), recorded AS (
     INSERT INTO workflow.workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
     SELECT run.id, 'progress', $2::jsonb, (SELECT at FROM clock), run.instance_id, run.node, run.leased_by, run.tenant, true
     FROM run JOIN put ON put.run_id = run.id
   )
   SELECT put.* FROM put`,
)

export function savedOn(lanes: Lanes): Saved {
  return {
    of: async (runIds) => {
      const ids = runIds.filter(isUuid)
      if (ids.length === 0) return new Map()
      const rows = await ask(lanes, { statement: OF, values: [uuidArray(ids)], row: savedFrom })
      return new Map(rows.map((row) => [row.runId, row]))
    },
    put: async ({ runId, holder, state }) => {
      if (!isUuid(runId)) return { status: null }
      const values = [runId, state, holder]
      return (await askOne(lanes, { statement: PUT, values, row: outcomeFrom })) ?? { status: null }
    },
    remove: async (runId) => {
      if (isUuid(runId)) await ask(lanes, { statement: REMOVE, values: [runId], row: () => null })
    },
    progress: async ({ runId, holder, value, fraction }) => {
      if (!isUuid(runId)) return null
      const values = [runId, value, holder, fraction === null ? null : String(fraction)]
      return askOne(lanes, { statement: PROGRESS, values, row: savedFrom })
    },
  }
}

function outcomeFrom(fields: Fields): SavedRow | NotSaved {
  return fields[0] === null ? { status: fields[6] as RunStatus } : savedFrom(fields)
}

function savedFrom(fields: Fields): SavedRow {
  const [runId, state, sequence, progress, updatedAt, epoch] = fields
  return {
    runId: runId as string,
    state: state ?? null,
    sequence: Number(sequence),
    progress: progress ?? null,
    progressEpoch: epoch === null ? null : Number(epoch),
    updatedAt: parseTime(updatedAt as string),
  }
}
