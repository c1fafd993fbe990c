/** Runs, events, registry entries and schedules as /v1 and `--json` show them. */

import { unscopedName } from '../../kernel/scoped-names.ts'
import type { Enqueued } from '../../model/enqueue.ts'
import type { InboxScheduleRow } from '../../model/inbox-schedules.ts'
import type { RuntimeRow } from '../../model/registry.ts'
import type { RunRow, StoredEvent } from '../../model/rows.ts'
import { json, shown, time, type Wire } from '../wire.ts'

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

export function runEventWire(event: StoredEvent): Wire {
  return { type: event.type, at: time(event.at), actor: event.actor, data: json(event.data) }
}

export function registryWire(row: RuntimeRow & { readonly pending?: number }): Wire {
  return {
    workflow_name: row.workflowName,
    intent_type: row.intentType,
    runtime: row.runtime,
    is_enabled: row.isEnabled,
    description: row.description,
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
    ...(row.pending === undefined ? {} : { pending: row.pending }),
  }
}

export function scheduleWire(row: InboxScheduleRow): Wire {
  return {
    id: row.id,
    type: row.type,
    payload: shown(row.payload, `/v1/schedules/${row.id}`),
    schedule: row.schedule,
    timezone: row.timezone,
    priority: row.priority,
    max_attempts: row.maxAttempts,
    enabled: row.enabled,
    disabled_reason: row.disabledReason,
    next_run_at: time(row.nextRunAt),
    last_run_at: time(row.lastRunAt),
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
  }
}
