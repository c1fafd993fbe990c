/** Runs as clients of the table know them. */
import { unscopedName } from '../kernel/scoped-names.ts'
import type { Enqueued } from '../model/enqueue.ts'
import type { RunRow } from '../model/rows.ts'
import { json, shown, time, type Wire } from './value.ts'

/** Names that clients of the table know; queue, tenant and what follows is ours. */
export function inboxRunWire(row: RunRow): Wire {
  return {
    id: row.id,
    type: row.type,
    payload: shown(row.payload, `/v1/runs/${row.id}`),
    status: row.status,
    priority: row.priority,
    run_at: time(row.runAt),
    idempotency_key: unscopedName(row.idempotencyKey),
    attempt: row.attempt,
    max_attempts: row.maxAttempts,
    leased_by: unscopedName(row.leasedBy),
    lease_until: time(row.leaseUntil),
    last_error: row.lastError,
    result: shown(row.result, `/v1/runs/${row.id}`),
    created_at: time(row.createdAt),
    deleted_at: time(row.deletedAt),
    queue: row.queue,
    tenant: row.tenant,
    instance_id: row.instanceId,
    node: row.node,
    cancel_requested: row.cancelRequestedAt !== null,
    error: json(row.error),
  }
}

export function submitWire({ id, created, run }: Enqueued): Wire {
  return { id, created, run: run === null ? null : inboxRunWire(run) }
}
