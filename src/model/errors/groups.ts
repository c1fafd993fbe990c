/**
 * Failures for good, grouped by their cause. A transaction that ends a run as failed adds a row to `workflow_failure`: rows of
 * different transactions never touch each other. A process counts them into `workflow_error_group` later, in a transaction that
 * also removes them, so each is counted exactly once, whenever a process is killed. Attempts that are retried are not counted.
 *
 *   open      the cause exists; `regressed`: it had been resolved
 *   resolved  an operator says that it does not exist any more. A failure after that opens it again, as regressed
 *   ignored   it is known. It opens again when it has recurred often enough, or with the first failure after some time
 */
import { type NewEvent, storeEvent } from '../events/events.ts'
import { bigint, bool, json, list, type RowOf, table, text, time, uuid } from '../table.ts'

export type ErrorGroupState = 'open' | 'resolved' | 'ignored'

/** A failure that is not counted yet. */
export const FAILURE = table('workflow_failure', {
  id: uuid(),
  fingerprint: text(),
  tenant: text().orNull(),
  type: text(),
  code: text(),
  /** As reported, at most MAX_MESSAGE characters. */
  message: text(),
  node: text().orNull(),
  /** Name of the workflow; null: a bare run. */
  definition: text().orNull(),
  /** Name of the worker that held it; null: none did. */
  worker: text().orNull(),
  /** Its id in workflow_worker: that of its session, or the name it leases by. */
  holder: text().orNull(),
  /** As it was reported with the failure; null: that of the holder counts. */
  build: text().orNull(),
  runId: uuid(),
  instanceId: uuid().orNull(),
  at: time(),
})
export type FailureRow = RowOf<typeof FAILURE>

export const ERROR_GROUP = table('workflow_error_group', {
  fingerprint: text(),
  tenant: text().orNull(),
  state: text<ErrorGroupState>(),
  regressed: bool(),
  type: text(),
  code: text(),
  node: text().orNull(),
  /** Without numbers and ids. */
  message: text(),
  count: bigint(),
  firstAt: time(),
  lastAt: time(),
  /** Names of workflows, the last ones first; at most MAX_NAMES. */
  definitions: list(),
  /** Names of workers, likewise. */
  workers: list(),
  /** Builds of workers, likewise. */
  builds: list(),
  /** The message of the last failure, its run and its instance. */
  lastMessage: text(),
  lastRunId: uuid(),
  lastInstanceId: uuid().orNull(),
  /** When and by whom the state was set; null: by a failure. */
  stateAt: time(),
  stateBy: text().orNull(),
  reason: text().orNull(),
  /** Of an ignored group: opens when it has this count; null: the time decides. */
  ignoredCount: bigint().orNull(),
  /** Of an ignored group: opens with the first failure after this time; null: the count decides. */
  ignoredUntil: time().orNull(),
  /** The last changes of the state, the newest first; at most MAX_CHANGES: StateChange[]. */
  changes: json(),
})
export type ErrorGroupRow = RowOf<typeof ERROR_GROUP>

export interface StateChange {
  readonly state: ErrorGroupState
  readonly at: number
  /** null: a failure opened it again. */
  readonly by: string | null
  readonly reason: string | null
}

export function changesOf({ changes }: Pick<ErrorGroupRow, 'changes'>): readonly StateChange[] {
  return JSON.parse(changes) as readonly StateChange[]
}

/** What the audit trail records of a change by an operator, whose result is `group`. */
export function changeEvent(group: ErrorGroupRow): NewEvent {
  const { fingerprint, state, type, code, reason, stateBy: actor, tenant, stateAt: at } = group
  const data = { fingerprint, type, code, reason }
  if (state === 'resolved') return storeEvent('error_group.resolved', data, { actor, tenant, at })
  if (state === 'open') return storeEvent('error_group.reopened', data, { actor, tenant, at })
  const until = { until_count: group.ignoredCount, until: group.ignoredUntil }
  return storeEvent('error_group.ignored', { ...data, ...until }, { actor, tenant, at })
}

/** How an operator changes the state. Of `times` and `forMs` exactly one is given. */
export type GroupChange = { readonly actor: string | null; readonly reason: string | null } & (
  | { readonly to: 'open' | 'resolved' }
  | { readonly to: 'ignored'; readonly times: number | null; readonly forMs: number | null }
)

export interface ErrorGroupQuery {
  /** null: all tenants; an empty one: groups without a tenant. */
  readonly tenant: string | null
  readonly states: readonly ErrorGroupState[] | null
  /** Part of the type, the code, the node, the message or the name of a workflow, in any case; null: any. */
  readonly text: string | null
  readonly limit: number
  readonly before: ErrorGroupCursor | null
}

/** A place in the list: the last failure, then the fingerprint, both descending. */
export interface ErrorGroupCursor {
  readonly lastAt: number
  readonly fingerprint: string
}

export interface ErrorGroupPage {
  readonly rows: readonly ErrorGroupRow[]
  /** Where the next page begins; null: this is the last. */
  readonly next: ErrorGroupCursor | null
}

export interface ErrorGroups {
  /**
   * Counts up to `limit` failures into their groups; returns how many. `wait` false: returns 0 if another process is counting.
   */
  count(params: { readonly limit: number; readonly wait: boolean }): Promise<number>
  /** The most recent failure first. A page checks at most MAX_SEARCHED groups. */
  list(query: ErrorGroupQuery): Promise<ErrorGroupPage>
  get(params: { readonly fingerprint: string; readonly tenant: string | null }): Promise<ErrorGroupRow | null>
  /** null: there is no such group. */
  change(params: {
    readonly fingerprint: string
    readonly tenant: string | null
    readonly change: GroupChange
  }): Promise<ErrorGroupRow | null>
}

export const ERROR_GROUP_STATES: readonly ErrorGroupState[] = ['open', 'resolved', 'ignored']

const CURSOR = /^(\d{1,15})-([0-9a-f]{16})$/

export function parseGroupCursor(given: string): ErrorGroupCursor | null {
  const found = CURSOR.exec(given)
  return found === null ? null : { lastAt: Number(found[1]), fingerprint: found[2] as string }
}

export function groupCursorText({ lastAt, fingerprint }: ErrorGroupCursor): string {
  return `${lastAt}-${fingerprint}`
}

export function cursorOf({ lastAt, fingerprint }: ErrorGroupRow): ErrorGroupCursor {
  return { lastAt, fingerprint }
}
