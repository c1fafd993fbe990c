/** The registry of types: which runtime may execute each, and whether any may. */

import { eventRow, storeEvent } from '../../../model/events/events.ts'
import type { Registry, RuntimeRow } from '../../../model/registry.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import { WAITING, waitingQueues } from '../load/claimable.ts'
import { insertEvents } from '../write/events.ts'

type Runtimes = Pick<Registry, 'runtimes' | 'runtime' | 'putRuntime' | 'removeRuntime'>

const CELLS = 'workflow_name, intent_type, runtime, is_enabled, description, created_at, updated_at'
const RUNTIMES = `SELECT ${CELLS} FROM workflow_registry WHERE deleted_at IS NULL ORDER BY workflow_name`
const RUNTIME = `SELECT ${CELLS} FROM workflow_registry WHERE workflow_name = ? AND deleted_at IS NULL`
const COUNT = `SELECT count(*) ${WAITING} AND queue = ? AND type = ?`
const UPDATE = `UPDATE workflow_registry SET runtime = coalesce(?2, runtime), is_enabled = coalesce(?3, is_enabled),
    intent_type = coalesce(?4, intent_type), description = CASE WHEN ?6 THEN ?5 ELSE description END, updated_at = ?7
  WHERE workflow_name = ?1 AND deleted_at IS NULL RETURNING ${CELLS}`
/** Also restores a name that was removed. */
const INSERT = `INSERT INTO workflow_registry (workflow_name, runtime, is_enabled, intent_type, description, created_at, updated_at)
  VALUES (?1, ?2, coalesce(?3, 1), coalesce(?4, 'workflow'), ?5, ?6, ?6)
  ON CONFLICT (workflow_name) DO UPDATE SET intent_type = excluded.intent_type, runtime = excluded.runtime,
    is_enabled = excluded.is_enabled, description = excluded.description, created_at = excluded.created_at,
    updated_at = excluded.updated_at, deleted_at = NULL
  RETURNING ${CELLS}`
const REMOVE = `UPDATE workflow_registry SET deleted_at = ?2, updated_at = ?2
  WHERE workflow_name = ?1 AND deleted_at IS NULL RETURNING ${CELLS}`

export function runtimesOn(connection: Connection): Runtimes {
  return {
    runtimes: () =>
      connection.read(() => {
        const queues = waitingQueues(connection)
        const count = connection.statement(COUNT)
        return connection
          .statement(RUNTIMES)
          .all()
          .map(runtimeOf)
          .map((row) => ({
            ...row,
            pending: queues.reduce((sum, queue) => sum + (count.get(queue, row.workflowName)?.[0] as number), 0),
          }))
      }),
    runtime: (name) =>
      connection.read(() => {
        const cells = connection.statement(RUNTIME).get(name)
        return cells === undefined ? null : runtimeOf(cells)
      }),
    putRuntime: ({ workflowName, runtime, isEnabled, intentType, description, actor }) =>
      connection.write(() => {
        const now = readClock(connection)
        const enabled = isEnabled === null ? null : Number(isEnabled)
        const about = description ?? null
        const given = Number(description !== undefined)
        let cells = connection.statement(UPDATE).get(workflowName, runtime, enabled, intentType, about, given, now)
        if (cells === undefined && runtime !== null) {
          cells = connection.statement(INSERT).get(workflowName, runtime, enabled, intentType, about, now)
        }
        return cells === undefined ? null : withEvent(connection, 'registry.changed', runtimeOf(cells), actor, now)
      }),
    removeRuntime: ({ workflowName, actor }) =>
      connection.write(() => {
        const now = readClock(connection)
        const cells = connection.statement(REMOVE).get(workflowName, now)
        if (cells === undefined) return false
        withEvent(connection, 'registry.removed', runtimeOf(cells), actor, now)
        return true
      }),
  }
}

function withEvent(
  connection: Connection,
  type: 'registry.changed' | 'registry.removed',
  row: RuntimeRow,
  actor: string | null,
  at: number,
): RuntimeRow {
  const data = { workflow_name: row.workflowName, runtime: row.runtime, is_enabled: row.isEnabled }
  insertEvents(connection, [eventRow(storeEvent(type, data, { actor, tenant: null, at }))])
  return row
}

function runtimeOf([name, intent, runtime, enabled, description, createdAt, updatedAt]: Cells): RuntimeRow {
  return {
    workflowName: name as string,
    intentType: intent as string,
    runtime: runtime as string,
    isEnabled: enabled !== 0,
    description: description as string | null,
    createdAt: createdAt as number,
    updatedAt: updatedAt as number,
  }
}
