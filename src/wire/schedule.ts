/** Schedules that submit runs. */
import type { InboxScheduleRow } from '../model/schedules.ts'
import { shown, time, type Wire } from './value.ts'

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
