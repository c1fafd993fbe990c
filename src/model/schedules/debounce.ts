/**
 * Debounced starts, of definitions and of runs: a start waits, and each further one under its key replaces it, until none has
 * followed for a while.
 */
import type { Json } from '../../net/net.ts'
import type { EnqueueParams } from '../enqueue.ts'
import { int, json, type RowOf, table, text, time, uuid } from '../table.ts'

export type DebouncedKind = 'instance' | 'run'

export const DEBOUNCE = table('workflow_debounce', {
  /** debounceKey(). */
  key: text(),
  /** Of the instance or run that will be made. */
  id: uuid(),
  kind: text<DebouncedKind>().initially('instance'),
  /** The definition, or the type of the run. */
  name: text(),
  /** Of the definition; null: the latest when it starts. */
  version: text().orNull(),
  tenant: text().orNull(),
  /** KeptStart or KeptRun: of the last start. */
  start: json(),
  /** Who requested it last. */
  actor: text().orNull(),
  /** Starts that it has replaced. */
  replaced: int().initially(0),
  firstAt: time(),
  dueAt: time(),
})
export type DebounceRow = RowOf<typeof DEBOUNCE>

export interface DebounceParams {
  /** Unique within the tenant and the workflow, or the type of run. */
  readonly key: string
  /** It starts when no other start has followed for this long. */
  readonly delayMs: number
  /** It starts this long after the first one at the latest; null: there is no such limit. */
  readonly maxMs: number | null
}

/** What is kept of a start until it is due. */
export interface KeptStart {
  readonly input: Json
  readonly meta?: Json
  readonly tags?: readonly string[]
  readonly fairKey?: string
}

/** A run that may be debounced: when it is due and what its id is follows from the debounce. */
export type DebouncedRun = Omit<EnqueueParams, 'id' | 'idempotencyKey' | 'runAt' | 'delayMs'>
export type KeptRun = Omit<DebouncedRun, 'type' | 'tenant' | 'actor'>

export interface DebounceQueries {
  /** The newest series first; `tenant` null: those of all, empty: those of none. */
  list(params: {
    readonly tenant: string | null
    readonly limit: number
    readonly before: string | null
  }): Promise<readonly DebounceRow[]>
  get(id: string): Promise<DebounceRow | null>
}

/** Lists make it unambiguous, whatever characters the parts contain. */
export function debounceKey(
  { kind, tenant, name }: Pick<DebounceRow, 'kind' | 'tenant' | 'name'>,
  key: string,
): string {
  return JSON.stringify([tenant, name, key, ...(kind === 'run' ? [kind] : [])])
}

/** As its caller gave it. */
export function debounceKeyGiven({ key }: DebounceRow): string {
  return (JSON.parse(key) as readonly [unknown, unknown, string])[2]
}
