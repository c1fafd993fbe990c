/** What schedules did: when each fired, what it made, and why it was skipped. */

import { int, type RowOf, table, text, time, uuid } from '../table.ts'
import type { InboxScheduleRow } from './schedules.ts'

/** Of each schedule the latest fires are kept, this many. */
export const MAX_FIRES = 1_000

export const FIRE = table('workflow_fire', {
  /** The key of its schedule: scheduleKey(). */
  schedule: text(),
  id: uuid(),
  /** null: it was requested. */
  plannedAt: time().orNull(),
  firedAt: time(),
  made: text<'run' | 'instance'>().orNull(),
  /** The first of what it made. */
  madeId: uuid().orNull(),
  madeCount: int().initially(0),
  /** overlap: what it made before has not ended. refused: its work cannot be started. */
  skipped: text<'overlap' | 'refused'>().orNull(),
  /** Of a refusal. */
  reason: text().orNull(),
  /** Who requested it. */
  actor: text().orNull(),
  /** The key of the request, unique within the schedule. */
  requestKey: text().orNull(),
})
export type FireRow = RowOf<typeof FIRE>

/** cron: by its stored name, also that of a definition. inbox: by its id. */
export type ScheduleRef =
  | { readonly table: 'cron'; readonly name: string }
  | { readonly table: 'inbox'; readonly id: string }

export function scheduleKey(ref: ScheduleRef): string {
  return ref.table === 'cron' ? `cron:${ref.name}` : `inbox:${ref.id}`
}

/** null: the text is not such a key. */
export function readScheduleKey(key: string): ScheduleRef | null {
  const at = key.indexOf(':')
  const [kind, rest] = [key.slice(0, at), key.slice(at + 1)]
  if (kind === 'cron') return { table: 'cron', name: rest }
  return kind === 'inbox' ? { table: 'inbox', id: rest } : null
}

export type Overlap = 'skip' | 'allow' | 'cancel_previous' | 'enqueue'

/** A schedule of any kind. */
export interface ListedSchedule {
  readonly ref: ScheduleRef
  /** cron: created by a client. definition: the trigger of a deployed definition. inbox: a row of workflow_schedule. */
  readonly kind: 'cron' | 'definition' | 'inbox'
  /** As stored; of an inbox schedule the type of its runs. */
  readonly name: string
  readonly makes: 'run' | 'instance'
  /** The type of its runs, or the name of its workflow. */
  readonly type: string
  readonly expression: string
  readonly timezone: string
  readonly overlap: Overlap
  readonly enabled: boolean
  readonly nextAt: number | null
  readonly lastAt: number | null
  readonly lastId: string | null
  readonly tenant: string | null
  readonly createdAt: number
  /** null: it is not of the inbox. */
  readonly inbox: InboxScheduleRow | null
}

export interface ScheduleQueries {
  /**
   * Those of the engine by name, of this tenant ('': of none; null: of all); then those of the inbox by id.
   * Payloads until their sum exceeds PAGE_BYTES, then markers (shown.ts).
   */
  page(params: {
    readonly tenant: string | null
    readonly withInbox: boolean
    readonly after: ScheduleRef | null
    readonly limit: number
  }): Promise<readonly ListedSchedule[]>
  one(ref: ScheduleRef): Promise<ListedSchedule | null>
  /** Newest first, strictly older than `before`. */
  fires(params: {
    readonly schedule: string
    readonly before: string | null
    readonly limit: number
  }): Promise<readonly FireRow[]>
  /** The latest fire of each that made something. */
  lastFires(params: { readonly schedules: readonly string[] }): Promise<ReadonlyMap<string, FireRow>>
  fireByKey(params: { readonly schedule: string; readonly requestKey: string }): Promise<FireRow | null>
}

/** A schedule is to run now. */
export interface RunRequest {
  /** A second request under the same key creates nothing. null: there will be no second one. */
  readonly requestKey: string | null
  /** Instead of the policy of the schedule. */
  readonly overlap: Exclude<Overlap, 'enqueue'> | null
  readonly actor: string | null
}

export interface Fired {
  /** false: an earlier request under the same key did. */
  readonly created: boolean
  readonly made: 'run' | 'instance'
  readonly id: string
  /** null: it is no longer among the latest fires. */
  readonly fire: FireRow | null
}
