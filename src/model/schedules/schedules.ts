/**
 * Schedules: those of the engine, which start a run or an instance, and those in the shape that foreign clients use
 * (`workflow_schedule`): cron, a time zone, the run to enqueue.
 */
import type { Json } from '../../net/net.ts'
import type { EnqueueParams } from '../enqueue.ts'
import type { JsonText, ScheduleRow } from '../rows.ts'
import type { StartParams } from '../start.ts'
import type { Fired, ListedSchedule, RunRequest } from './fires.ts'

export interface InboxScheduleRow {
  readonly id: string
  readonly type: string
  readonly payload: JsonText
  /** Cron, five fields. */
  readonly schedule: string
  /** IANA name. */
  readonly timezone: string
  readonly nextRunAt: number
  /** When it last enqueued a run. */
  readonly lastRunAt: number | null
  readonly enabled: boolean
  readonly priority: number
  readonly maxAttempts: number
  /** Why the engine has disabled it; null: it has not. */
  readonly disabledReason: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface InboxScheduleParams {
  /** The type of its runs: dotted, ending in a version. */
  readonly type: string
  /** Default {}. */
  readonly payload?: Json
  /** Cron, five fields. */
  readonly schedule: string
  /** IANA name; default UTC. */
  readonly timezone?: string
  readonly priority?: number
  readonly maxAttempts?: number
}

export interface InboxScheduling {
  add(params: InboxScheduleParams): Promise<InboxScheduleRow>
  /** Oldest first. */
  list(): Promise<readonly InboxScheduleRow[]>
  get(id: string): Promise<InboxScheduleRow | null>
  pause(id: string): Promise<InboxScheduleRow>
  /** Its next time stays as it is. Its fires may overlap. */
  run(id: string, request: RunRequest): Promise<Fired>
  /** Continues with the next time from now; times that passed while it was paused are skipped. */
  resume(id: string): Promise<InboxScheduleRow>
  /** false: there is no such schedule. */
  remove(id: string): Promise<boolean>
}

export type NewInboxSchedule = Pick<
  InboxScheduleRow,
  'id' | 'type' | 'payload' | 'schedule' | 'timezone' | 'nextRunAt' | 'priority' | 'maxAttempts'
>

/** Removed ones are kept in the table and never shown. Few rows, each changed by one statement of its own. */
export interface InboxSchedules {
  /** Oldest first; payloads until their sum exceeds PAGE_BYTES, then markers (shown.ts). */
  list(): Promise<readonly InboxScheduleRow[]>
  /** By id, those after `after`; payloads as in list(). */
  page(params: { readonly after: string | null; readonly limit: number }): Promise<readonly InboxScheduleRow[]>
  get(id: string): Promise<InboxScheduleRow | null>
  add(row: NewInboxSchedule): Promise<InboxScheduleRow>
  /** null: there is no such schedule. */
  enable(params: { readonly id: string; readonly nextRunAt: number }): Promise<InboxScheduleRow | null>
  /** `reason`: why the engine disables it, recorded as an event. null: it was requested. */
  disable(params: { readonly id: string; readonly reason: string | null }): Promise<InboxScheduleRow | null>
  remove(id: string): Promise<boolean>
  /** Enabled and due by the store's clock, those due longest first. */
  due(params: { readonly limit: number }): Promise<readonly InboxScheduleRow[]>
  /**
   * Its run was enqueued: advances it to the next time, unless it was moved meanwhile (compared to the second, as in keys).
   */
  advance(params: { readonly id: string; readonly from: number; readonly nextRunAt: number }): Promise<boolean>
}

export interface ScheduleParams {
  readonly name: string
  readonly expression: string
  readonly timezone?: string
  readonly overlap?: ScheduleRow['overlap']
  readonly enabled?: boolean
  readonly run?: EnqueueParams
  readonly start?: StartParams
  readonly tenant?: string
  /** Metadata of its author; stored in the template beside run or start. */
  readonly about?: Json
}

/** A schedule of the inbox as one of all schedules. Its fires may overlap. */
export function listedInbox(row: InboxScheduleRow): ListedSchedule {
  const { id, type, schedule, timezone, enabled, nextRunAt, lastRunAt, createdAt } = row
  return {
    ref: { table: 'inbox', id },
    kind: 'inbox',
    name: type,
    makes: 'run',
    type,
    expression: schedule,
    timezone,
    overlap: 'allow',
    enabled,
    nextAt: enabled ? nextRunAt : null,
    lastAt: lastRunAt,
    lastId: null,
    tenant: null,
    createdAt,
    inbox: row,
  }
}
