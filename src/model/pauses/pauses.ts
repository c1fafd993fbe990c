/**
 * Pauses: an operator stops the beginning of work, and later resumes it. Active work ends as usual.
 *
 *   pausing    in force: nothing new begins. Pending runs of the tree are still being parked
 *   paused     in force, and everything that waits is parked
 *   resuming   over: what was parked is being released
 *
 * A pause of an instance covers its tree. A pause of a definition lets new instances of it wait in the queue; a pause of a
 * type lets no worker claim its runs. These two are rules, so they are `paused` from the beginning; a definition is
 * `resuming` until the instances that waited have begun, in their order.
 *
 * Parked rows are set beyond every clock, so no claim steps over them, and their times are kept in `workflow_parked`. A row
 * is released by the transaction that removes its entry, so its times are shifted exactly once.
 */
import { type RowOf, table, text, time, uuid } from '../table.ts'

export type PauseKind = 'instance' | 'definition' | 'type' | 'queue'

/**
 * What happens to times during a pause of an instance. `stop`: deadlines, due times and escalations of gates, expiries,
 * delays between attempts and timeouts of work without a worker stop, and continue at the resume. `run`: they continue.
 */
export type PausedTimeouts = 'stop' | 'run'

export const PAUSE = table('workflow_pause', {
  kind: text<PauseKind>(),
  /** Of an instance its id, of a type its name, of a definition the key of its quota. */
  key: text(),
  tenant: text().orNull(),
  state: text<'pausing' | 'paused' | 'resuming'>(),
  timeouts: text<PausedTimeouts>(),
  pausedAt: time(),
  actor: text().orNull(),
  reason: text().orNull(),
  /** null: it is in force. */
  resumedAt: time().orNull(),
  /** How far parking has come; null: at the beginning. */
  cursor: text().orNull(),
})
export type PauseRow = RowOf<typeof PAUSE>

/** Of a row that waits during a pause: the times that its own columns no longer have. */
export const PARKED = table('workflow_parked', {
  /** The root of a paused tree, or `type:` and the name of a paused type. */
  owner: text(),
  id: uuid(),
  kind: text<'run' | 'instance' | 'gate'>(),
  /** Since when its times stand still; the pause may have begun later. */
  since: time(),
  runAt: time().orNull(),
  expiresAt: time().orNull(),
  timeoutAt: time().orNull(),
  dueAt: time().orNull(),
  escalateAt: time().orNull(),
  deadlineAt: time().orNull(),
  queuedAt: time().orNull(),
  /** Of an instance, when its deadline was parked: a deadline of another phase is not restored. */
  phase: text().orNull(),
})
export type ParkedRow = RowOf<typeof PARKED>

export interface PauseKey {
  readonly kind: PauseKind
  readonly key: string
}

export function pauseName({ kind, key }: PauseKey): string {
  return `${kind} ${key}`
}

/** A rule, in force at once. */
export function newPause(
  key: PauseKey,
  p: Pick<PauseRow, 'actor' | 'pausedAt'> & Partial<Pick<PauseRow, 'tenant' | 'reason' | 'timeouts' | 'state'>>,
): PauseRow {
  const { actor, pausedAt, tenant = null, reason = null, timeouts = 'stop', state = 'paused' } = p
  return { ...key, tenant, state, timeouts, pausedAt, actor, reason, resumedAt: null, cursor: null }
}

/** How many rows one transaction parks or releases. */
export const PARKED_AT_ONCE = 1_000

/** Definitions and types that are paused at the same time: every process knows all of them. */
export const MOST_PAUSED_RULES = 1_000

/** Of the reason that an operator gives, in characters. */
export const MAX_PAUSE_REASON = 1_000

export interface PausePosition {
  readonly pausedAt: number
  readonly key: string
}

export interface PausePortion {
  /** false: there is more to park or to release. */
  readonly done: boolean
  /** Queues with released runs. */
  readonly queues: readonly string[]
}

export interface Pauses {
  get(key: PauseKey): Promise<PauseRow | null>
  /** Newest first; strictly after the position of the last one of the page before. */
  list(params: {
    /** null: of all tenants. */
    readonly tenant: string | null
    readonly limit: number
    readonly before: PausePosition | null
  }): Promise<readonly PauseRow[]>
  /** Pauses whose parking or release is not complete: of instances, and of definitions that are being resumed. */
  unfinished(params: { readonly limit: number }): Promise<readonly PauseKey[]>
  /** Types with parked runs that are not paused. */
  parkedTypes(params: { readonly limit: number }): Promise<readonly string[]>
  /** Releases the next runs that claims by plain SQL have parked under a type, unless it is paused. */
  releaseType(params: { readonly type: string; readonly limit: number }): Promise<PausePortion>
  /** How many definitions and types are paused. */
  countRules(): Promise<number>
  /** Parks or releases the next rows of a tree, under the lock of its root. Removes a pause that is over. */
  portion(params: { readonly rootId: string; readonly limit: number }): Promise<PausePortion>
}
