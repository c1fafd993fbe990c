/** Runs of instances. What clients of the table know of a run is in inbox-run.ts. */
import { unscopedName } from '../kernel/scoped-names.ts'
import type { RunRow } from '../model/rows.ts'
import { json, shown, time, type Wire } from './value.ts'

export function runWire(row: RunRow): Wire {
  return {
    id: row.id,
    type: row.type,
    queue: row.queue,
    status: row.status,
    instance_id: row.instanceId,
    node: row.node,
    item: row.item < 0 ? null : row.item,
    role: row.role,
    attempt: row.attempt,
    max_attempts: row.maxAttempts,
    priority: row.priority,
    deferred: row.deferred,
    unknown: row.unknown,
    dead_letter: row.deadLetter,
    run_at: time(row.runAt),
    created_at: time(row.createdAt),
    started_at: time(row.startedAt),
    finished_at: time(row.finishedAt),
    leased_by: unscopedName(row.leasedBy),
    error: json(row.error) ?? (row.lastError === null ? null : { code: 'error', message: row.lastError }),
    result: shown(row.result, `/v1/runs/${row.id}`),
  }
}
