/** The registry of types: which runtime may execute each, and whether any may. */

import type { StoreEventType } from '../../../model/events/events.ts'
import type { Registry, RuntimeRow } from '../../../model/registry.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'
import { QUEUE_SCAN, WAITING } from '../load/claimable.ts'

type Runtimes = Pick<Registry, 'runtimes' | 'runtime' | 'putRuntime' | 'removeRuntime'>

const columns = (g: string): string =>
  ['workflow_name', 'intent_type', 'runtime', 'is_enabled', 'description', 'created_at', 'updated_at']
    .map((column) => `${g}.${column}`)
    .join(', ')

/** Pending runs of a type are counted queue by queue, along the claim index. */
const RUNTIMES = statement(
  `WITH RECURSIVE ${QUEUE_SCAN}
   SELECT ${columns('g')}, coalesce(sum(w.pending), 0)::bigint
   FROM workflow.workflow_registry g LEFT JOIN queue_scan q ON true
   LEFT JOIN LATERAL (SELECT count(*) AS pending ${WAITING} AND r.queue = q.queue AND r.type = g.workflow_name OFFSET 0) w ON true
   WHERE g.deleted_at IS NULL GROUP BY g.id ORDER BY g.workflow_name`,
)
const RUNTIME = statement(
  `SELECT ${columns('g')} FROM workflow.workflow_registry g WHERE g.workflow_name = $1 AND g.deleted_at IS NULL`,
)

/** An event with the actor, for each row that the statement wrote. */
const recorded = (type: StoreEventType, actor: string): string =>
  `recorded AS (
     INSERT INTO workflow.workflow_event (event_type, data, actor, created_at, engine)
     SELECT '${type}', jsonb_build_object('workflow_name', w.workflow_name, 'runtime', w.runtime, 'is_enabled', w.is_enabled),
       ${actor}, workflow.clock(), true FROM written w)`

/**
 * An update first: an insert requires a runtime, which a change of another field does not name. $6: whether $5 counts.
 * The insert also restores a name that was removed.
 */
const PUT = statement(
  `WITH updated AS (
     UPDATE workflow.workflow_registry g SET runtime = coalesce($2::text, g.runtime), is_enabled = coalesce($3::boolean, g.is_enabled),
       intent_type = coalesce($4::text, g.intent_type), description = CASE WHEN $6::boolean THEN $5::text ELSE g.description END,
       updated_at = workflow.clock()
     WHERE g.workflow_name = $1::text AND g.deleted_at IS NULL RETURNING ${columns('g')}
   ), inserted AS (
     INSERT INTO workflow.workflow_registry AS g (workflow_name, intent_type, runtime, is_enabled, description, created_at, updated_at)
     SELECT $1::text, coalesce($4::text, 'workflow'), $2::text, coalesce($3::boolean, true), $5::text, workflow.clock(), workflow.clock()
     WHERE $2::text IS NOT NULL AND NOT EXISTS (SELECT FROM updated)
     ON CONFLICT (workflow_name) DO UPDATE SET intent_type = excluded.intent_type, runtime = excluded.runtime,
       is_enabled = excluded.is_enabled, description = excluded.description, created_at = excluded.created_at,
       updated_at = excluded.updated_at, deleted_at = NULL
     RETURNING ${columns('g')}
   ), written AS (SELECT * FROM updated UNION ALL SELECT * FROM inserted), ${recorded('registry.changed', '$7::text')}
   SELECT * FROM written`,
)
const REMOVE = statement(
  `WITH written AS (
     UPDATE workflow.workflow_registry g SET deleted_at = workflow.clock(), updated_at = workflow.clock()
     WHERE g.workflow_name = $1::text AND g.deleted_at IS NULL RETURNING ${columns('g')}
   ), ${recorded('registry.removed', '$2::text')}
   SELECT workflow_name FROM written`,
)

export function runtimesOn(lanes: Lanes): Runtimes {
  return {
    runtimes: () =>
      ask(lanes, { statement: RUNTIMES, row: (fields) => ({ ...runtimeFrom(fields), pending: Number(fields[7]) }) }),
    runtime: (name) => askOne(lanes, { statement: RUNTIME, values: [name], row: runtimeFrom }),
    putRuntime: ({ workflowName, runtime, isEnabled, intentType, description, actor }) => {
      const enabled = isEnabled === null ? null : String(isEnabled)
      const values = [
        workflowName,
        runtime,
        enabled,
        intentType,
        description ?? null,
        String(description !== undefined),
      ]
      return askOne(lanes, { statement: PUT, values: [...values, actor], row: runtimeFrom })
    },
    removeRuntime: async ({ workflowName, actor }) =>
      (await askOne(lanes, { statement: REMOVE, values: [workflowName, actor], row: () => true })) ?? false,
  }
}

function runtimeFrom([name, intent, runtime, enabled, description, createdAt, updatedAt]: Fields): RuntimeRow {
  return {
    workflowName: name as string,
    intentType: intent as string,
    runtime: runtime as string,
    isEnabled: enabled === 't',
    description: description ?? null,
    createdAt: parseTime(createdAt as string),
    updatedAt: parseTime(updatedAt as string),
  }
}
