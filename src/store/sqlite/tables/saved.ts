/** Progress and checkpoints of runs. */
import type { RunStatus } from '../../../model/rows.ts'
import type { NotSaved, Saved, SavedRow } from '../../../model/saved.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'

const CELLS = 'run_id, state, sequence, progress, updated_at, progress_epoch'
const FIND = `SELECT ${CELLS} FROM workflow_checkpoint WHERE run_id = ?`
const RUN = `SELECT status, leased_by, epoch, instance_id, node, tenant FROM workflow_run WHERE id = ? AND deleted_at IS NULL`
const PUT = `INSERT INTO workflow_checkpoint (run_id, state, sequence, updated_at) VALUES (?, ?, 1, ?)
  ON CONFLICT (run_id) DO UPDATE SET state = excluded.state, sequence = sequence + 1, updated_at = excluded.updated_at
  RETURNING ${CELLS}`
const REMOVE = 'UPDATE workflow_checkpoint SET state = NULL, sequence = 0, updated_at = ? WHERE run_id = ?'
const PROGRESS = `INSERT INTO workflow_checkpoint (run_id, progress, progress_epoch, updated_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (run_id) DO UPDATE SET
    progress = excluded.progress, progress_epoch = excluded.progress_epoch, updated_at = excluded.updated_at
  RETURNING ${CELLS}`
const TELL = `INSERT INTO workflow_event (workflow_id, event_type, data, created_at, instance_id, node, actor, tenant, engine)
  VALUES (?, 'progress', ?, ?, ?, ?, ?, ?, 1)`

export function savedOn(connection: Connection): Saved {
  // Nothing remembered about runs changes here.
  const write = <T>(work: () => T): Promise<T> => connection.write(work, () => undefined)
  return {
    of: (runIds) =>
      connection.read(() => {
        const found = [...new Set(runIds)].flatMap((id) => connection.statement(FIND).all(id).map(savedOf))
        return new Map(found.map((row) => [row.runId, row]))
      }),
    put: (params) => write(() => put(connection, params)),
    remove: (runId) => write(() => void connection.statement(REMOVE).get(readClock(connection), runId)),
    progress: (params) => write(() => progress(connection, params)),
  }
}

function put(
  connection: Connection,
  { runId, holder, state }: { readonly runId: string; readonly holder: string | null; readonly state: string },
): SavedRow | NotSaved {
  const [status = null, leasedBy = null] = connection.statement(RUN).get(runId) ?? []
  const allowed = holder === null ? status === 'pending' || status === 'leased' : leasedBy === holder
  if (!allowed || (holder !== null && status !== 'leased')) return { status: status as RunStatus | null }
  return savedOf(connection.statement(PUT).get(runId, state, readClock(connection)) as Cells)
}

function progress(connection: Connection, params: Parameters<Saved['progress']>[0]): SavedRow | null {
  const { runId, holder, value, fraction } = params
  const [status = null, leasedBy = null, epoch = null, ...about] = connection.statement(RUN).get(runId) ?? []
  if (status !== 'leased' || (holder !== null && leasedBy !== holder)) return null
  const before = connection.statement(FIND).get(runId)
  if (before !== undefined && before[5] === epoch && fractionOf(before[3] as string | null) > (fraction ?? 0))
    return null
  const now = readClock(connection)
  const [instanceId = null, node = null, tenant = null] = about
  connection.statement(TELL).get(runId, value, now, instanceId, node, leasedBy, tenant)
  return savedOf(connection.statement(PROGRESS).get(runId, value, epoch, now) as Cells)
}

function fractionOf(report: string | null): number {
  const value: unknown = report === null ? null : JSON.parse(report)
  const fraction = typeof value === 'object' && value !== null && 'progress' in value ? value.progress : null
  return typeof fraction === 'number' ? fraction : 0
}

function savedOf([runId, state, sequence, progress, updatedAt, progressEpoch]: Cells): SavedRow {
  return {
    runId: runId as string,
    state: state as string | null,
    sequence: sequence as number,
    progress: progress as string | null,
    progressEpoch: progressEpoch as number | null,
    updatedAt: updatedAt as number,
  }
}
